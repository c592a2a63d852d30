"""How probable it is that an intent holds eventually if it is requested until it does.

If an execution ends with the first change, the success of one execution says little: a planner that
always gets there takes most of its steps without achieving anything yet. Following the observed
frequencies of a capability from state to state gives the probability that its intent holds in the
end. A state in which it was never tried counts as failure, unless the model infers what happens
there; so the probability is never too high because of what is unknown.

Only the pairs that were tried are variables. An array over all states and capabilities would have
millions of entries in a large world, nearly all of them zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from capscope.model import StateGraph
from capscope.statistics.arrays import Floats
from capscope.symbolic import Intent, State

ALMOST_CERTAIN = 0.99
_ROUNDS = 1_000
_SMALLEST_GAIN = 1e-6
_MOST_INFERRED = 50_000


Predict = Callable[[State, Intent], Mapping[State, float]]
"""What the model infers about an untried pair; empty if nothing."""


def eventual_success(
    graph: StateGraph, predict: Predict | None = None, most: int = _MOST_INFERRED
) -> list[dict[State, float]]:
    """Return for each capability the probability for each state in which it was tried.

    States in which the intent held already are missing. With `predict`, untried pairs on the way
    have the outcomes that the model infers, for at most so many pairs; the result then rests on
    inference.
    """
    left = most
    found = []
    for capability, intent in enumerate(graph.capabilities):
        way = _Onward(graph, capability, intent, predict if left > 0 else None)
        way.follow(left)
        left -= way.predicted
        found.append(way.probabilities())
    return found


class _Onward:
    """Where one capability leads from each state that repeated requests can reach."""

    def __init__(
        self, graph: StateGraph, capability: int, intent: Intent, predict: Predict | None
    ) -> None:
        self._graph, self._capability, self._intent = graph, capability, intent
        self._predict = predict
        self._holds = intent.test(graph.vocabulary)
        self._tried = [
            state
            for state, node in graph.nodes.items()
            if node.pairs[capability] is not None and not self._holds(state)
        ]
        self._position = {state: i for i, state in enumerate(self._tried)}
        self._at_once: list[float] = []
        self._edges: list[tuple[int, int, float]] = []
        self.predicted = 0

    def follow(self, most: int) -> None:
        """Follow the outcomes of each state; `most` untried pairs are inferred."""
        queue = list(self._tried)
        for i, state in enumerate(queue):
            achieved = 0.0
            for after, share in self._outcomes(state):
                if self._holds(after):
                    achieved += share
                    continue
                target = self._position.get(after)
                if target is None and self._may_infer(after) and self.predicted < most:
                    self.predicted += 1
                    target = self._position[after] = len(queue)
                    queue.append(after)
                if target is not None:
                    self._edges.append((i, target, share))
            self._at_once.append(achieved)

    def _may_infer(self, state: State) -> bool:
        return self._predict is not None and state in self._graph.nodes

    def _outcomes(self, state: State) -> Iterator[tuple[State, float]]:
        pair = self._graph.pair(state, self._capability)
        if pair is not None:
            for effect, count in pair.counts.items():
                yield effect.apply(state), count / pair.total
        elif self._predict is not None:
            yield from self._predict(state, self._intent).items()

    def probabilities(self) -> dict[State, float]:
        """Return the probability for each state tried."""
        found = _absorption(self._edges, np.array(self._at_once))
        return dict(zip(self._tried, found.tolist(), strict=False))


def _absorption(edges: list[tuple[int, int, float]], at_once: Floats) -> Floats:
    """Return for each node the probability of succeeding at once or after following edges."""
    source, target = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2).T
    share = np.array([edge[2] for edge in edges])
    probabilities = at_once
    for _ in range(_ROUNDS):
        # From below: each round allows one more execution.
        onward = np.bincount(source, weights=share * probabilities[target], minlength=len(at_once))
        before, probabilities = probabilities, np.minimum(onward + at_once, 1.0)
        if np.abs(probabilities - before).max(initial=0.0) < _SMALLEST_GAIN:
            break
    return probabilities


def mean_eventual(graph: StateGraph, probabilities: Mapping[State, float]) -> float | None:
    """Return the mean, without sinks unless there are no other states; None if there are none.

    In a sink the world has ended, which says nothing about the agent.
    """
    alive = [p for state, p in probabilities.items() if not graph.nodes[state].sink]
    counted = alive or list(probabilities.values())
    return sum(counted) / len(counted) if counted else None
