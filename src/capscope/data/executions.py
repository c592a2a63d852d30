"""All executions of a run in the order in which they were made, as columns of numbers.

Counts are enough to learn a model; to compare two runs they are not. How often a pair was asked
depends on what it answered, so what may be compared is the first answer with the first and the
second with the second: the order matters, and so does the position a draw started from, since draws
from one position are alike where the symbolic state does not say everything. The chronicle of the
run has the order; here the positions are put beside it, and what a budget cut is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capscope.data.chronicle import Chronicle
from capscope.data.journal import Journal

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Executions:
    """Executions that were not cut short by a budget; states by their number in the journal."""

    capability: Numbers
    before: Numbers
    after: Numbers
    position: Numbers
    """The position that the draw started from; draws with the same number started alike."""


def executions_of(journal: Journal, *, own_starts: bool = False) -> Executions:
    """Read all executions of a journal in order.

    With `own_starts` every draw of a query had a start of its own. The journal keeps those of the
    last query only, so each draw counts as a position of its own.
    """
    starts = _starts(journal)
    made = Chronicle.of(journal, len(starts), len(journal.intents()))
    position = np.cumsum(made.number == 0) - 1 if own_starts else starts[made.query]
    whole = ~made.cut
    return Executions(
        made.capability[whole], made.before[whole], made.after[whole], position[whole]
    )


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
            known[state].add(snapshot)
    return known


def _starts(journal: Journal) -> Numbers:
    """Number the positions that queries started from."""
    numbers: dict[bytes, int] = {}
    rows = journal.select("SELECT start_snapshot FROM queries ORDER BY id")
    return np.array([numbers.setdefault(start, len(numbers)) for (start,) in rows], dtype=np.int64)
