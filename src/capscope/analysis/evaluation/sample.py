"""The independent dataset 𝒟′ as a value and as a file.

A hundred thousand sequences are two million executions but far fewer distinct transitions, so what
is kept are these with their counts. The file is a NumPy archive without pickled objects: the states
as bytes of fixed width, least significant first, three arrays of indices, the counts, and a header
in JSON that says what the dataset was made of. Its name says the same in a hash, so two runs that
found the same intents, in whatever order, share one dataset.

The number of sequences belongs to what a dataset is: another number is another file, built from its
first sequence on. A file may hold fewer sequences than it will: then its building was interrupted.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from capscope.analysis.evaluation.reference import Counts, Numbers, Reference
from capscope.errors import SampleError
from capscope.record.execution_table import Transition
from capscope.symbolic import Intent, State, Vocabulary
from capscope.world import Problem

SHORTEST, LONGEST = 10, 30  # capabilities in a sequence, as in the paper
_FORMAT, _VERSION = "capscope independent sample", 1
_BROKEN = (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Recipe:
    """Everything that an independent sample depends on."""

    problem: Problem
    source: str
    """How the problem is found again."""
    intents: tuple[Intent, ...]
    """In canonical order."""
    seed: int
    sequences: int

    @classmethod
    def of(
        cls, problem: Problem, source: str, intents: Sequence[Intent], seed: int, sequences: int
    ) -> Recipe:
        """Put the intents in order, so that the order in which they were found does not matter."""
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
        """The name of its file: for people, then a hash for certainty."""
        slug = re.sub(r"[^A-Za-z0-9]+", "-", self.problem.name).strip("-")
        text = json.dumps(self.identity(), sort_keys=True)
        return f"{slug}-{self.seed}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.npz"


@dataclass(frozen=True, eq=False)
class IndependentSample:
    """𝒟′: what random capability sequences from the initial state led to."""

    intents: tuple[Intent, ...]
    sequences: int
    """How many it holds."""
    counts: Counts
    file_name: str

    @property
    def executions(self) -> int:
        """How many executions it holds."""
        return int(self.counts.times.sum())

    def reference(self, vocabulary: Vocabulary) -> Reference:
        """Return it as something to measure a model against."""
        return Reference.of_counts(self.counts, self.intents, vocabulary)

    def transitions(self) -> Counter[Transition]:
        """Return the distinct transitions with their counts."""
        states, before, capability, after, times = self.counts
        rows = zip(before.tolist(), capability.tolist(), after.tolist(), strict=True)
        named = (Transition(states[b], c, states[a]) for b, c, a in rows)
        return Counter(dict(zip(named, times.tolist(), strict=True)))


def save(sample: IndependentSample, recipe: Recipe, folder: Path) -> None:
    """Write a sample so that a reader, or a crash, sees the old file or the new, never a part."""
    path = folder / recipe.file_name
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "made of": recipe.identity(),
        "done": sample.sequences,
    }
    states, *columns = sample.counts
    width = max((state.bit_length() + 7) // 8 for state in (*states, 1))
    packed = b"".join(state.to_bytes(width, "little") for state in states)
    arrays = dict(zip(Counts._fields[1:], map(_narrow, columns), strict=True))
    archive = io.BytesIO()
    np.savez_compressed(
        archive,
        header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        states=np.frombuffer(packed, dtype=np.uint8).reshape(-1, width),
        **arrays,
    )
    # Two processes may be building the same dataset: each has a draft of its own.
    draft = folder / f".{path.name}.{os.getpid()}.draft"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            draft.write_bytes(archive.getbuffer())
            draft.replace(path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except OSError as error:
        raise SampleError(
            f"cannot write {path}: {error.strerror}; what was written before is kept: mend the "
            "path, its permissions or the space left, and do it again"
        ) from error


def _narrow(numbers: Numbers) -> Any:
    """Store four bytes a number, which is enough for indices and counts of up to 2³²."""
    return numbers.astype("<u4") if not len(numbers) or numbers.max() < 2**32 else numbers


def load(recipe: Recipe, folder: Path) -> IndependentSample | None:
    """Read the sample of a recipe back, finished or not; None if it was never begun."""
    path = folder / recipe.file_name
    try:
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
            "it, or build it anew with --rebuild"
        ) from error


def _understood(archive: Any, recipe: Recipe) -> IndependentSample:
    header = json.loads(archive["header"].tobytes().decode())
    if (header["format"], header["version"]) != (_FORMAT, _VERSION):
        raise ValueError(f"format {header['format']!r}, version {header['version']}")
    if header["made of"] != recipe.identity():
        raise ValueError("it was made of something else")
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
        raise ValueError("its numbers do not fit together")
    return sample


def _states(packed: Any) -> list[State]:
    if packed.ndim != 2 or packed.dtype != np.uint8:
        raise ValueError("its states are not bytes")
    width, text = packed.shape[1], packed.tobytes()
    return [int.from_bytes(text[i : i + width], "little") for i in range(0, len(text), width)]
