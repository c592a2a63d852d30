"""What every kind of finding is looked for in: the executions of a run, and what led where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from capscope.insight.findings.finding import Example, Finding
from capscope.journal.execution_table import ExecutionTable
from capscope.logic import Effect, ExactlyOne, Intent, State
from capscope.model import StateGraph
from capscope.model.state_graph import PairStats, StateNode
from capscope.model.transitions import KnownPath, KnownPaths, SeenTransitions
from capscope.stats.arrays import Integers, Mask
from capscope.stats.error_budget import Share
from capscope.stats.rate import Rate

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts

T = TypeVar("T")


class FindingContext:
    """The executions of a run, and what follows from them; each answer is computed once."""

    def __init__(self, run: RunFacts) -> None:
        self.run = run
        self.graph: StateGraph = run.graph
        self.vocabulary, self.intents = run.graph.vocabulary, run.graph.capabilities
        self.table: ExecutionTable = run.executions
        """Every execution, as columns; a cut one has no number among distinct transitions."""
        self._computed: dict[Callable[[FindingContext], Any], Any] = {}

    def once(self, compute: Callable[[FindingContext], T]) -> T:
        """Return what a function makes of the context, computed at the first call only."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        found: T = self._computed[compute]
        return found

    @cached_property
    def exactly_one(self) -> ExactlyOne:
        """Groups of atoms; exactly one atom of each held in every state seen."""
        return self.graph.exactly_one

    @cached_property
    def beginnings(self) -> Sequence[State]:
        """The states in which the run began."""
        return self.run.initial_positions.states or list(self.graph.nodes)[:1]

    @cached_property
    def paths(self) -> KnownPaths:
        """The shortest known path to each state."""
        return KnownPaths(self.graph, self.beginnings)

    @cached_property
    def steps(self) -> SeenTransitions:
        """All transitions that were seen."""
        return SeenTransitions(list(self.graph.nodes.values()))

    @cached_property
    def tried(self) -> list[list[tuple[StateNode, PairStats]]]:
        """For each capability, the states in which it was tried and its intent did not hold."""
        tests = [intent.test(self.vocabulary) for intent in self.intents]
        return [
            [
                (node, pair)
                for node in self.graph.nodes.values()
                if (pair := node.pairs[capability]) is not None and not holds(node.state)
            ]
            for capability, holds in enumerate(tests)
        ]

    def example(self, row: int) -> Example:
        """Return an execution as an example, by its row in the table."""
        before, after = self.table.states[self.table.before[row]], self.table.after[row]
        intent: Intent = self.intents[self.table.capability[row]]
        return Example(int(row), intent, before, self.table.states[after])

    def path(self, state: State) -> KnownPath | None:
        """Return the shortest known path to a state; None if none is known."""
        return self.paths.to(state)

    def nearest(self, rows: Iterable[int]) -> Example:
        """Return the execution that starts nearest to the beginning, the first of several."""

        def distance(example: Example) -> tuple[float, int]:
            length = self.paths.length(example.before)
            return (float("inf") if length is None else length), example.execution

        return min(map(self.example, rows), key=distance)

    def undoes(self, effect: Effect) -> bool:
        """Return whether some execution made a part of an effect false again."""
        return bool(effect.adds & self.ever.deletes or effect.deletes & self.ever.adds)

    @cached_property
    def ever(self) -> Effect:
        """Everything that some execution made true, and false."""
        found, states, seen = Effect(0, 0), self.table.states, self.table.distinct
        for before, after in {*zip(seen.before.tolist(), seen.after.tolist(), strict=True)}:
            found = found.joined(Effect.between(states[before], states[after]))
        return found


def rate_among(
    table: ExecutionTable, rows: Integers, happened: Mask, selected_from: int = 1
) -> Rate:
    """Return how often an event happens, as a mean over pairs of a state and a request.

    Args:
        table: All executions.
        rows: Those in which it could happen; at least one.
        happened: Whether it happened in each.
        selected_from: Of how many rates this is the most striking.

    Returns:
        The rate.
    """
    before = table.before[rows]
    pairs = np.stack([before, table.capability[rows]])
    _, which = np.unique(pairs, axis=1, return_inverse=True)
    hits, draws = np.bincount(which.reshape(-1), happened), np.bincount(which.reshape(-1))
    counts = zip(hits.tolist(), draws.tolist(), strict=True)
    return Rate.of_pairs(counts, len(np.unique(before)), selected_from)


Find = Callable[[FindingContext, Share], list[Finding]]
"""Look for findings; thresholds come from the share of the error budget."""


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding, as it is registered."""

    name: str
    """Unique among all kinds."""
    description: str
    """What it looks for, in the plural: "changes beyond the request"."""
    find: Find
    weight: float = 1.0
    """Its part of the error budget, relative to the others: small if there is much evidence."""
