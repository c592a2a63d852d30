"""What happens when a policy is followed from a state: the Markov chain that it induces.

The policy was chosen by what a solver said of all policies. Here this one is followed by itself,
which both checks that it attains what was promised and says more: how often each state is visited,
where it ends, and how sure all that is.

**How sure.** The probabilities of a rule are frequencies, and those of five draws are worth less
than those of five hundred. So each rule's probabilities are drawn from what its counts leave open:
a Dirichlet distribution with half a count added to each outcome, which is Jeffreys' prior, as in
the intervals of rules. There may be an outcome that was never seen: three draws that were alike do
not make it certain. It gets half a count where one outcome was seen, and half as much where two
were, and so on: the more was seen, the less is hidden. Nobody knows where it leads, so it counts as
failure. States of one rule share a draw, since they share its counts. The chain is solved for
each draw; the spread of the results is the spread of the plan's success. It rests on the model's
own assumption that all states of a rule behave alike, and it knows nothing of the choice: where
many equally good choices were compared, the best looking one owes some of its looks to luck.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capscope.analysis.planning.mdp import Choice
from capscope.analysis.planning.policy import Policy

Values = NDArray[np.float64]

_HALF = 0.5
_MOST_NUMBERS = 4_000_000
"""In the matrices that are solved at one time."""
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class Chain:
    """The states that a policy may come to from a start, and the ways between them."""

    nodes: tuple[int, ...]
    """Positions of the states in which something is asked for, the start first."""
    ends: tuple[int, ...]
    """Positions of the states in which the policy ends."""
    choices: tuple[Choice, ...]
    """What is asked for in each node."""
    reached: NDArray[np.bool_]
    """Of each end, whether it is the goal."""
    sources: NDArray[np.intp]
    """Of each edge, the node that it leaves; edges are ordered by node and outcome."""
    targets: NDArray[np.intp]
    """Of each edge, where it leads: a node, or behind all nodes an end."""

    @classmethod
    def of(cls, policy: Policy, start: int) -> Chain:
        """Follow a policy from the position of a state to wherever it may lead."""
        met = {start: None}
        queue = [start]
        for i in queue:  # it grows meanwhile
            choice = policy.choices.get(i)
            fresh = [after for after in (choice.successors if choice else ()) if after not in met]
            met.update(dict.fromkeys(fresh))
            queue += fresh
        nodes = tuple(i for i in met if i in policy.choices)
        ends = tuple(i for i in met if i not in policy.choices)
        number = {i: k for k, i in enumerate((*nodes, *ends))}
        choices = tuple(policy.choices[i] for i in nodes)
        edges = [(k, number[after]) for k, c in enumerate(choices) for after in c.successors]
        sources, targets = np.array(edges, dtype=np.intp).reshape(-1, 2).T
        reached = np.array([i in policy.goals for i in ends], dtype=bool)
        return cls(nodes, ends, choices, reached, sources, targets)

    def frequencies(self) -> Values:
        """Return the probability of each edge as it was seen: one row."""
        return np.array([[p for choice in self.choices for p in choice.probabilities]])

    def drawn(self, samples: int, seed: int) -> Values:
        """Draw the probabilities of all edges from what the counts leave open: a row a sample.

        What was never seen has no edge, so the probabilities of a choice are less than one.
        """
        rng = np.random.default_rng(seed)
        rules: dict[int, Values] = {}
        for choice in self.choices:
            if choice.rule not in rules:
                unseen = _HALF / len(choice.counts)
                weights = [*(count + _HALF for count in choice.counts), unseen]
                rules[choice.rule] = rng.dirichlet(weights, samples)[:, :-1]
        return np.hstack([rules[choice.rule] for choice in self.choices])

    def visits(self, probabilities: Values) -> Values:
        """Return how often each node is visited on average: a row for each row of the edges."""
        size = len(self.nodes)
        start = np.zeros((size, 1))
        start[0] = 1.0
        solved = [
            np.linalg.solve(np.eye(size) - steps.transpose(0, 2, 1), start)[:, :, 0]
            for steps in self._matrices(probabilities)
        ]
        return np.vstack(solved)

    def arrivals(self, probabilities: Values) -> Values:
        """Return how probable each end is: a row for each row of the edges."""
        return self._leaving(self.visits(probabilities), probabilities)

    def success(self, probabilities: Values, within: int | None = None) -> Values:
        """Return the probability of the goal, for each row of the edges.

        `within` so many executions, or at any time.
        """
        arrivals = (
            self.arrivals(probabilities)
            if within is None
            else np.vstack([*self._arrivals_within(probabilities, within)])
        )
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
        """Sum what goes from the nodes to the ends."""
        flow = visits[:, self.sources] * probabilities
        arrivals = np.zeros((len(visits), len(self.ends)))
        for edge, target in enumerate(self.targets):
            if target >= len(self.nodes):
                arrivals[:, target - len(self.nodes)] += flow[:, edge]
        return arrivals

    def _matrices(self, probabilities: Values) -> Iterator[Values]:
        """Yield the steps from node to node as matrices, some rows of the edges at a time."""
        size = len(self.nodes)
        inside = self.targets < size
        rows, columns = self.sources[inside], self.targets[inside]
        at_a_time = max(1, _MOST_NUMBERS // size**2)
        for first in range(0, len(probabilities), at_a_time):
            part = probabilities[first : first + at_a_time]
            steps = np.zeros((len(part), size, size))
            steps[:, rows, columns] = part[:, inside]
            yield steps
