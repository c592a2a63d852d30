"""Recognize executions that started in the same distribution of positions, by their history.

Only the position in which a draw started is recorded. But two draws that started in one position,
were asked for the same and saw the same are in positions drawn from one distribution if the agents
are identical, because a strategy sees only symbolic states. So the *history* of an execution serves
like a position: the start of its draw, or the last state on the way that is known in one position
only; and then the capability and the end state of each execution that took a step.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from capscope.insight.diff.run_data import RunData
from capscope.stats.arrays import Integers, Mask

T = TypeVar("T")


class _Columns(NamedTuple):
    """Executions of all runs, draw after draw, in numbers that the runs share."""

    draw: Integers
    start: Integers
    before: Integers
    capability: Integers
    after: Integers
    moved: Mask


def histories_of(
    sides: Sequence[RunData], states: Sequence[Integers], several: Mask
) -> list[Integers]:
    """Number the histories of all executions; equal ones have equal numbers in all runs.

    `states` are those of each side in shared numbers; `several` are known in several positions.
    """
    intents = {i: n for n, i in enumerate(dict.fromkeys(i for side in sides for i in side.intents))}
    names: dict[bytes, int] = {}
    for side in sides:
        for name in side.executions.position_names:
            names.setdefault(name, len(names))
    columns: list[_Columns] = []
    starts, draws = len(names), 0
    for side, own in zip(sides, states, strict=True):
        made = side.executions
        # A start that was not recorded equals no other.
        known = made.position_names
        unnamed = max(int(side.start_position.max(initial=-1)) + 1 - len(known), 0)
        start = np.append(_numbers(known, names), starts + np.arange(unnamed))
        starts = max(starts, int(start.max(initial=-1)) + 1)
        columns.append(
            _Columns(
                made.draw_id + draws,
                start[side.start_position],
                own[made.before],
                _numbers(side.intents, intents)[made.capability],
                own[made.after],
                made.moved,
            )
        )
        draws += int(made.draw_id.max(initial=-1)) + 1
    together = _Columns(*map(np.concatenate, zip(*columns, strict=True)))
    history = _numbered(together, starts, len(intents), several)
    return np.split(history, np.cumsum([len(own.draw) for own in columns])[:-1])


def _numbers(things: Sequence[T], numbers: Mapping[T, int]) -> Integers:
    return np.array([numbers[thing] for thing in things], dtype=np.int64)


def _numbered(made: _Columns, starts: int, capabilities: int, several: Mask) -> Integers:
    """Number the histories without a step, then those with one, then those with two, …"""
    index, states = np.arange(len(made.draw)), len(several)
    known = ~several[made.before]
    history = np.where(known, starts + made.before, made.start)
    first = np.diff(made.draw, prepend=-1) != 0
    begins = np.maximum.accumulate(np.where(known | first, index, 0))
    # How many executions since then took a step, and which one before was the last to do so.
    before: Integers = np.cumsum(made.moved) - made.moved
    steps = before - before[begins]
    last = np.maximum.accumulate(np.where(made.moved, index, 0))[index - 1]
    order, numbered = np.argsort(steps, kind="stable"), starts + states
    for rows in np.split(order, np.flatnonzero(np.diff(steps[order])) + 1)[1:]:
        came = last[rows]
        code = (history[came] * capabilities + made.capability[came]) * states + made.after[came]
        found, which = np.unique(code, return_inverse=True)
        history[rows] = numbered + which
        numbered += len(found)
    return history
