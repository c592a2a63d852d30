"""The Markov chain that a policy induces from a start state.

The solver returns values of the best policy. Here the chosen policy itself is evaluated: whether it
attains the solved value, how often it visits each state, where it ends, and how uncertain its
success is.

**Uncertainty.** Each rule's probabilities are sampled from a Dirichlet posterior with half a count
added to each outcome (Jeffreys' prior). All unseen outcomes together get half a count divided by
the number of outcomes seen, and count as failure. States of one rule share a sample. The chain is
solved for each sample, and the spread of the results is the uncertainty of the plan's success. It
relies on the assumption that all states of a rule behave the same, and ignores selection: the best
of many equally good choices partly looks best by luck.

An inferred choice is wrong with the probability of its doubt, and then counts as failure in all of
its visits: each sample decides for each such choice whether it is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capscope.insight.planning.mdp import GoalPolicy, MdpChoice

Values = NDArray[np.float64]

_HALF = 0.5
_MOST_NUMBERS = 4_000_000
"""In the matrices that are solved at a time."""
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class MarkovChain:
    """The states that a policy may reach from a start, and the edges between them."""

    nodes: tuple[int, ...]
    """Indices of the states in which something is asked for, the start first."""
    ends: tuple[int, ...]
    """Indices of the states in which the policy ends."""
    choices: tuple[MdpChoice, ...]
    """What is asked for in each node."""
    reached: NDArray[np.bool_]
    """For each end, whether the goal holds there."""
    sources: NDArray[np.intp]
    """The node that each edge leaves; edges are ordered by node and outcome."""
    targets: NDArray[np.intp]
    """Where each edge leads: the number of a node, or of an end, numbered after the nodes."""

    @classmethod
    def of(cls, policy: GoalPolicy, start: int) -> MarkovChain:
        """Follow a policy from a state, given by index, to wherever it may lead."""
        found = {start: None}
        queue = [start]
        for i in queue:  # the queue grows during the loop
            choice = policy.choices.get(i)
            new = [after for after in (choice.successors if choice else ()) if after not in found]
            found.update(dict.fromkeys(new))
            queue += new
        nodes = tuple(i for i in found if i in policy.choices)
        ends = tuple(i for i in found if i not in policy.choices)
        number = {i: k for k, i in enumerate((*nodes, *ends))}
        choices = tuple(policy.choices[i] for i in nodes)
        edges = [(k, number[after]) for k, c in enumerate(choices) for after in c.successors]
        sources, targets = np.array(edges, dtype=np.intp).reshape(-1, 2).T
        reached = np.array([i in policy.goals for i in ends], dtype=bool)
        return cls(nodes, ends, choices, reached, sources, targets)

    def frequencies(self) -> Values:
        """Return the probability of each edge, as one row: its observed frequency if tried."""
        return np.array([[p for choice in self.choices for p in choice.probabilities]])

    def frequencies_if_right(self) -> Values:
        """Return the same if all that is inferred is right."""
        rows = [[c / choice.draws for c in choice.counts] for choice in self.choices]
        return np.array([[p for row in rows for p in row]])

    def sampled(self, samples: int, seed: int) -> Values:
        """Sample the probabilities of all edges from their posterior, one row per sample.

        Unseen outcomes have no edge, so the probabilities of a choice sum to less than one; those
        of an inferred choice that is wrong are zero.
        """
        rng = np.random.default_rng(seed)
        rules: dict[int, Values] = {}
        for choice in self.choices:
            if choice.rule not in rules:
                unseen = _HALF / len(choice.counts)
                weights = [*(count + _HALF for count in choice.counts), unseen]
                rules[choice.rule] = rng.dirichlet(weights, samples)[:, :-1]
        edges = [rules[choice.rule] for choice in self.choices]
        for number, choice in enumerate(self.choices):
            if choice.doubt:
                right = rng.random((samples, 1)) >= choice.doubt
                edges[number] = edges[number] * right
        return np.hstack(edges)

    def visits(self, probabilities: Values) -> Values:
        """Return the expected visits of each node, for each row of edge probabilities."""
        identity = np.eye(len(self.nodes))
        solved = [
            np.linalg.solve(identity - steps.transpose(0, 2, 1), identity[:, :1])[:, :, 0]
            for steps in self._matrices(probabilities)
        ]
        return np.vstack(solved)

    def arrivals(self, probabilities: Values) -> Values:
        """Return the probability of each end, for each row of edge probabilities."""
        return self._leaving(self.visits(probabilities), probabilities)

    def success(self, probabilities: Values, within: int | None = None) -> Values:
        """Return the probability of the goal, perhaps `within` some executions, for each row."""
        if within is None:
            arrivals = self.arrivals(probabilities)
        else:
            arrivals = np.vstack([*self._arrivals_within(probabilities, within)])
        return np.asarray(arrivals[:, self.reached].sum(axis=1), dtype=np.float64)

    def _arrivals_within(self, probabilities: Values, within: int) -> Iterator[Values]:
        first = 0
        for steps in self._matrices(probabilities):
            edges = probabilities[first : first + len(steps)]
            first += len(steps)
            mass = np.zeros((len(steps), 1, len(self.nodes)))
            mass[:, :, 0] = 1.0
            visits = np.zeros_like(mass)
            for _ in range(within):
                visits += mass
                mass = mass @ steps
                if mass.sum(axis=2).max() < _NEGLIGIBLE:
                    break
            yield self._leaving(visits[:, 0], edges)

    def _leaving(self, visits: Values, probabilities: Values) -> Values:
        flow = visits[:, self.sources] * probabilities
        arrivals = np.zeros((len(visits), len(self.ends)))
        for edge, target in enumerate(self.targets):
            if target >= len(self.nodes):
                arrivals[:, target - len(self.nodes)] += flow[:, edge]
        return arrivals

    def _matrices(self, probabilities: Values) -> Iterator[Values]:
        """Yield transition matrices between nodes for batches of rows."""
        size = len(self.nodes)
        inside = self.targets < size
        rows, columns = self.sources[inside], self.targets[inside]
        at_a_time = max(1, _MOST_NUMBERS // size**2)
        for first in range(0, len(probabilities), at_a_time):
            part = probabilities[first : first + at_a_time]
            steps = np.zeros((len(part), size, size))
            steps[:, rows, columns] = part[:, inside]
            yield steps
