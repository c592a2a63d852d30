"""What a journal records about queries and their draws, and the one codec of draws.

A draw is stored as a text of JSON: a list with `[capability, [states…], simulator_steps, ending]`
for each attempt, followed by `llm_tokens` and `detail` if there are any. States are numbers.

Transcripts are long, similar and rarely read, so they are stored apart and compressed. Compressed
separately, each would contain the prompt that all attempts share; therefore the first transcript of
a journal is the dictionary of all others.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from capscope.errors import JournalError
from capscope.journal.run_meta import Usage
from capscope.logic import State
from capscope.problem.attempt import Attempt, Ending
from capscope.problem.positions import SavedPosition
from capscope.stats.arrays import Floats, Integers, Mask

ENDINGS = tuple(Ending)
"""An ending is stored as its index."""
LONGEST_TRANSCRIPT = 4 * 1024**2
"""Bytes of a transcript, unpacked; the rest is left out when it is stored."""
_WINDOW = 32_000
"""Bytes of a dictionary that zlib can use; the shared prompt is at the beginning."""
_LARGEST_COUNT = 1 << 50
_BATCH = 100
"""Texts decoded at a time: a single one is slower, and all at once exceed the processor's cache."""


class Execution(NamedTuple):
    """A capability that was asked for, and the attempt that followed."""

    capability: int
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Draw:
    """One of the independent executions of a query."""

    executions: tuple[Execution, ...]
    simulator_steps: int
    llm_tokens: int
    seconds: float
    cut: bool
    """A budget ran out: the draw, and with it the query, is incomplete."""
    end: SavedPosition | None = None
    """The position at the end; the journal keeps those of the latest query only."""
    llm_cost: float = 0.0
    """What was paid for it; stored apart from the observations, like times."""

    @property
    def usage(self) -> Usage:
        """What the draw took."""
        return Usage(
            0, len(self.executions), self.simulator_steps, self.llm_tokens, self.seconds,
            self.llm_cost,
        )  # fmt: skip


class Start(NamedTuple):
    """Where a draw starts: a state and a position in it."""

    state: State
    position: SavedPosition


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """What is recorded about a query before its draws."""

    start: Start
    distance: int
    """How far the start is from where the walk began."""
    xi: float
    predicted: float
    informative: bool
    finished: bool = False
    seconds: float = 0.0
    policy: str | None = None


@dataclass(frozen=True)
class QueryTable:
    """One row for each query."""

    start: Integers
    """The state in which it started; if its draws have their own starts, that of the first."""
    predicted: Floats
    """The information it promised, in the measure of the strategy."""
    informative: Mask
    """Whether that exceeded the threshold."""
    finished: Mask
    """Whether all its draws are complete."""
    draws: Integers
    """How many draws were made."""
    executions: Integers
    """In all draws, like the columns below."""
    simulator_steps: Integers
    llm_tokens: Integers
    seconds: Floats
    """How long it took."""
    llm_cost: Floats
    """What was paid, in the currency of the prices."""
    replay_steps: Integers
    """Simulator steps of replays."""

    def __len__(self) -> int:
        return len(self.start)

    def usage(self) -> Usage:
        """Add up the usage of the queries."""
        return Usage(
            len(self), int(self.executions.sum()), int(self.simulator_steps.sum()),
            int(self.llm_tokens.sum()), float(self.seconds.sum()), float(self.llm_cost.sum()),
            int(self.replay_steps.sum()),
        )  # fmt: skip

    def running_usage(self, before: Usage) -> Iterator[Usage]:
        """Yield the usage after each query, including that before the first."""
        columns = (self.executions, self.simulator_steps, self.llm_tokens, self.seconds)
        more = (self.llm_cost, self.replay_steps)
        rows = zip(*(column.tolist() for column in (*columns, *more)), strict=True)
        for row in rows:
            before += Usage(1, *row)
            yield before

    def first(self, number: int) -> QueryTable:
        """Return the first queries."""
        return QueryTable(*(getattr(self, field.name)[:number] for field in fields(self)))


def encode(executions: Sequence[Execution], number: Callable[[State], int]) -> str:
    """Return the text of a draw; `number` gives the number of a state."""
    rows: list[list[Any]] = []
    for capability, attempt in executions:
        states = [number(state) for state in attempt.trajectory]
        row = [capability, states, attempt.simulator_steps, ENDINGS.index(attempt.ending)]
        if attempt.llm_tokens or attempt.detail:
            row += [attempt.llm_tokens, attempt.detail]
        rows.append(row)
    return json.dumps(rows, separators=(",", ":"))


