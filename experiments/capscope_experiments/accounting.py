"""Where the executions of a run went.

An execution does one of four things: it tries a pair for the first time (`new`), tries it again in
another draw of the same query (`repeat`), passes through pairs known before on the way to something
new (`walk`), or belongs to a query that found nothing new at all (`nowhere`).
"""

from __future__ import annotations

from dataclasses import dataclass

from capscope.present.digest.learning import FIRST_TRIES, ON_THE_WAY, REPEATS, spending
from capscope.record.execution_table import ExecutionTable


@dataclass(frozen=True, slots=True)
class Shares:
    """The number, or the share, of the executions of each kind."""

    new: float = 0
    repeat: float = 0
    walk: float = 0
    nowhere: float = 0


def where_executions_went(executions: ExecutionTable) -> Shares:
    """Count executions by what they did; those cut short by a budget found nothing new."""
    counts = spending(executions, repeats_policy=True)
    new, repeat, walk = (counts[name] for name in (FIRST_TRIES, REPEATS, ON_THE_WAY))
    return Shares(new, repeat, walk, sum(counts.values()) - new - repeat - walk)
