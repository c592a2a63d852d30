"""All that a run directory holds, read once for every part of a digest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capscope.analysis.aliasing import Aliasing, find_aliasing
from capscope.assessment.reading import Reading, read_in_order
from capscope.model import StateGraph
from capscope.record.execution_table import ExecutionTable
from capscope.record.journal import Journal
from capscope.record.run_directory import RunDirectory


@dataclass(frozen=True)
class Record:
    """What was learned, every execution behind it, and the open journal for the rest."""

    reading: Reading
    table: ExecutionTable
    journal: Journal
    aliasing: Aliasing = field(default_factory=Aliasing)
    """Where what happens depends on something that the words do not tell."""

    @property
    def graph(self) -> StateGraph:
        """What was learned."""
        return self.reading.graph

    @property
    def identity(self) -> dict[str, Any]:
        """What the run was started with."""
        identity: dict[str, Any] = self.reading.meta["identity"]
        return identity

    @property
    def stopped_because(self) -> str | None:
        """Why the run ended; None if it has not, or went on since with another budget."""
        stopped = self.reading.meta.get("stopped")
        if stopped is None or _set(stopped["budget"]) != _set(self.reading.meta["budget"]):
            return None
        return str(stopped["because"])


def _set(budget: dict[str, Any]) -> dict[str, Any]:
    # An earlier release did not write down the limits that there were not yet.
    return {name: limit for name, limit in budget.items() if limit is not None}


@contextmanager
def opened_record(path: Path) -> Iterator[Record]:
    """Read a run as it is at this moment; nothing is written, and its problem is not needed."""
    with RunDirectory.open(path, read_only=True) as run, run.journal.at_one_moment():
        reading, table = read_in_order(path, run.journal)
        yield Record(reading, table, run.journal, find_aliasing(run.journal, table))