def decode(text: str, states: Sequence[State]) -> tuple[Execution, ...]:
    """Return the executions of a draw from its text."""
    executions = []
    for capability, numbers, steps, ending, *rest in json.loads(text):
        trajectory = tuple(states[number] for number in numbers)
        executions.append(Execution(capability, Attempt(trajectory, steps, ENDINGS[ending], *rest)))
    return tuple(executions)


def decode_numbers(texts: Sequence[str]) -> tuple[Integers, Integers]:
    """Decode many draws at once, without trajectories and details.

    Returns:
        The number of attempts in each text, and a row for each attempt: capability, state before,
        state after, changes, simulator steps, tokens, ending.
    """
    lengths: list[int] = []
    rows = [np.empty(0, dtype=np.int64)]
    for first in range(0, len(texts), _BATCH):
        some = texts[first : first + _BATCH]
        draws = json.loads(f"[{','.join(some)}]")
        if len(draws) != len(some):
            raise ValueError("draws that are not one list each")
        lengths += map(len, draws)
        attempts = itertools.chain.from_iterable(draws)
        numbers = [
            n
            for a in attempts
            for n in (
                a[0], a[1][0], a[1][-1], len(a[1]) - 1, a[2], a[4] if len(a) > 4 else 0, a[3],
            )
        ]  # fmt: skip
        try:
            rows.append(np.array(numbers, dtype=np.int64))
        except OverflowError as error:
            raise ValueError(str(error)) from error
    return np.array(lengths, dtype=np.int64), np.concatenate(rows).reshape(-1, 7)


def refuse_impossible(
    attempts: Integers, costs: Sequence[Sequence[float]], states: int, capabilities: int
) -> None:
    """Raise if attempts or costs of draws cannot have been recorded.

    Args:
        attempts: A row of numbers for each attempt (`decode_numbers`).
        costs: Simulator steps, tokens, seconds and what was paid, for each draw.
        states: The number of recorded states.
        capabilities: The number of recorded capabilities.
    """
    asked, ends, counts, endings = np.split(attempts, [1, 3, 6], axis=1)
    if not _between(ends, states):
        raise ValueError(f"an attempt between states that are not among the {states} recorded")
    if not _between(endings, len(ENDINGS)):
        raise ValueError("an attempt with an ending that does not exist")
    if not _between(counts, _LARGEST_COUNT + 1):
        raise ValueError("an attempt with an impossible number of changes, steps or tokens")
    if any(not 0 <= cost <= _LARGEST_COUNT for row in costs for cost in row):
        raise ValueError("a draw with an impossible cost")
    if not _between(asked, capabilities):
        raise JournalError(
            f"a draw in the journal asks for a capability beyond the {capabilities} that are "
            "recorded; the journal was changed by something else and was left untouched"
        )


def _between(values: Integers, end: int) -> bool:
    """Return whether all values are at least 0 and below an end."""
    return not values.size or bool(0 <= values.min() <= values.max() < end)


def packed(text: str, dictionary: bytes) -> bytes:
    """Compress a transcript; `dictionary` is empty for the first one.

    >>> unpacked(packed("Go north.", b"Go south."), b"Go south.")
    'Go north.'
    """
    if dictionary:
        compressor = zlib.compressobj(level=9, zdict=dictionary[:_WINDOW])
    else:
        compressor = zlib.compressobj(level=9)
    # A lone surrogate must not prevent a draw from being recorded.
    data = text.encode(errors="backslashreplace")
    if len(data) > LONGEST_TRANSCRIPT:
        note = f"\n… (the rest of {len(data):,} bytes is omitted)".encode()
        data = data[: LONGEST_TRANSCRIPT - len(note)].decode(errors="ignore").encode() + note
    return compressor.compress(data) + compressor.flush()


def unpacked(blob: bytes, dictionary: bytes) -> str:
    """Return a transcript; the dictionary is ignored if it was packed without one.

    A few kilobytes can become gigabytes: what is longer than any stored transcript is refused.
    """
    decompressor = zlib.decompressobj(zdict=dictionary[:_WINDOW])
    try:
        text = decompressor.decompress(blob, LONGEST_TRANSCRIPT + 1)
    except zlib.error as error:
        raise ValueError(f"a transcript cannot be decompressed: {error}") from error
    if len(text) > LONGEST_TRANSCRIPT:
        raise ValueError(f"a transcript has more than {LONGEST_TRANSCRIPT:,} bytes")
    if not decompressor.eof:
        raise ValueError("a transcript is incomplete")
    return text.decode()
