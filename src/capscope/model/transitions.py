"""The graph of transitions: what can be reached, how far it is, and how often states are met.

States are numbered and edges are arrays. `SeenTransitions` are those of the executions,
`predicted_transitions` those of the learned model. `KnownPaths` has the requests that lead to each
state. An `AbsorbingChain` follows a policy to its ends. Shortest paths in expected executions, over
states that were only imagined, are in `pursuit`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from capscope.logic import STATE, Effect, Intent, State
from capscope.model.outcome_types import OutcomeTypes
from capscope.model.state_graph import StateGraph, StateMatrix, StateNode
from capscope.stats.arrays import Floats, Integers, Mask

FAR = 1 << 30
"""The distance of a state from which no path is known."""
_CONVERGED = 1e-12
_MOST_NUMBERS = 4_000_000  # in the matrices that are solved at a time
_NEGLIGIBLE = 1e-9

Node = TypeVar("Node", bound=Hashable)
Label = TypeVar("Label")


def breadth_first(
    start: Node, steps: Callable[[Node], Iterable[tuple[Label, Node]]]
) -> Iterator[tuple[Node, tuple[Node, Label] | None]]:
    """Yield the nodes that can be reached, nearest first.

    Args:
        start: The first node.
        steps: Returns the steps from a node: a label, and the node that it leads to.

    Returns:
        Each node with the step by which it was reached first; None for the start.
    """
    found, queue = {start}, [start]
    yield start, None
    for node in queue:  # the queue grows during the loop
        for label, after in steps(node):
            if after not in found:
                found.add(after)
                queue.append(after)
                yield after, (node, label)


def spans(begins: Integers, ends: Integers) -> tuple[Integers, Integers]:
    """List the numbers of some ranges one after another, and for each which range it is from."""
    times = ends - begins
    place = np.repeat(np.arange(len(begins)), times)
    within = np.arange(len(place)) - np.repeat(np.cumsum(times) - times, times)
    return begins[place] + within, place


class Transitions:
    """Edges between numbered states; a request in a state follows each with a probability."""

    def __init__(
        self,
        size: int,
        begins: Sequence[int] | Integers,
        ends: Sequence[int] | Integers,
        shares: Sequence[float] | Floats,
    ) -> None:
        self.size = size
        self._begins: Integers = np.array(begins, dtype=np.int64)
        self._ends: Integers = np.array(ends, dtype=np.int64)
        self._shares: Floats = np.array(shares, dtype=np.float64)

    @cached_property
    def _incoming(self) -> tuple[Integers, Integers]:
        """The states that edges come from, by where they lead, and the first of each state."""
        order = np.argsort(self._ends, kind="stable")
        return self._begins[order], np.searchsorted(self._ends[order], np.arange(self.size + 1))

    def distances(self, goal: Mask) -> Integers:
        """Return how many edges lead from each state to a goal state; `FAR` if none do."""
        sources, first = self._incoming
        distance = np.where(goal, 0, FAR).astype(np.int64)
        frontier, steps = np.flatnonzero(goal), 0
        while len(frontier):
            steps += 1
            found = np.unique(sources[spans(first[frontier], first[frontier + 1])[0]])
            frontier = found[distance[found] == FAR]
            distance[frontier] = steps
        return distance

    def reaching(self, goal: Mask) -> Mask:
        """Return from which states a goal state can be reached."""
        reached: Mask = self.distances(goal) < FAR
        return reached

    def step(self, now: Floats) -> Floats:
        """Return the distribution after one more request; what has no edge is lost."""
        shares = now[self._begins] * self._shares
        return np.bincount(self._ends, shares, self.size).astype(np.float64)

    def visits(self, start: Floats, steps: int, discount: float = 1.0) -> Floats:
        """Return the expected visits of each state, the start included.

        Args:
            start: The distribution over states at the beginning.
            steps: The number of requests.
            discount: By which each further visit counts less.
        """
        now, total = start, start.copy()
        for _ in range(steps):
            now = discount * self.step(now)
            total += now
        return total


class SeenTransitions(Transitions):
    """Every outcome that was seen; a request never made in a state leads nowhere."""

    def __init__(self, nodes: Sequence[StateNode]) -> None:
        self.index = {node.state: i for i, node in enumerate(nodes)}
        """The number of each state."""
        self.incomplete: Mask = np.array([n.tried < len(n.pairs) for n in nodes], dtype=bool)
        """Whether some capability was never tried in a state."""
        begins: list[int] = []
        ends: list[int] = []
        shares: list[float] = []
        for i, node in enumerate(nodes):
            for pair in node.pairs:
                if pair is None or pair.only is node:
                    continue
                for effect, count in pair.counts.items():
                    begins.append(i)
                    ends.append(self.index[effect.apply(node.state)])
                    shares.append(count / pair.total / len(node.pairs))
        super().__init__(len(nodes), begins, ends, shares)


def predicted_transitions(
    matrix: StateMatrix, types: OutcomeTypes, rows: Integers, predicted: Integers
) -> Transitions:
    """Return where random requests lead under a model; what leaves the rows has no edge.

    Args:
        matrix: The states.
        types: The outcome types with their odds.
        rows: The rows of the states to number, in this order.
        predicted: The type of each capability (first axis) in each of these states.
    """
    pairs, times = np.unique(
        np.arange(len(rows)) * len(types) + predicted.reshape(-1, len(rows)), return_counts=True
    )
    begins, kinds = np.divmod(pairs, len(types))
    ends, odds, _ = matrix.ends(rows[begins], kinds, types.odds.__getitem__)
    place = np.full(len(matrix) + 1, -1)
    place[rows] = np.arange(len(rows))
    edge, outcome = np.nonzero(place[ends] >= 0)
    shares = odds[edge, outcome] * times[edge] / max(len(predicted), 1)
    return Transitions(len(rows), begins[edge], place[ends[edge, outcome]], shares)


class DistancesFromStart:
    """The least number of requests that lead to each state seen, kept up to date."""

    def __init__(self, graph: StateGraph, initial: Collection[State]) -> None:
        self._graph = graph
        self.of: dict[State, int] = dict.fromkeys(initial, 0)
        """For each state that was reached."""

    def observe(self, pairs: Iterable[tuple[State, int]]) -> None:
        """Take in what some pairs have shown."""
        waiting = deque(state for state, _ in pairs if state in self.of)
        while waiting:
            state = waiting.popleft()
            farther = self.of[state] + 1
            for pair in self._graph.node(state).pairs:
                for node in () if pair is None else pair.successors:
                    if self.of.get(node.state, farther + 1) > farther:
                        self.of[node.state] = farther
                        waiting.append(node.state)


@dataclass(frozen=True, slots=True)
class KnownStep:
    """A request on a path, with the outcome that is wanted of it."""

    state: State = field(metadata=STATE)
    intent: Intent
    after: State = field(metadata=STATE)
    count: int
    """How often the request led from the state to the next one."""
    draws: int
    """How often it was made in the state."""

    @property
    def probability(self) -> float:
        """How often the request had this outcome."""
        return self.count / self.draws


KnownPath = tuple[KnownStep, ...]
"""Empty for a state in which runs begin."""


class KnownPaths:
    """The shortest known path to every state that was reached from the beginnings of a run.

    Every step was seen to happen. Of the shortest paths the most probable is taken; its probability
    is the product of the relative frequencies of its outcomes: an estimate, not a bound.
    """

    def __init__(self, graph: StateGraph, beginnings: Iterable[State]) -> None:
        self._last: dict[State, KnownStep | None] = {}
        level = {state: 1.0 for state in beginnings if state in graph.nodes}
        self._last.update(dict.fromkeys(level))
        while level:
            best: dict[State, float] = {}
            for state, before in level.items():
                for step in _steps(graph, graph.nodes[state]):
                    now = before * step.probability
                    found = step.after not in self._last or step.after in best
                    if found and now > best.get(step.after, 0.0):
                        best[step.after] = now
                        self._last[step.after] = step
            level = best

    def to(self, state: State) -> KnownPath | None:
        """Return the path to a state; None if none is known."""
        if state not in self._last:
            return None
        path: list[KnownStep] = []
        while (step := self._last[state]) is not None:
            path.append(step)
            state = step.state
        return tuple(reversed(path))

    def nearest(self, wanted: Callable[[State], bool]) -> KnownPath | None:
        """Return the path to the nearest state that is wanted; None if none is known."""
        # States were reached in the order of their distance.
        found = next(filter(wanted, self._last), None)
        return None if found is None else self.to(found)

    def length(self, state: State) -> int | None:
        """Return the number of requests on the path to a state; None if none is known."""
        path = self.to(state)
        return None if path is None else len(path)


def _steps(graph: StateGraph, node: StateNode) -> Iterator[KnownStep]:
    for capability, pair in enumerate(node.pairs):
        if pair is None or pair.only is node:
            continue
        intent = graph.capabilities[capability]
        for after in pair.successors:
            if after is not node:
                count = pair.counts[Effect.between(node.state, after.state)]
                yield KnownStep(node.state, intent, after.state, count, pair.total)


@dataclass(frozen=True)
class AbsorbingChain:
    """A Markov chain from its first node to some ends, for many rows of probabilities at once."""

    nodes: int
    ends: int
    sources: Integers
    """The node that each edge leaves."""
    targets: Integers
    """Where each edge leads: the number of a node, or of an end, numbered after the nodes."""

    def visits(self, probabilities: Floats, within: int | None = None) -> Floats:
        """Return the expected visits of each node, perhaps within some steps, for each row."""
        return np.vstack([self._visits(steps, within) for steps in self._matrices(probabilities)])

    def _visits(self, steps: Floats, within: int | None) -> Floats:
        identity = np.eye(self.nodes)
        if within is None:
            solved = np.linalg.solve(identity - steps.transpose(0, 2, 1), identity[:, :1])
            return np.asarray(solved[:, :, 0], dtype=np.float64)
        mass = np.zeros((len(steps), 1, self.nodes))
        mass[:, :, 0] = 1.0
        visits = np.zeros_like(mass)
        for _ in range(within):
            visits += mass
            mass = mass @ steps
            if mass.sum(axis=2).max() < _NEGLIGIBLE:
                break
        return visits[:, 0]

    def arrivals(self, probabilities: Floats, within: int | None = None) -> Floats:
        """Return the probability of each end, perhaps within some steps, for each row."""
        flow = self.visits(probabilities, within)[:, self.sources] * probabilities
        arrivals = np.zeros((len(flow), self.ends))
        for edge, target in enumerate(self.targets):
            if target >= self.nodes:
                arrivals[:, target - self.nodes] += flow[:, edge]
        return arrivals

    def _matrices(self, probabilities: Floats) -> Iterator[Floats]:
        """Yield transition matrices between nodes for batches of rows."""
        inside = self.targets < self.nodes
        rows, columns = self.sources[inside], self.targets[inside]
        at_a_time = max(1, _MOST_NUMBERS // self.nodes**2)
        for first in range(0, len(probabilities), at_a_time):
            part = probabilities[first : first + at_a_time]
            steps = np.zeros((len(part), self.nodes, self.nodes))
            steps[:, rows, columns] = part[:, inside]
            yield steps
