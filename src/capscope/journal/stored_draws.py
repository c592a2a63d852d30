"""The draws of a journal as numbers, each distinct text decoded once.

Whatever cannot have been recorded is refused here, so that the tables built from it need no checks.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from capscope.errors import JournalError
from capscope.journal.journal import ENDINGS, Journal
from capscope.stats.arrays import Integers

UNKNOWN_POSITION = -1
_LARGEST_COUNT = 1 << 50
_BATCH = 100
"""Texts decoded at a time: one by one is slower, and all at once leaves the processor's cache."""


@dataclass(frozen=True)
class StoredDraws:
    """The draws of a journal: one row each, in order, and the attempts of each distinct text."""

    query: Integers
    """The number of its query."""
    draw: Integers
    """Its index in the query."""
    position: Integers
    """The stored position that it started from; -1 if that was not recorded."""
    text: Integers
    """Which of the distinct texts it has."""
    costs: Sequence[tuple[float, ...]]
    """Simulator steps, tokens, seconds and what was paid."""
    text_lengths: Integers
    """How many attempts each text holds."""
    attempts: Integers
    """A row for each attempt of each text: capability, states, changes, steps, tokens, ending."""


def read_stored_draws(journal: Journal, queries: int) -> StoredDraws:
    """Read the draws of so many queries."""
    texts: dict[str, int] = {}
    rows: list[tuple[int, ...]] = []
    costs: list[tuple[float, ...]] = []
    stored = journal.select(
        "SELECT query, draw, position, attempts, simulator_steps, llm_tokens, seconds, "
        "llm_cost FROM draws ORDER BY query, draw"
    )
    for query, draw, position, text, *cost in stored:
        if query >= queries:
            break
        which = UNKNOWN_POSITION if position is None else position
        rows.append((query, draw, which, texts.setdefault(text, len(texts))))
        costs.append(tuple(cost))
    lengths, attempts = _decode(list(texts))
    _refuse_unknown_states(attempts, len(journal.states))
    _refuse_impossible_numbers(attempts, costs)
    _refuse_unknown_capabilities(attempts, len(journal.intents()))
    query_of, draw_of, position_of, text_of = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return StoredDraws(query_of, draw_of, position_of, text_of, costs, lengths, attempts)


def _decode(texts: Sequence[str]) -> tuple[Integers, Integers]:
    """Return how many attempts each text holds, and a row of numbers for each attempt."""
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


def _refuse_unknown_states(attempts: Integers, states: int) -> None:
    ends = attempts[:, 1:3]
    if ends.size and not 0 <= ends.min() <= ends.max() < states:
        raise ValueError(f"an attempt between states that are not among the {states} recorded")


def _refuse_impossible_numbers(attempts: Integers, costs: Sequence[tuple[float, ...]]) -> None:
    counts, endings = attempts[:, 3:6], attempts[:, 6]
    if endings.size and not 0 <= endings.min() <= endings.max() < len(ENDINGS):
        raise ValueError("an attempt that ended in a way that does not exist")
    if counts.size and (counts.min() < 0 or counts.max() > _LARGEST_COUNT):
        raise ValueError("an attempt with an impossible number of changes, steps or tokens")
    if any(not 0 <= cost <= _LARGEST_COUNT for row in costs for cost in row):
        raise ValueError("a draw with an impossible cost")


def _refuse_unknown_capabilities(attempts: Integers, capabilities: int) -> None:
    asked = attempts[:, 0]
    if asked.size and not 0 <= asked.min() <= asked.max() < capabilities:
        raise JournalError(
            f"a draw in the journal asks for a capability beyond the {capabilities} that are "
            "recorded; the journal was changed by something else and was left untouched"
        )
