"""The Markov chain that a policy induces from a start state.

The solver returns values of the best policy. Here the chosen policy itself is evaluated: whether it
attains the solved value, how often it visits each state, where it ends, and how uncertain its
success is.

**Uncertainty.** The probabilities of each choice are sampled from a Dirichlet posterior with half a
count added to each outcome (Jeffreys' prior), where the counts are worth as many executions as the
model's evidence for the pair (`Support.worth`). All unseen outcomes together get half a count
divided by the number of outcomes seen, and count as failure. What is uncertain about a pair is
mostly what is uncertain about its outcome type, so all choices of a type are high or low together:
their samples are in the same order. The chain is solved for each sample, and the spread of the
results is the uncertainty of the plan's success. That the best of many equally good choices partly
looks best by luck is left to those who choose (`Plan.judged`).

An inferred choice is wrong with the probability of its doubt, and then counts as failure in all of
its visits: each sample decides for each such choice whether it is wrong.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from capscope.insight.planning.mdp import GoalPolicy, MdpChoice
from capscope.model.transitions import AbsorbingChain, breadth_first
from capscope.stats.arrays import Floats, Integers, Mask

_HALF = 0.5


@dataclass(frozen=True)
class MarkovChain:
    """The states that a policy may reach from a start, and the edges between them."""

    nodes: tuple[int, ...]
    """Indices of the states in which something is asked for, the start first."""
    ends: tuple[int, ...]
    """Indices of the states in which the policy ends."""
    choices: tuple[MdpChoice, ...]
    """What is asked for in each node."""
    reached: Mask
    """For each end, whether the goal holds there."""
    edges: AbsorbingChain
    """Ordered by node and outcome."""

    @classmethod
    def of(cls, policy: GoalPolicy, start: int) -> MarkovChain:
        """Follow a policy from a state, given by index, to wherever it may lead."""

        def steps(i: int) -> Iterator[tuple[None, int]]:
            choice = policy.choices.get(i)
            for after in choice.successors if choice else ():
                yield None, after

        found = [i for i, _ in breadth_first(start, steps)]
        nodes = tuple(i for i in found if i in policy.choices)
        ends = tuple(i for i in found if i not in policy.choices)
        number = {i: k for k, i in enumerate((*nodes, *ends))}
        choices = tuple(policy.choices[i] for i in nodes)
        edges = [(k, number[after]) for k, c in enumerate(choices) for after in c.successors]
        sources, targets = np.array(edges, dtype=np.int64).reshape(-1, 2).T
        reached = np.array([i in policy.goals for i in ends], dtype=bool)
        chain = AbsorbingChain(len(nodes), len(ends), sources, targets)
        return cls(nodes, ends, choices, reached, chain)

    def asks_like(self, other: MarkovChain) -> bool:
        """Return whether another policy asks for the same in all states that this one reaches."""
        theirs = {i: one.capability for i, one in zip(other.nodes, other.choices, strict=True)}
        own = zip(self.nodes, self.choices, strict=True)
        return all(theirs.get(i) == choice.capability for i, choice in own)

    def frequencies(self) -> Floats:
        """Return the probability of each edge, as one row: its observed frequency if tried."""
        return np.array([[p for choice in self.choices for p in choice.probabilities]])

    def frequencies_if_right(self) -> Floats:
        """Return the same if all that is inferred is right."""
        rows = [[c / choice.draws for c in choice.counts] for choice in self.choices]
        return np.array([[p for row in rows for p in row]])

    def sampled(self, samples: int, seed: int) -> Floats:
        """Sample the probabilities of all edges from their posterior, one row per sample.

        Unseen outcomes have no edge, so the probabilities of a choice sum to less than one; those
        of an inferred choice that is wrong are zero.
        """
        rng = np.random.default_rng(seed)
        orders: dict[Hashable, Integers] = {}
        drawn: dict[Hashable, Floats] = {}
        for choice in self.choices:
            key = choice.rule, choice.counts
            if key not in drawn:
                weights = [*(n + _HALF for n in choice.counts), _HALF / len(choice.counts)]
                rows = rng.dirichlet(weights, samples)[:, :-1]
                order = orders.setdefault(choice.rule, np.argsort(rows[:, 0], kind="stable"))
                drawn[key] = np.empty_like(rows)
                drawn[key][order] = rows[np.argsort(rows[:, 0], kind="stable")]
        edges = [drawn[choice.rule, choice.counts] for choice in self.choices]
        for number, choice in enumerate(self.choices):
            if choice.doubt:
                right = rng.random((samples, 1)) >= choice.doubt
                edges[number] = edges[number] * right
        return np.hstack(edges)

    def success(self, probabilities: Floats, within: int | None = None) -> Floats:
        """Return the probability of the goal, perhaps `within` some executions, for each row."""
        arrivals = self.edges.arrivals(probabilities, within)
        return np.asarray(arrivals[:, self.reached].sum(axis=1), dtype=np.float64)
