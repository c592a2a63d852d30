"""The baseline that a search has to beat: an untried pair, drawn uniformly.

Like the adaptive and the exhaustive strategy, it starts at any state that was seen, and it makes
one execution of each query. It neither looks ahead nor generalizes.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Any

from capscope.errors import JournalError
from capscope.journal.draws import QueryRecord
from capscope.journal.run_meta import StopReason
from capscope.logic import State
from capscope.seeds import child_seed
from capscope.strategy.base import (
    RESTORED_ELSEWHERE,
    BegunQuery,
    QueryChoice,
    QueryResult,
    SequencePolicy,
    StrategyContext,
    Task,
)
from capscope.strategy.registry import RegisteredStrategy

UNIFORM = "uniform"
_PAIR = -6  # child of a query's seed


class UniformPair:
    """Draw a seen state and a capability not tried there; any pair of them if all were tried."""

    longest_draw = 1
    audit = None
    audited = None

    def __init__(self, context: StrategyContext) -> None:
        self._context = context
        self._untried: list[tuple[State, int]] = []
        self._place: dict[tuple[State, int], int] = {}  # in the list
        self._states: list[State] = []
        self._capabilities = 0
        self._see_new_states()

    def _see_new_states(self) -> None:
        """Add the pairs of new states, and of capabilities that were found on the way."""
        graph, known = self._context.graph, self._capabilities
        self._capabilities = len(graph.capabilities)
        for state in self._states if known < self._capabilities else ():
            self._add(state, range(known, self._capabilities))
        new = list(itertools.islice(reversed(graph.nodes), len(graph.nodes) - len(self._states)))
        for state in reversed(new):
            self._states.append(state)
            self._add(state, range(self._capabilities))

    def _add(self, state: State, capabilities: range) -> None:
        for capability in capabilities:
            self._place[state, capability] = len(self._untried)
            self._untried.append((state, capability))

    def _remove(self, pair: tuple[State, int]) -> None:
        """Move the last untried pair to the place of one that was tried."""
        place = self._place.pop(pair, None)
        if place is None:
            return
        last = self._untried.pop()
        if last != pair:
            self._untried[place] = last
            self._place[last] = place

    def next(self, number: int, begun: BegunQuery | None = None) -> QueryChoice:
        """Draw a pair and a position of its state."""
        context = self._context
        rng = random.Random(child_seed(context.seed, number, _PAIR))
        if self._untried:
            state, capability = rng.choice(self._untried)
        else:
            state, capability = rng.choice(self._states), rng.randrange(self._capabilities)
        if begun is None:
            start = context.positions.choose(state, rng)
            record = QueryRecord(start, 0, 0.0, 0.0, bool(self._untried))
        else:
            record = begun.record
            if record.start.state != state:
                raise JournalError(
                    f"{context.journal}: query {number} was begun elsewhere than it would be now; "
                    f"{RESTORED_ELSEWHERE}"
                )
        return QueryChoice(record, [Task(record.start, SequencePolicy((capability,)))])

    def observe(self, result: QueryResult) -> None:
        """Note the pairs that were tried and the states that are new."""
        self._see_new_states()
        for pair in result.pairs:
            self._remove(pair)

    def finished(self) -> StopReason | None:
        """Never stop: the strategy has no claim to make."""
        return None

    def describe(self, choice: QueryChoice) -> dict[str, Any]:
        """Describe the pair."""
        return dict(choice.tasks[0].policy.describe())

    def status(self, record: QueryRecord) -> Mapping[str, str]:
        """Return how many pairs of seen states are untried."""
        return {"untried pairs": f"{len(self._untried):,}"}


UNIFORM_PAIR = RegisteredStrategy(
    UNIFORM, "a uniformly drawn untried pair", UniformPair, repeats_policy=False
)
