"""All that a run directory holds, read once for every part of a digest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capscope.assessment.reading import Reading, read_in_order
from capscope.assessment.run import Run
from capscope.data.chronicle import Chronicle
from capscope.data.journal import Journal
from capscope.findings.left_out import LeftOut, left_out_of
from capscope.model import Models


@dataclass(frozen=True)
class Record:
    """What was learned, every execution behind it, and the open journal for the rest."""

    reading: Reading
    chronicle: Chronicle
    journal: Journal
    left_out: LeftOut = field(default_factory=LeftOut)
    """Where what happens depends on something that the words do not tell."""

    @property
    def models(self) -> Models:
        """What was learned."""
        return self.reading.models

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
    with Run.open(path, read_only=True) as run, run.journal.at_one_moment():
        reading, chronicle = read_in_order(path, run.journal)
        yield Record(reading, chronicle, run.journal, left_out_of(run.journal, chronicle))
