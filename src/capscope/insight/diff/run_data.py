"""The runs of a comparison: their complete executions, known positions, and shared atoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from capscope.insight.agent_failures import AgentFailure
from capscope.insight.hazards import HazardUse, uses_of
from capscope.journal.execution_table import UNKNOWN_POSITION, ExecutionTable
from capscope.journal.run_meta import RunIdentity
from capscope.logic import Intent, State, Vocabulary
from capscope.problem import Hazard
from capscope.stats.arrays import Integers

if TYPE_CHECKING:
    from capscope.run import Run


@dataclass(frozen=True)
class RunData:
    """A run, prepared for a comparison."""

    path: str
    problem: str
    identity: RunIdentity
    vocabulary: Vocabulary
    intents: Sequence[Intent]
    executions: ExecutionTable
    """Without those that were cut short."""
    positions: Mapping[int, set[bytes]]
    """The positions known for each state, by the state's number."""
    agent_failures: tuple[AgentFailure, ...] = ()
    hazards: frozenset[Intent] = frozenset()
    """What should not happen: never a capability gained or lost, nor an ordinary side effect."""
    hazard_uses: Mapping[str, HazardUse] = field(default_factory=dict)
    """How often each hazard happened in draws that were made as in use."""

    @classmethod
    def of(cls, run: Run) -> RunData:
        """Take what a comparison needs from a run."""
        with run.open_journal() as journal:
            positions = journal.known_positions()
        return cls(
            str(run.path),
            run.problem,
            run.identity,
            run.graph.vocabulary,
            run.capabilities,
            run.executions.complete,
            positions,
            run.agent_failures,
            frozenset(
                Intent.of(instance)
                for text in run.identity.settings.hazards
                for instance in Hazard.parse(text, run.graph.vocabulary).condition
            ),
            uses_of(run),
        )

    @cached_property
    def start_position(self) -> Integers:
        """The position that each draw started from; one that was not recorded equals no other."""
        table = self.executions
        unknown = len(table.position_names) + table.draw_id
        return np.where(table.position == UNKNOWN_POSITION, unknown, table.position)

    @property
    def states(self) -> Sequence[State]:
        """The states, by number."""
        return self.executions.states

    @property
    def states_asked(self) -> int:
        """In how many states something was asked for."""
        return len(np.unique(self.executions.before))

    @property
    def named(self) -> dict[str, Any]:
        """Which run it is, as JSON-ready values."""
        return {
            "run": self.path,
            "problem": self.problem,
            "strategy": self.identity.strategy,
            "seed": self.identity.seed,
            "executions": len(self.executions),
            "states": self.states_asked,
            "capabilities": len(self.intents),
        }


def shared_atoms(*runs: RunData) -> State:
    """Match atoms by name; return those that all runs have, in the bits of the first."""
    first, *others = (run.vocabulary for run in runs)
    return first.state(atom for atom in first.atoms if all(atom in one.bit for one in others))


def knows(vocabulary: Vocabulary, shared: State, intent: Intent) -> bool:
    """Return whether every atom of an intent is one of the shared ones."""
    return all(vocabulary.bit.get(literal.atom, 0) & shared for literal in intent.mentioned)


def projected(run: RunData, vocabulary: Vocabulary, shared: State) -> list[State]:
    """Write the states of a run in the bits of the shared atoms."""
    if run.vocabulary.fingerprint == vocabulary.fingerprint:
        return [state & shared for state in run.states]
    bits = run.vocabulary.bit.items()
    moves = [(b, vocabulary.bit[a]) for a, b in bits if vocabulary.bit.get(a, 0) & shared]
    return [sum(to for bit, to in moves if state & bit) for state in run.states]
