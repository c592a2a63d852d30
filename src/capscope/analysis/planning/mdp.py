"""The pessimistic model as a Markov decision process over the states that were seen.

A choice is a capability that was tried in a state; its successors and their probabilities are those
of its rule. A pair that was never tried is no choice, so nothing is ever counted on that was not
seen. A capability that was only ever seen to change nothing is no choice either: it could but pass
the time.

The optimistic model would plan through its own hopes. That is the way to choose questions; a plan
is to be relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from capscope.model import StateGraph
from capscope.model.state_graph import OutcomeGroup, PairStats
from capscope.symbolic import State


@dataclass(frozen=True, slots=True)
class Choice:
    """A capability tried in a state, and where it led."""

    capability: int
    rule: int
    """Choices of one rule have the same counts, and hence the same probabilities."""
    counts: tuple[int, ...]
    """How often each outcome was seen, in all states of the rule."""
    successors: tuple[int, ...]
    """The positions of the states that the outcomes lead to here, all different."""
    draws_here: int
    """The executions in this very state."""
    fulfilled: int = 0
    """Of the counts, those of outcomes in which the intent of the capability holds."""

    @property
    def draws(self) -> int:
        """The executions behind the probabilities."""
        return sum(self.counts)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The share of each outcome."""
        total = self.draws
        return tuple(count / total for count in self.counts)

    def mean(self, values: list[float]) -> float:
        """Return what a value of states is expected to be afterwards."""
        pairs = zip(self.counts, self.successors, strict=True)
        return sum(count * values[after] for count, after in pairs) / self.draws


@dataclass(frozen=True)
class Mdp:
    """States, and the choices in each; a state without any is an end."""

    states: tuple[State, ...]
    choices: tuple[tuple[Choice, ...], ...]

    def restricted(self, keep: Callable[[int, Choice], bool], ends: Collection[int] = ()) -> Mdp:
        """Return the process with only the choices to keep, and none in the states of `ends`."""
        choices = tuple(
            () if i in ends else tuple(choice for choice in here if keep(i, choice))
            for i, here in enumerate(self.choices)
        )
        return Mdp(self.states, choices)


def observed_mdp(graph: StateGraph) -> Mdp:
    """Write down what was seen to be possible, and how often."""
    position = {state: i for i, state in enumerate(graph.nodes)}
    masks = [graph.vocabulary.literal_masks(intent.literals) for intent in graph.capabilities]
    rules: dict[OutcomeGroup, int] = {}

    def choice(capability: int, pair: PairStats) -> Choice:
        required, forbidden = masks[capability]
        group, successors = pair.group, [after.state for after in pair.successors]
        return Choice(
            capability,
            rules.setdefault(group, len(rules)),
            tuple(group.counts),
            tuple(position[state] for state in successors),
            pair.total,
            sum(
                count
                for count, state in zip(group.counts, successors, strict=True)
                if state & required == required and not state & forbidden
            ),
        )

    choices = tuple(
        tuple(
            choice(capability, pair)
            for capability, pair in enumerate(node.pairs)
            if pair is not None and pair.only is not node
        )
        for node in graph.nodes.values()
    )
    return Mdp(tuple(graph.nodes), choices)
