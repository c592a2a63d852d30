"""What was seen to be possible from a state, and how near a state is to an intent.

That something can be achieved from a state is known if some execution from there, of any
capability, achieved it; that it cannot is never known.

**Nearness** decides whether an outcome that did not achieve the intent was a step toward it. The
number of capabilities still needed assumes the luckiest outcomes, and calls a cautious detour a
step aside. The discounted probability of success is an estimate, and two equally good ways never
have equal estimates. So a state counts as at least as near as another only if both measures agree.
Untried capabilities lead nowhere from the state claimed to be nearer, and may achieve the intent
from the other.

There may be a hundred thousand pairs, and every kind of finding asks the same of all of them. So
each answer is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np

from capscope.insight.drift import Drift
from capscope.insight.earlier_findings.finding import Example, Finding
from capscope.journal.settings import Settings
from capscope.logic import Atom, Effect, ExactlyOne, State
from capscope.logic.footprint import Footprint
from capscope.logic.shortest_condition import bit_matrix
from capscope.model import StateGraph
from capscope.model.state_graph import PairStats, StateNode
from capscope.model.transitions import KnownPaths, SeenTransitions
from capscope.stats.arrays import Floats, Mask
from capscope.stats.error_budget import Share

DISCOUNT = 0.95
_MADE_UP_FOR = 0.01

T = TypeVar("T")


class Breakdown(StrEnum):
    """An ending of an execution that the agent did not decide."""

    RAISED = "raises an error"
    INVALID = "chooses an action that is not available"
    LOOPED = "goes on until it is stopped"


PairEndings = Mapping[Breakdown, Mapping[tuple[int, State], int]]
"""For each breakdown, how often each pair of a capability and a state ended like that."""


@dataclass(frozen=True)
class Nearness:
    """How near each state is to an intent: 1 if it holds, 0 if it is out of reach."""

    position: dict[State, int]
    # Lists and not arrays: they are read one state at a time.
    at_worst: tuple[Sequence[float], Sequence[float]]
    """By the luckiest outcomes, and by the probability of success."""
    at_best: tuple[Sequence[float], Sequence[float]]

    def at_least_as_near(self, state: State, other: State) -> bool:
        """Return whether a state is known to be no farther from the intent than another.

        A difference that asking again makes up for does not count.
        """
        i, j = self.position[state], self.position[other]
        (lucky, likely), (luckiest, likeliest) = self.at_worst, self.at_best
        return lucky[i] >= luckiest[j] - 1e-9 and likely[i] >= likeliest[j] - _MADE_UP_FOR


class FindingContext:
    """A learned model, and what it shows to be possible."""

    def __init__(
        self,
        graph: StateGraph,
        *,
        beginnings: Iterable[State] = (),
        endings: PairEndings | None = None,
        drift: Drift | None = None,
        use_length: int = Settings().use_length,
    ) -> None:
        self.graph = graph
        first = graph.first_state
        self.beginnings = tuple(beginnings) or (() if first is None else (first,))
        self.endings = endings
        self.drift = drift
        self._use_length = use_length
        self.nodes = list(graph.nodes.values())
        self.vocabulary, self.intents = graph.vocabulary, graph.capabilities
        self._tests = [intent.test(self.vocabulary) for intent in self.intents]
        self._computed: dict[Callable[[FindingContext], Any], Any] = {}
        # The same questions are asked for many pairs.
        self.nearness: Callable[[int], Nearness] = cache(self._nearness)
        self.can_regain: Callable[[int, bool], Mask] = cache(self._regaining)

    def once(self, compute: Callable[[FindingContext], T]) -> T:
        """Return what a function makes of the context, computed at the first call only."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        found: T = self._computed[compute]
        return found

    @cached_property
    def index(self) -> dict[State, int]:
        """The index of each state among the nodes."""
        return self.steps.index

    @cached_property
    def steps(self) -> SeenTransitions:
        """All transitions that were seen."""
        return SeenTransitions(self.nodes)

    @cached_property
    def visits(self) -> Floats:
        """How often each state is met in use."""
        return self.steps.visits_in_use(self.beginnings, self._use_length)

    @cached_property
    def known_ways(self) -> KnownPaths:
        """The shortest known path to each state."""
        return KnownPaths(self.graph, self.beginnings)

    @cached_property
    def bits(self) -> Mask:
        """The atoms that hold in each state."""
        return bit_matrix([node.state for node in self.nodes], len(self.vocabulary.atoms))

    @cached_property
    def varying(self) -> list[int]:
        """The indices of the atoms that hold in some states and not in all."""
        held = self.bits.sum(axis=0)
        return np.flatnonzero((held > 0) & (held < len(self.nodes))).tolist()

    @cached_property
    def atom_index(self) -> dict[Atom, int]:
        """The index of each atom."""
        return {atom: i for i, atom in enumerate(self.vocabulary.atoms)}

    @cached_property
    def footprints(self) -> list[Footprint]:
        """The footprint of each capability."""
        return [Footprint(intent, self.vocabulary) for intent in self.intents]

    def atoms_of(self, name: str) -> Sequence[Atom]:
        """Return the atoms that mention an object."""
        return self._atoms_by_object.get(name, ())

    @cached_property
    def _atoms_by_object(self) -> dict[str, list[Atom]]:
        found: dict[str, list[Atom]] = {}
        for atom in self.vocabulary.atoms:
            for name in dict.fromkeys(atom.arguments):
                found.setdefault(name, []).append(atom)
        return found

    def _regaining(self, atom: int, holds: bool) -> Mask:
        return self.steps.reaching(self.bits[:, atom] == holds)

    def pair(self, capability: int, state: State) -> PairStats:
        """Return what was seen of a capability in a state in which it was tried."""
        pair = self.graph.pair(state, capability)
        assert pair is not None
        return pair

    def example(self, capability: int, state: State, after: State, draws: int = 0) -> Example:
        """Return an outcome as an example; `draws` are all of the pair unless given."""
        pair = self.pair(capability, state)
        count = pair.counts.get(Effect.between(state, after), 0)
        intent = self.intents[capability]
        return Example(intent, state, after, count, draws or pair.total, self.vocabulary)

    def nearest_first(
        self, outcomes: Iterable[tuple[int, State, Effect]]
    ) -> list[tuple[int, State, Effect]]:
        """Sort outcomes by how far their state is from the beginning, then by their counts."""

        return sorted(outcomes, key=lambda o: self.rank(o[1], self.pair(o[0], o[1]).counts[o[2]]))

    def rank(self, state: State, count: int) -> tuple[float, int, State]:
        """Rank an outcome: near states first, then by how often it was seen."""
        length = self.known_ways.length(state)
        return float("inf") if length is None else length, -count, state

    @cached_property
    def exactly_one(self) -> ExactlyOne:
        """Groups of atoms; exactly one atom of each held in every state seen."""
        return self.graph.exactly_one

    def holds(self, capability: int, state: State) -> bool:
        """Return whether the intent of a capability holds in a state."""
        return self._tests[capability](state)

    @cached_property
    def tried(self) -> list[list[tuple[StateNode, PairStats]]]:
        """For each capability, the states in which it was tried and its intent did not hold."""
        return [
            [
                (node, pair)
                for node in self.nodes
                if (pair := node.pairs[capability]) is not None and node.state not in satisfying
            ]
            for capability, satisfying in enumerate(self._satisfying)
        ]

    @cached_property
    def effects(self) -> list[set[Effect]]:
        """For each capability, what executions changed where its intent did not hold."""
        return [{effect for _, pair in own for effect in pair.counts} for own in self.tried]

    @cached_property
    def _satisfying(self) -> list[frozenset[State]]:
        """For each capability, the states seen in which its intent holds."""
        return [
            frozenset(state for state in self.graph.nodes if self.holds(capability, state))
            for capability in range(len(self.intents))
        ]

    @cached_property
    def ways(self) -> dict[State, dict[State, dict[int, int]]]:
        """For each state, the others that one execution led to: by which capability, how often."""
        return {node.state: _ways_from(node) for node in self.nodes}

    def _nearness(self, capability: int) -> Nearness:
        """Return how near each state is to the intent of a capability."""
        satisfying = self._satisfying[capability]
        goal = np.array([node.state in satisfying for node in self.nodes], dtype=bool)
        incomplete = self.steps.incomplete
        worst = self._near(goal, np.zeros_like(goal))
        best = self._near(goal, incomplete) if incomplete.any() else worst
        return Nearness(self.index, worst, best)

    def _near(self, goal: Mask, one_step_away: Mask) -> tuple[list[float], list[float]]:
        """Return the nearness by the luckiest outcomes, and by the probability of success."""
        steps = self.steps
        requests = np.minimum(steps.distances(goal), steps.distances(one_step_away) + 1)
        lucky = DISCOUNT ** requests.astype(np.float64)
        likely = steps.best_values(np.maximum(goal, DISCOUNT * one_step_away), DISCOUNT)
        return lucky.tolist(), likely.tolist()


def _ways_from(node: StateNode) -> dict[State, dict[int, int]]:
    found: dict[State, dict[int, int]] = {}
    for capability, pair in enumerate(node.pairs):
        if pair is None or pair.only is node:
            continue
        for effect, after in zip(pair.group.effects, pair.successors, strict=True):
            if after is not node:
                found.setdefault(after.state, {})[capability] = pair.counts[effect]
    return found


Find = Callable[[FindingContext, Share, Sequence[Finding]], list[Finding]]
"""Look for findings, given the findings of the kinds before; thresholds come from the share."""


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding."""

    name: str
    """Unique among all kinds; the `kind` of its findings."""
    description: str
    """What it looks for, in the plural: "side effects"."""
    find: Find
    approximate: bool = False
    """Whether its error rate holds only approximately under adaptive sampling."""
    severity: int = 2
    """The rank of its findings: 2 for what the agent does or fails to do, 1 for how it does it."""
    assumes_steady_agent: bool = False
    """Whether it is not reported if the agent changed: draws of two times would be compared."""
    counts_success: bool = False
    """Whether its rates are those of success, so that the rest does the harm."""
