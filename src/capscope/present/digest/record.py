"""The data of a run directory, read once for all parts of a digest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from capscope.analysis.aliasing import Aliasing, find_aliasing
from capscope.analysis.findings import Finding, find_surprises
from capscope.assessment.reading import Reading, read_in_order
from capscope.model import StateGraph
from capscope.record.agent_failures import AgentFailure
from capscope.record.execution_table import ExecutionTable
from capscope.record.initial_positions import InitialPositions
from capscope.record.journal import Journal
from capscope.record.run_directory import TEXTS, RunDirectory
from capscope.record.settings import Settings
from capscope.record.usage import Usage
from capscope.strategy.verdict import Verdict


@dataclass(frozen=True)
class RunIdentity:
    """What a run was started with."""

    source: str
    fingerprint: str
    vocabulary: str
    strategy: str
    seed: int
    temporal_length: int | None
    horizon: int
    reset_every: int | None
    settings: Settings

    @classmethod
    def of(cls, recorded: dict[str, Any]) -> RunIdentity:
        """Read the identity that a journal recorded."""
        return cls(
            recorded["problem"],
            recorded.get("problem fingerprint", ""),
            recorded["vocabulary"],
            recorded["strategy"],
            recorded["seed"],
            recorded.get("temporal length", 1),
            recorded.get("horizon", 100),
            recorded.get("reset every"),
            Settings.from_dict(recorded["settings"]),
        )


@dataclass(frozen=True)
class Record:
    """What was learned, every execution, and the open journal for the rest."""

    reading: Reading
    executions: ExecutionTable
    journal: Journal
    aliasing: Aliasing = field(default_factory=Aliasing)
    """Where outcomes depend on simulator state that the predicates do not capture."""

    @cached_property
    def identity(self) -> RunIdentity:
        """What the run was started with."""
        return RunIdentity.of(self.reading.meta["identity"])

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.reading.path

    @property
    def problem(self) -> str:
        """The name of the problem."""
        return self.reading.problem

    @property
    def problem_texts(self) -> list[str]:
        """The digests of the texts that the problem's file had during the run."""
        texts: list[str] = self.reading.meta.get(TEXTS, [])
        return texts

    @property
    def graph(self) -> StateGraph:
        """What was learned."""
        return self.reading.graph

    @property
    def budget(self) -> dict[str, float]:
        """The limits that are set, by currency."""
        return _set_limits(self.reading.meta["budget"])

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the packages that matter for repeating the run."""
        versions: dict[str, str] = self.reading.meta["versions"]
        return versions

    @property
    def usage(self) -> Usage:
        """What the run spent."""
        return self.reading.usage

    @property
    def discovery_usage(self) -> Usage:
        """What the run spent before its first query."""
        return Usage.before_asking(self.reading.meta)

    @property
    def stop_reason(self) -> str | None:
        """Why the run stopped; None if it did not, or was resumed with another budget."""
        stopped = self.reading.meta.get("stopped")
        if stopped is None or _set_limits(stopped["budget"]) != self.budget:
            return None
        return str(stopped["because"])

    @property
    def verdict(self) -> Verdict:
        """What the evidence settles and what it leaves open."""
        return self.reading.verdict

    @property
    def agent_failures(self) -> tuple[AgentFailure, ...]:
        """How the agent failed."""
        return self.reading.agent_failures

    @property
    def initial_positions(self) -> InitialPositions:
        """From how many initial positions the run started."""
        return self.reading.initial_positions

    def findings(self) -> list[Finding]:
        """Return what is surprising, the most striking first."""
        return list(find_surprises(self.graph, temporal_length=self.identity.temporal_length))


def _set_limits(budget: dict[str, Any]) -> dict[str, Any]:
    # An earlier release did not record the limits that did not exist yet.
    return {name: limit for name, limit in budget.items() if limit is not None}


@contextmanager
def opened_record(path: Path) -> Iterator[Record]:
    """Read a run as it is at this moment; nothing is written, and its problem is not needed."""
    with RunDirectory.open(path, read_only=True) as run, run.journal.at_one_moment():
        reading, table = read_in_order(path, run.journal)
        yield Record(reading, table, run.journal, find_aliasing(run.journal, table))
