"""How to get to a state: the shortest sequence of requests that led there before.

Every step was seen to happen. Of the shortest sequences the most probable is taken; its probability
is the product of the relative frequencies of its outcomes, so it is an estimate, not a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from capscope.logic import Effect, Intent, State
from capscope.model import StateGraph
from capscope.model.state_graph import StateNode


@dataclass(frozen=True, slots=True)
class WayStep:
    """A request on the way, with the outcome that is wanted of it."""

    state: State
    intent: Intent
    after: State
    count: int
    """How often the request led from the state to the next one."""
    draws: int
    """How often it was made in the state."""

    @property
    def probability(self) -> float:
        """How often the request had this outcome."""
        return self.count / self.draws

    def as_dict(self) -> dict[str, Any]:
        """Return the step as JSON-ready values, its states written as in `model.json`."""
        return {
            "state": hex(self.state),
            "intent": str(self.intent),
            "after": hex(self.after),
            "count": self.count,
            "draws": self.draws,
        }


Way = tuple[WayStep, ...]
"""Empty for a state in which runs begin."""


class KnownWays:
    """The shortest known way to every state that was reached from the beginnings of a run."""

    def __init__(self, graph: StateGraph, beginnings: Iterable[State]) -> None:
        self._last: dict[State, WayStep | None] = {}
        chance = {state: 1.0 for state in beginnings if state in graph.nodes}
        self._last.update(dict.fromkeys(chance))
        while chance:
            best: dict[State, float] = {}
            for state, before in chance.items():
                for step in _steps(graph, graph.nodes[state]):
                    now = before * step.probability
                    found = step.after not in self._last or step.after in best
                    if found and now > best.get(step.after, 0.0):
                        best[step.after] = now
                        self._last[step.after] = step
            chance = best

    def to(self, state: State) -> Way | None:
        """Return the way to a state; None if none is known."""
        if state not in self._last:
            return None
        way: list[WayStep] = []
        while (step := self._last[state]) is not None:
            way.append(step)
            state = step.state
        return tuple(reversed(way))

    def nearest(self, wanted: Callable[[State], bool]) -> Way | None:
        """Return the way to the nearest state that is wanted; None if none is known."""
        # States were reached in the order of their distance.
        found = next(filter(wanted, self._last), None)
        return None if found is None else self.to(found)

    def length(self, state: State) -> int | None:
        """Return the number of requests on the way to a state; None if none is known."""
        way = self.to(state)
        return None if way is None else len(way)


def _steps(graph: StateGraph, node: StateNode) -> Iterator[WayStep]:
    for capability, pair in enumerate(node.pairs):
        if pair is None or pair.only is node:
            continue
        intent = graph.capabilities[capability]
        for after in pair.successors:
            if after is not node:
                count = pair.counts[Effect.between(node.state, after.state)]
                yield WayStep(node.state, intent, after.state, count, pair.total)
