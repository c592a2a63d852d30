"""One of the two runs to be compared: what was asked, draw by draw, and in what words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from capscope.record.agent_failures import AgentFailure, agent_failures_of
from capscope.record.executions import Executions, executions_of, positions_of
from capscope.record.run_directory import RunDirectory
from capscope.strategy.registry import starts_apart
from capscope.symbolic import Intent, State, Vocabulary


@dataclass(frozen=True)
class Side:
    """A run, read for a comparison."""

    path: str
    meta: Mapping[str, Any]
    vocabulary: Vocabulary
    intents: Sequence[Intent]
    states: Sequence[State]
    """By their number in the journal."""
    executions: Executions
    positions: Mapping[int, set[bytes]]
    """The positions known of each state, by the state's number."""
    agent_failures: tuple[AgentFailure, ...] = ()
    """In what ways the agent broke down."""

    @property
    def states_asked(self) -> int:
        """In how many states something was asked for."""
        return len(np.unique(self.executions.before))

    @property
    def problem(self) -> str:
        """The name of the problem."""
        return str(self.meta["name"])

    @property
    def strategy(self) -> str:
        """The strategy that asked."""
        return str(self.meta["identity"]["strategy"])

    def as_dict(self) -> dict[str, Any]:
        """Say which run it is, as JSON-ready values."""
        return {
            "run": self.path,
            "problem": self.problem,
            "strategy": self.strategy,
            "seed": self.meta["identity"]["seed"],
            "executions": len(self.executions.capability),
            "states": self.states_asked,
            "capabilities": len(self.intents),
        }


def read_side(path: Path) -> Side:
    """Read a run directory; neither the simulator nor the agent is needed."""
    with RunDirectory.open(path, read_only=True) as run:
        journal, meta = run.journal, run.journal.read_meta()
        return Side(
            str(path),
            meta,
            Vocabulary.from_dict(meta["vocabulary"]),
            journal.intents(),
            tuple(journal.states),
            executions_of(journal, own_starts=starts_apart(meta["identity"])),
            positions_of(journal),
            agent_failures_of(journal),
        )
