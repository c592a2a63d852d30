"""The independent dataset 𝒟′: random sequences of capabilities, executed once and saved.

A sequence is 10 to 30 capabilities, each drawn uniformly, executed one after the other from the
initial state. Its number seeds all its randomness, so it does not matter when or by which process
it is executed: a dataset whose building was interrupted is completed to the same dataset. It is
saved when building ends for whatever reason, and in between as often as costs a tenth of the time.

A hundred thousand sequences are two million executions but far fewer distinct transitions, so only
these are kept, with counts. The file is a NumPy archive without pickled objects: the states as
bytes of fixed width, least significant first, three arrays of indices, the counts, and a JSON
header with everything that the dataset depends on. Its name has a hash of the same, so runs that
found the same intents, in whatever order, share one dataset.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import re
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from capscope.assessment.workers import Workers
from capscope.errors import SampleError
from capscope.insight.evaluation.reference import Counts, Reference
from capscope.journal.execution_table import Transition
from capscope.journal.run_directory import refuse_links
from capscope.logic import Intent, State, Vocabulary
from capscope.problem import Position, Problem
from capscope.problem.attempt import pursue, report_simulator_errors
from capscope.seeds import child_seed

SHORTEST, LONGEST = 10, 30  # capabilities in a sequence, as in the paper
_FORMAT, _VERSION = "capscope independent sample", 1
_BROKEN = (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)
SECONDS_BETWEEN_SAVES = 5.0
SEQUENCES_AT_ONCE = 10
"""Handed to a worker together."""
Progress = Callable[[int, int], None]
"""Called with the number of sequences that are done, and of all."""
Clock = Callable[[], float]


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
        """The name of its file: the problem, the seed, and a hash of the identity."""
        slug = re.sub(r"[^A-Za-z0-9]+", "-", self.problem.name).strip("-")
        text = json.dumps(self.identity(), sort_keys=True)
        return f"{slug}-{self.seed}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.npz"


@dataclass(frozen=True, eq=False)
class IndependentSample:
    """𝒟′: what random capability sequences from the initial state led to."""

    intents: tuple[Intent, ...]
    sequences: int
    counts: Counts
    file_name: str

    @property
    def executions(self) -> int:
        """The number of executions."""
        return int(self.counts.times.sum())

    def reference(self, vocabulary: Vocabulary) -> Reference:
        """Return it as a reference to compare a model with."""
        return Reference.of_counts(self.counts, self.intents, vocabulary)

    def transitions(self) -> Counter[Transition]:
        """Return the distinct transitions with their counts."""
        states, before, capability, after, times = self.counts
        rows = zip(before.tolist(), capability.tolist(), after.tolist(), strict=True)
        named = (Transition(states[b], c, states[a]) for b, c, a in rows)
        return Counter(dict(zip(named, times.tolist(), strict=True)))


def save(sample: IndependentSample, recipe: Recipe, folder: Path) -> None:
    """Write a sample atomically."""
    path = folder / recipe.file_name
    made_of, done = recipe.identity(), sample.sequences
    header = {"format": _FORMAT, "version": _VERSION, "made of": made_of, "done": done}
    states, *columns = sample.counts
    width = max((state.bit_length() + 7) // 8 for state in (*states, 1))
    packed = b"".join(state.to_bytes(width, "little") for state in states)
    # Four bytes per number, if that is enough.
    narrow: list[Any] = [c.astype("<u4") if c.max(initial=0) < 2**32 else c for c in columns]
    archive = io.BytesIO()
    np.savez_compressed(
        archive,
        header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        states=np.frombuffer(packed, dtype=np.uint8).reshape(-1, width),
        **dict(zip(Counts._fields[1:], narrow, strict=True)),
    )
    # Two processes may build the same dataset, so each writes its own draft.
    draft = folder / f".{path.name}.{os.getpid()}.draft"
    try:
        refuse_links(folder)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            draft.unlink(missing_ok=True)  # a link in its place would be followed
            draft.write_bytes(archive.getbuffer())
            draft.replace(path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except OSError as error:
        raise SampleError(
            f"cannot write {path}: {error.strerror}; what was written before is kept. Fix the "
            "path, its permissions or the free space, and try again"
        ) from error


def load(recipe: Recipe, folder: Path) -> IndependentSample | None:
    """Load the sample of a recipe, finished or not; None if it was never begun."""
    path = folder / recipe.file_name
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait forever
            raise SampleError(f"cannot read {path}: it is no regular file; delete it")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return _understood(archive, recipe)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SampleError(f"cannot read {path}: {error.strerror or error}") from error
    except _BROKEN as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SampleError(
            f"{path} is damaged or not an evaluation dataset of this capscope ({reason}); delete "
            "it, or build it again with --rebuild"
        ) from error


def _understood(archive: Any, recipe: Recipe) -> IndependentSample:
    header = json.loads(archive["header"].tobytes().decode())
    if (header["format"], header["version"]) != (_FORMAT, _VERSION):
        raise ValueError(f"format {header['format']!r}, version {header['version']}")
    if header["made of"] != recipe.identity():
        raise ValueError("it was made with other settings")
    done = header["done"]
    states = _states(archive["states"])
    columns = [archive[name].astype(np.int64) for name in Counts._fields[1:]]
    counts = Counts(states, *columns)
    bounds = (len(states), len(recipe.intents), len(states))
    inside = all(
        column.shape == counts.times.shape and np.all((column >= 0) & (column < bound))
        for column, bound in zip(columns[:3], bounds, strict=True)
    )
    sample = IndependentSample(recipe.intents, done, counts, recipe.file_name)
    likely = SHORTEST * done <= sample.executions <= LONGEST * done
    if not (inside and likely and 0 <= done <= recipe.sequences and np.all(counts.times > 0)):
        raise ValueError("its numbers are inconsistent")
    return sample


def _states(packed: Any) -> list[State]:
    if packed.ndim != 2 or packed.dtype != np.uint8:
        raise ValueError("its states are not bytes")
    width, text = packed.shape[1], packed.tobytes()
    return [int.from_bytes(text[i : i + width], "little") for i in range(0, len(text), width)]


def silent(done: int, of: int) -> None:
    """Ignore the progress."""


def build(
    recipe: Recipe,
    folder: Path,
    *,
    rebuild: bool = False,
    progress: Progress = silent,
    clock: Clock = time.monotonic,
    workers: Workers | None = None,
) -> IndependentSample:
    """Return the sample of a recipe: loaded from the folder, completed, or built by workers.

    A change of the agent's code that does not change the problem's fingerprint goes unnoticed;
    `rebuild` starts again.
    """
    if rebuild:
        _delete(folder / recipe.file_name)
    begun = load(recipe, folder)
    if begun is not None and begun.sequences == recipe.sequences:
        return begun
    builder = _SampleBuilder(recipe, folder, begun, clock)
    builder.save()  # fails at once if the folder cannot be written to
    try:
        progress(builder.done, recipe.sequences)
        for sequence in _walked(recipe, builder.done, workers):
            builder.add(sequence)
            progress(builder.done, recipe.sequences)
            if builder.due:
                builder.save()
    except BaseException:
        with suppress(SampleError):
            builder.save()
        raise
    return builder.save()


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise SampleError(f"cannot replace {path}: {error.strerror}") from error


class _SampleBuilder:
    def __init__(
        self, recipe: Recipe, folder: Path, begun: IndependentSample | None, clock: Clock
    ) -> None:
        self._recipe = recipe
        self._folder = folder
        self._clock = clock
        self._counts = begun.transitions() if begun else Counter()
        self._whole = True
        self._next_save = 0.0
        self.done = begun.sequences if begun else 0

    def add(self, sequence: list[Transition]) -> None:
        """Add a sequence; if this is interrupted, the counts must not be saved."""
        self._whole = False
        self._counts.update(sequence)
        self.done += 1
        self._whole = True

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return self._clock() >= self._next_save

    def save(self) -> IndependentSample:
        """Save the current state, unless an interrupt left it between two sequences."""
        begun, recipe = self._clock(), self._recipe
        counts = Counts.of(self._counts)
        sample = IndependentSample(recipe.intents, self.done, counts, recipe.file_name)
        if self._whole:
            save(sample, recipe, self._folder)
        now = self._clock()
        self._next_save = now + max(SECONDS_BETWEEN_SAVES, 10 * (now - begun))
        return sample


@dataclass(frozen=True)
class SequenceWalks:
    """Some sequences of a sample, to be executed on any copy of the problem."""

    intents: tuple[Intent, ...]
    seed: int
    numbers: range

    def __call__(self, problem: Problem) -> list[list[Transition]]:
        """Execute them."""
        return [self.walk(problem, number) for number in self.numbers]

    def walk(self, problem: Problem, number: int) -> list[Transition]:
        """Execute one of them."""
        seed = child_seed(self.seed, number)
        rng = random.Random(seed)
        with report_simulator_errors(problem, "when it was reset"):
            observation = problem.simulator.reset(child_seed(seed, 0))
            position = Position(observation, problem.abstraction(observation))
        walked = []
        for i in range(1, 1 + rng.randint(SHORTEST, LONGEST)):
            capability = rng.randrange(len(self.intents))
            before = position.state
            intent = self.intents[capability]
            _, position = pursue(problem, intent, position, child_seed(seed, i))
            walked.append(Transition(before, capability, position.state))
        return walked


def _walked(recipe: Recipe, first: int, workers: Workers | None) -> Iterator[list[Transition]]:
    """Yield the sequences from number `first` on, in order."""
    if workers is None:
        walks = SequenceWalks(recipe.intents, recipe.seed, range(first, recipe.sequences))
        for number in walks.numbers:
            yield walks.walk(recipe.problem, number)
        return
    parts = (
        SequenceWalks(
            recipe.intents,
            recipe.seed,
            range(begin, min(begin + SEQUENCES_AT_ONCE, recipe.sequences)),
        )
        for begin in range(first, recipe.sequences, SEQUENCES_AT_ONCE)
    )
    for part in workers.map(parts):
        yield from part
