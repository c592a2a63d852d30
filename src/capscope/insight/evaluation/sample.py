"""The independent dataset 𝒟′: random sequences of capabilities, executed once and saved.

A sequence is 10 to 30 capabilities, each drawn uniformly, executed one after the other from the
initial state. Its number seeds all its randomness, so it does not matter when or by which process
it is executed: a dataset whose building was interrupted is completed to the same dataset, from
where it was last saved. It is saved when building ends for whatever reason, and in between as
often as costs a tenth of the time.

A hundred thousand sequences are two million executions but far fewer distinct transitions, so only
these are kept, with counts. The file is a NumPy archive without pickled objects: the states as
bytes, least significant first, three arrays of indices, the counts, and a JSON header with
everything that the dataset depends on. Its name has a hash of the same, so runs that found the same
intents, in whatever order, share one dataset.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from capscope.assessment.workers import Workers
from capscope.errors import RunError
from capscope.insight.evaluation.reference import Reference, columns_of
from capscope.journal.execution_table import Transition
from capscope.journal.run_directory import refuse_links, write_atomically
from capscope.logic import Intent, Vocabulary
from capscope.problem import Position, Problem
from capscope.problem.attempt import pursue, report_simulator_errors
from capscope.seeds import child_seed

SHORTEST, LONGEST = 10, 30  # capabilities in a sequence, as in the paper
_FORMAT, _VERSION = "capscope independent sample", 2
_COLUMNS = ("before", "capability", "after", "times")
_BROKEN = (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)
SECONDS_BETWEEN_SAVES = 5.0
SEQUENCES_AT_ONCE = 10
"""Handed to a worker together."""
Progress = Callable[[int, int], None]
"""Called with the number of sequences that are done, and of all."""


@dataclass(frozen=True)
class Recipe:
    """Everything that an independent sample depends on."""

    problem: Problem
    source: str
    """From which the problem can be loaded again."""
    intents: tuple[Intent, ...]
    """In canonical order."""
    seed: int
    sequences: int

    @classmethod
    def of(
        cls, problem: Problem, source: str, intents: Sequence[Intent], seed: int, sequences: int
    ) -> Recipe:
        """Sort the intents, so that the order in which they were found does not matter."""
        return cls(problem, source, tuple(sorted(set(intents))), seed, sequences)

    def identity(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "problem": self.source,
            "problem fingerprint": self.problem.fingerprint,
            "vocabulary": self.problem.vocabulary.fingerprint,
            "temporal length": self.problem.limits.temporal_length,
            "horizon": self.problem.limits.horizon,
            "intents": [str(intent) for intent in self.intents],
            "seed": self.seed,
            "sequences": self.sequences,
        }

    @property
    def file_name(self) -> str:
        """The name of its file, with a hash of its format and identity."""
        slug = re.sub(r"[^A-Za-z0-9]+", "-", self.problem.name).strip("-")
        text = json.dumps([_VERSION, self.identity()], sort_keys=True)
        return f"{slug}-{self.seed}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.npz"


@dataclass(frozen=True, eq=False)
class IndependentSample:
    """𝒟′: what random capability sequences from the initial state led to."""

    intents: tuple[Intent, ...]
    sequences: int
    transitions: Mapping[Transition, int]
    """The distinct transitions with their counts."""
    file_name: str

    @property
    def executions(self) -> int:
        """The number of executions."""
        return sum(self.transitions.values())

    def reference(self, vocabulary: Vocabulary) -> Reference:
        """Return it as a reference to compare a model with."""
        return Reference.of_counts(self.transitions, self.intents, vocabulary)


def save(sample: IndependentSample, recipe: Recipe, folder: Path) -> None:
    """Write a sample atomically."""
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "made of": recipe.identity(),
        "done": sample.sequences,
    }
    states, *columns = columns_of(sample.transitions)
    arrays: dict[str, Any] = dict(zip(_COLUMNS, columns, strict=True))
    # NumPy drops zeros at the end of a text, which do not count in a number.
    texts = [state.to_bytes((state.bit_length() + 7) // 8, "little") for state in states]
    archive = io.BytesIO()
    np.savez_compressed(
        archive,
        header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        states=np.array(texts, dtype=np.bytes_),
        **arrays,
    )
    try:
        refuse_links(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / recipe.file_name, archive.getvalue())
    except (OSError, RunError) as error:
        raise RunError(f"cannot keep the evaluation dataset in {folder}: {error}") from error


def load(recipe: Recipe, folder: Path) -> IndependentSample | None:
    """Load the sample of a recipe, finished or not; None if it was never begun."""
    path = folder / recipe.file_name
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait forever
            raise RunError(f"cannot read {path}: it is not a regular file; delete it")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return _understood(archive, recipe)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error
    except _BROKEN as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RunError(
            f"{path} is damaged or not an evaluation dataset of this capscope ({reason}); delete "
            "it, or build it again with --rebuild"
        ) from error


def _understood(archive: Any, recipe: Recipe) -> IndependentSample:
    header = json.loads(archive["header"].tobytes().decode())
    if (header["format"], header["version"]) != (_FORMAT, _VERSION):
        raise ValueError(f"format {header['format']!r}, version {header['version']}")
    if header["made of"] != recipe.identity():
        raise ValueError("it was made with other settings")
    states = [int.from_bytes(text, "little") for text in archive["states"].tolist()]
    columns = [archive[name].astype(np.int64) for name in _COLUMNS]
    done, times = header["done"], columns[-1]
    bounds = len(states), len(recipe.intents), len(states), 1 + times.max(initial=0)
    inside = all(
        column.shape == times.shape and np.all((column >= 0) & (column < bound))
        for column, bound in zip(columns, bounds, strict=True)
    )
    likely = SHORTEST * done <= times.sum() <= LONGEST * done
    if not (inside and likely and 0 <= done <= recipe.sequences and np.all(times > 0)):
        raise ValueError("its numbers are inconsistent")
    rows = zip(*(column.tolist() for column in columns), strict=True)
    found = {Transition(states[b], c, states[a]): number for b, c, a, number in rows}
    return IndependentSample(recipe.intents, done, found, recipe.file_name)


def silent(done: int, of: int) -> None:
    """Ignore the progress."""


def build(
    recipe: Recipe,
    folder: Path,
    *,
    rebuild: bool = False,
    progress: Progress = silent,
    clock: Callable[[], float] = time.monotonic,
    workers: Workers | None = None,
) -> IndependentSample:
    """Return the sample of a recipe: loaded from the folder, completed, or built.

    Args:
        recipe: What the sample is made of.
        folder: Where it is kept.
        rebuild: Start again. A change of the agent's code that does not change the problem's
            fingerprint goes unnoticed otherwise.
        progress: Told how many sequences are done.
        clock: Returns the time in seconds.
        workers: Execute the sequences; this process does without them.

    Returns:
        The finished sample.
    """
    begun = None if rebuild else load(recipe, folder)
    if begun is not None and begun.sequences == recipe.sequences:
        return begun
    counts = Counter(begun.transitions if begun else ())
    done = begun.sequences if begun else 0

    def saved() -> IndependentSample:
        sample = IndependentSample(recipe.intents, done, counts, recipe.file_name)
        save(sample, recipe, folder)
        return sample

    saved()  # fails at once if the folder cannot be written to
    progress(done, recipe.sequences)
    next_save, consistent = 0.0, True
    try:
        for sequence in _walked(recipe, done, workers):
            consistent = False  # an interrupt here must not save half a sequence
            counts.update(sequence)
            done += 1
            consistent = True
            progress(done, recipe.sequences)
            now = clock()
            if now >= next_save:
                saved()
                next_save = clock() + max(SECONDS_BETWEEN_SAVES, 10 * (clock() - now))
    except BaseException:
        if consistent:
            with suppress(RunError):
                saved()
        raise
    return saved()


def _walked(recipe: Recipe, first: int, workers: Workers | None) -> Iterator[list[Transition]]:
    """Yield the sequences from number `first` on, in order."""
    if workers is None:
        for number in range(first, recipe.sequences):
            yield walk(recipe.problem, recipe.intents, recipe.seed, number)
        return
    begins = range(first, recipe.sequences, SEQUENCES_AT_ONCE)
    numbers = (range(i, min(i + SEQUENCES_AT_ONCE, recipe.sequences)) for i in begins)
    for made in workers.map(partial(walks, recipe.intents, recipe.seed, some) for some in numbers):
        yield from made


def walks(
    intents: Sequence[Intent], seed: int, numbers: range, problem: Problem
) -> list[list[Transition]]:
    """Execute some sequences on a copy of the problem."""
    return [walk(problem, intents, seed, number) for number in numbers]


def walk(problem: Problem, intents: Sequence[Intent], seed: int, number: int) -> list[Transition]:
    """Execute one sequence."""
    seed = child_seed(seed, number)
    rng = random.Random(seed)
    with report_simulator_errors(problem, "when it was reset"):
        observation = problem.simulator.reset(child_seed(seed, 0))
        position = Position(observation, problem.abstraction(observation))
    walked = []
    for i in range(1, 1 + rng.randint(SHORTEST, LONGEST)):
        capability = rng.randrange(len(intents))
        before = position.state
        _, position = pursue(problem, intents[capability], position, child_seed(seed, i))
        walked.append(Transition(before, capability, position.state))
    return walked
