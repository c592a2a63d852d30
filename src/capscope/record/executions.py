"""All executions of a run in the order in which they were made, as columns of numbers.

Counts are enough to learn a model; to compare two runs they are not. How often a pair was asked
depends on what it answered, so what may be compared is the first answer with the first and the
second with the second: the order matters, and so does the position a draw started from, since draws
from one position are alike where the symbolic state does not say everything. The chronicle of the
run has the order; here the positions are put beside it, and what a budget cut is left out.

Where a draw started is written down; where it stood later is not. Of an execution further on in a
draw one knows the start, and what was asked and seen since.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capscope.record.execution_table import ExecutionTable, Flags
from capscope.record.journal import Journal
from capscope.world.positions import name_of

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Executions:
    """Executions that were not cut short by a budget; states by their number in the journal."""

    capability: Numbers
    before: Numbers
    after: Numbers
    position: Numbers
    """The position that the draw started from; draws with the same number started alike."""
    draw: Numbers
    """The draw it belongs to; executions of one stand together, in order."""
    moved: Flags
    """Whether it took a step; without one the world stays where it is."""
    starts: Sequence[bytes]
    """The names of the positions, by number; one beyond them is not written down."""


def executions_of(
    journal: Journal, *, own_starts: bool = False, table: ExecutionTable | None = None
) -> Executions:
    """Read all executions of a journal in order, or those of a chronicle that was read from it.

    With `own_starts` every draw of a query had a start of its own. The journal keeps that of the
    first one, so each of the others counts as a position of its own.
    """
    names, starts = _starts(journal)
    made = table
    if made is None:
        made = ExecutionTable.of(journal, len(starts), len(journal.intents()))
    draw = np.cumsum(made.number == 0) - 1
    position = starts[made.query]
    if own_starts:
        position = np.where(made.draw == 0, position, len(names) + draw)
    whole = ~made.cut
    return Executions(
        made.capability[whole], made.before[whole], made.after[whole], position[whole],
        draw[whole], made.simulator_steps[whole] > 0, names,
    )  # fmt: skip


def positions_of(journal: Journal) -> Mapping[int, set[bytes]]:
    """Return the different positions that are known of each state, by the state's number.

    Of a state met often only some are kept, drawn evenly over its visits.
    """
    known: defaultdict[int, set[bytes]] = defaultdict(set)
    for table in (
        "SELECT state, snapshot FROM snapshots",
        "SELECT start, start_snapshot FROM queries",
    ):
        for state, snapshot in journal.select(table):
            known[state].add(name_of(snapshot))
    return known


def _starts(journal: Journal) -> tuple[Sequence[bytes], Numbers]:
    """Return the positions that queries started from, and of each query which it was."""
    numbers: dict[bytes, int] = {}
    rows = journal.select("SELECT start_snapshot FROM queries ORDER BY id")
    which = [numbers.setdefault(name_of(start), len(numbers)) for (start,) in rows]
    return tuple(numbers), np.array(which, dtype=np.int64)
