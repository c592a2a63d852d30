"""All executions of a run in the order in which they were made, as columns of numbers.

Counts are enough to learn a model; to compare two runs they are not. How often a pair was asked
depends on what it answered, so what may be compared is the first answer with the first and the
second with the second: the order matters, and so does the position a draw started from, since draws
from one position are alike where the symbolic state does not say everything. A Python object for
each of millions of executions would take minutes; here every distinct text of a draw is decoded
once and the columns are put together by indexing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capscope.data.journal import ENDINGS, Journal
from capscope.data.journal_file import understood
from capscope.world.attempt import Ending

_CUT = ENDINGS.index(Ending.CUT)

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
    texts: dict[str, int] = {}
    rows = [
        (query, texts.setdefault(attempts, len(texts)))
        for query, attempts in journal.select(
            "SELECT query, attempts FROM draws ORDER BY query, draw"
        )
    ]
    queries, kinds = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    with understood(journal.path):
        kept, lengths = _decoded(texts, len(journal.intents()), len(journal.states))
        positions = np.arange(len(rows)) if own_starts else _starts(journal)[queries]
    begins = np.concatenate([[0], np.cumsum(lengths)])
    times = lengths[kinds]
    # Row i of a draw is row i of its text: where the text begins, plus how far into the draw.
    within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    capability, before, after = kept[np.repeat(begins[kinds], times) + within].T
    return Executions(capability, before, after, np.repeat(positions, times))


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


def _decoded(texts: Iterable[str], capabilities: int, states: int) -> tuple[Numbers, Numbers]:
    """Return (capability, before, after) of all texts in a row, and how many each text has."""
    kept: list[tuple[int, int, int]] = []
    lengths = []
    for executions in json.loads(f"[{','.join(texts)}]"):
        found = [(c, s[0], s[-1]) for c, s, _, ending, *_ in executions if ending != _CUT]
        kept += found
        lengths.append(len(found))
    columns = np.array(kept, dtype=np.int64).reshape(-1, 3)
    if (columns < 0).any() or (columns >= [capabilities, states, states]).any():
        raise ValueError("a draw speaks of a capability or a state that is not written down")
    return columns, np.array(lengths, dtype=np.int64)


def _starts(journal: Journal) -> Numbers:
    """Number the positions that queries started from."""
    numbers: dict[bytes, int] = {}
    rows = journal.select("SELECT start_snapshot FROM queries ORDER BY id")
    return np.array([numbers.setdefault(start, len(numbers)) for (start,) in rows], dtype=np.int64)
