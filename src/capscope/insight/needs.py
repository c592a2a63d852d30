"""Whether requests needed the changes that came with them, by what replays decided."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import Journal, Place
from capscope.logic import Effect
from capscope.problem.counterfactual import Need


@dataclass(frozen=True, slots=True)
class ReplayedChange:
    """What was decided about a change that an execution made."""

    execution: int
    """The row of the execution in the table of executions."""
    literal: tuple[int, bool]
    """The index of an atom, and whether it became true; it stands for all changes of its form."""
    verdict: Need
    kept: tuple[int, ...]
    """The actions that suffice without the change, by their places in the execution."""
    steps: int = field(compare=False)
    """Simulator steps that it took to find out."""
    note: str
    """Why it is undecided, or what has to be different beside the actions that are left out."""


def replays_of(table: ExecutionTable, journal: Journal) -> tuple[ReplayedChange, ...]:
    """Read the replays of the executions in a table.

    Args:
        table: All executions of a run, or of its first queries.
        journal: The journal of the run.

    Returns:
        The replays, in the order of their executions.
    """
    found = []
    for (place, literal), decided in journal.replays().items():
        row = _row(table, place)
        if row is not None:
            verdict, kept, steps, note = decided
            found.append(ReplayedChange(row, literal, verdict, kept, steps, note))
    return tuple(found)


def _row(table: ExecutionTable, place: Place) -> int | None:
    query, draw, number = place
    first, end = np.searchsorted(table.query, [query, query + 1]).tolist()
    mine = (table.draw[first:end] == draw) & (table.number[first:end] == number)
    return first + int(np.argmax(mine)) if mine.any() else None


def need_of(
    replays: Iterable[ReplayedChange], executions: Collection[int], changes: Effect
) -> Need:
    """Return whether requests needed a kind of change.

    A form of change is examined in up to three executions that made it. Give the rows of all
    executions that made it beyond requests of one form (of those in which the request held at the
    end, or of the others, if these are told apart), and all changes of the form that they made.
    One execution that shows that it was needless suffices: the request was achieved without it. It
    was needed only if all that were examined say so; else it is undecided.

    Args:
        replays: Those of the run (`Run.replays`).
        executions: Rows of the table of executions.
        changes: The atoms that became true and false.

    Returns:
        The need; `UNDECIDED` if none of the executions was examined.
    """
    verdicts = {
        one.verdict
        for one in replays
        if one.execution in executions
        and (changes.adds if one.literal[1] else changes.deletes) >> one.literal[0] & 1
    }
    if Need.NEEDLESS in verdicts:
        return Need.NEEDLESS
    if not verdicts or Need.UNDECIDED in verdicts:
        return Need.UNDECIDED
    return Need.PART if Need.PART in verdicts else Need.ON_THE_WAY
