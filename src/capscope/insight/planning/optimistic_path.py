"""Search the optimistic model for a path to a goal that was never reached.

The optimistic model assumes that an untried pair does whatever the capability did elsewhere. If it
has a path, trying the first untried capability on it would settle the question. If it has none,
only an outcome that was never seen could lead to the goal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from capscope.insight.planning.goal import Goal
from capscope.logic import Intent, State
from capscope.model import ExtremeModels, StateGraph
from capscope.model.transitions import breadth_first

_MOST_STATES = 5_000


@dataclass(frozen=True)
class OptimisticPath:
    """A shortest path to a goal with at least one untried step."""

    capabilities: tuple[Intent, ...]
    untried_in: State
    """The state in which the first untried capability would be asked for."""
    untried: Intent


@dataclass(frozen=True)
class OptimisticSearch:
    """The result of a search in the optimistic model."""

    path: OptimisticPath | None
    searched_all: bool
    """Whether all states of the optimistic model were searched."""

    @classmethod
    def of(cls, models: ExtremeModels, goal: Goal, start: State) -> OptimisticSearch:
        """Search the optimistic model breadth first from a state."""
        graph = models.graph

        def steps(state: State) -> Iterator[tuple[int, State]]:
            for capability, intent in enumerate(graph.capabilities):
                for after in models.optimistic.predict(state, intent):
                    yield capability, after

        parents: dict[State, tuple[State, int] | None] = {}
        for state, parent in breadth_first(start, steps):
            parents[state] = parent
            if parent is not None and goal.holds(state):
                return cls(_path(graph, parents, state), searched_all=False)
            if len(parents) > _MOST_STATES:
                return cls(None, searched_all=False)
        return cls(None, searched_all=True)


def _path(
    graph: StateGraph, parents: dict[State, tuple[State, int] | None], end: State
) -> OptimisticPath | None:
    steps: list[tuple[State, int]] = []
    while (step := parents[end]) is not None:
        steps.append(step)
        end = step[0]
    steps.reverse()
    intents = graph.capabilities
    for before, capability in steps:
        if graph.pair(before, capability) is None:
            asked = tuple(intents[c] for _, c in steps)
            return OptimisticPath(asked, before, intents[capability])
    return None
