"""Whether the optimist sees a way where no way was seen.

That the pessimistic model has no plan does not mean that the agent cannot: it means that nobody saw
it. The optimistic model believes of an untried pair all that the capability was seen to do
elsewhere. If it finds a way, some capability on that way was never tried where it is needed, and
trying it would settle the matter; if it finds none, only an outcome that nobody has seen could open
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from capscope.analysis.planning.goal import Goal
from capscope.model import ExtremeModels
from capscope.symbolic import Intent, State

_MOST_STATES = 5_000


@dataclass(frozen=True)
class Hope:
    """A shortest way to a goal of which some part was never tried."""

    capabilities: tuple[Intent, ...]
    untried_in: State
    """The state in which the first untried capability of the way would have to be asked for."""
    untried: Intent


@dataclass(frozen=True)
class Outlook:
    """What the optimistic model says of a goal."""

    hope: Hope | None
    searched_all: bool
    """Whether all that the optimist believes in was looked through."""

    @classmethod
    def of(cls, models: ExtremeModels, goal: Goal, start: State) -> Outlook:
        """Search the optimistic model breadth first from a state."""
        came: dict[State, tuple[State, int] | None] = {start: None}
        queue = [start]
        for state in queue:  # it grows meanwhile
            for capability, after in _beliefs(models, state):
                if after not in came:
                    came[after] = state, capability
                    queue.append(after)
                    if goal.holds(after):
                        return cls(_hope(models, came, after), searched_all=False)
            if len(came) > _MOST_STATES:
                return cls(None, searched_all=False)
        return cls(None, searched_all=True)


def _beliefs(models: ExtremeModels, state: State) -> Iterator[tuple[int, State]]:
    for capability, intent in enumerate(models.graph.capabilities):
        for after in models.optimistic.predict(state, intent):
            yield capability, after


def _hope(
    models: ExtremeModels, came: dict[State, tuple[State, int] | None], goal: State
) -> Hope | None:
    way: list[tuple[State, int]] = []
    state = goal
    while (step := came[state]) is not None:
        way.append(step)
        state = step[0]
    way.reverse()
    graph = models.graph
    names = graph.capabilities
    for before, capability in way:
        if graph.pair(before, capability) is None:
            asked = tuple(names[c] for _, c in way)
            return Hope(asked, before, names[capability])
    return None
