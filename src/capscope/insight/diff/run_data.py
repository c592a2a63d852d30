"""The runs of a comparison: their complete executions, known positions, and shared atoms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from capscope.errors import CapscopeError
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


@dataclass(frozen=True)
class SharedPredicates:
    """The atoms that both vocabularies have, in the bits of the first."""

    vocabulary: Vocabulary
    shared: State
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    def knows(self, intent: Intent) -> bool:
        """Return whether both sides have every atom of an intent."""
        bits = self.vocabulary.bit
        return all(bits.get(literal.atom, 0) & self.shared for literal in intent.mentioned)


def shared_predicates(a: RunData, b: RunData) -> SharedPredicates:
    """Match atoms by name; raise an error if the runs have none in common."""
    mine, theirs = a.vocabulary, b.vocabulary
    shared = [atom for atom in mine.atoms if atom in theirs.bit]
    if not shared:
        raise CapscopeError(
            f"{a.path} ({a.problem}) and {b.path} ({b.problem}) have no atom in common; compare "
            "runs that describe the same world with the same predicates"
        )
    return SharedPredicates(
        mine,
        mine.state(shared),
        tuple(str(atom) for atom in mine.atoms if atom not in theirs.bit),
        tuple(str(atom) for atom in theirs.atoms if atom not in mine.bit),
    )


def projected(side: RunData, predicates: SharedPredicates) -> list[State]:
    """Write the states of a side in the bits of the shared atoms."""
    vocabulary, shared = predicates.vocabulary, predicates.shared
    if side.vocabulary.fingerprint == vocabulary.fingerprint:
        return [state & shared for state in side.states]
    bits = side.vocabulary.bit.items()
    moves = [(b, vocabulary.bit[a]) for a, b in bits if vocabulary.bit.get(a, 0) & shared]
    return [sum(to for bit, to in moves if state & bit) for state in side.states]
