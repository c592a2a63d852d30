"""What is known of where an execution stood: a position, and what happened since.

A draw goes on with another capability where the last one led, and there the position is written
down no more. It is not needed: two draws that started in one position, were asked for the same and
saw the same came into positions that are drawn from one distribution, whichever run they belong to,
if the agents are alike. For what is asked next depends on nothing else: a strategy goes by symbolic
states. So the *past* of an execution does the same service as a position. It is the start of its
draw, or the last state on the way that is known in one position only; and for each execution since
that took a step the capability and the state it ended in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from capscope.analysis.diff.run_data import Side
from capscope.record.execution_table import ExecutionTable as Executions
from capscope.record.query_table import Column as Numbers
from capscope.record.query_table import Flags

Thing = TypeVar("Thing")


class _Walks(NamedTuple):
    """Executions of all runs, draw after draw, in numbers that the runs have in common."""

    draw: Numbers
    start: Numbers
    before: Numbers
    asked: Numbers
    after: Numbers
    moved: Flags


def pasts_of(sides: Sequence[Side], states: Sequence[Numbers], several: Flags) -> list[Numbers]:
    """Number the pasts of all executions, from 0; the same past has the same number in all runs.

    `states` are the states of each side in numbers that all have in common, and `several` says
    which of those are known in several positions.
    """
    intents = {i: n for n, i in enumerate(dict.fromkeys(i for side in sides for i in side.intents))}
    names: dict[bytes, int] = {}
    for side in sides:
        for name in side.executions.starts:
            names.setdefault(name, len(names))
    walks: list[_Walks] = []
    starts, draws = len(names), 0
    for side, own in zip(sides, states, strict=True):
        made = side.executions
        # A start that is not written down is like no other.
        start = np.append(_numbers(made.starts, names), starts + np.arange(_extra(made)))
        starts = max(starts, int(start.max(initial=-1)) + 1)
        walks.append(
            _Walks(
                made.draw + draws, start[made.position], own[made.before],
                _numbers(side.intents, intents)[made.capability], own[made.after], made.moved,
            )
        )  # fmt: skip
        draws += int(made.draw.max(initial=-1)) + 1
    together = _Walks(*map(np.concatenate, zip(*walks, strict=True)))
    past = _numbered(together, starts, len(intents), several)
    return np.split(past, np.cumsum([len(own.draw) for own in walks])[:-1])


def _numbers(things: Sequence[Thing], numbers: Mapping[Thing, int]) -> Numbers:
    return np.array([numbers[thing] for thing in things], dtype=np.int64)


def _extra(made: Executions) -> int:
    """Say how many starts have no name."""
    return max(int(made.position.max(initial=-1)) + 1 - len(made.starts), 0)


def _numbered(walks: _Walks, starts: int, capabilities: int, several: Flags) -> Numbers:
    """Number the pasts without a step, then those with one, then those with two, …"""
    place, states = np.arange(len(walks.draw)), len(several)
    known = ~several[walks.before]
    past = np.where(known, starts + walks.before, walks.start)
    first = np.diff(walks.draw, prepend=-1) != 0
    begins = np.maximum.accumulate(np.where(known | first, place, 0))
    # Of each execution: how many since then took a step, and which before it was the last to do so.
    before: Numbers = np.cumsum(walks.moved) - walks.moved
    steps = before - before[begins]
    last = np.maximum.accumulate(np.where(walks.moved, place, 0))[place - 1]
    order, numbered = np.argsort(steps, kind="stable"), starts + states
    for rows in np.split(order, np.flatnonzero(np.diff(steps[order])) + 1)[1:]:
        came = last[rows]
        code = (past[came] * capabilities + walks.asked[came]) * states + walks.after[came]
        found, which = np.unique(code, return_inverse=True)
        past[rows] = numbered + which
        numbered += len(found)
    return past
