"""The pessimistic model as a Markov decision process over the states that were seen.

A choice is a capability that was tried in a state, with the successors and probabilities of its
rule. An untried pair is not a choice, so a plan never relies on anything unseen. Neither is a
capability that never changed the state: it would only waste executions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from capscope.model import StateGraph
from capscope.model.state_graph import OutcomeGroup, PairStats, StateNode
from capscope.symbolic import State


@dataclass(frozen=True, slots=True)
class MdpChoice:
    """A capability tried in a state, and where it led; states are given by index."""

    capability: int
    rule: int
    """Choices of one rule have the same counts, and hence the same probabilities."""
    counts: tuple[int, ...]
    """How often each outcome occurred, in all states of the rule."""
    successors: tuple[int, ...]
    """The distinct states that the outcomes lead to."""
    draws_here: int
    """The executions in this state."""
    fulfilled: int = 0
    """The part of the counts in which the intent of the capability holds afterwards."""

    @property
    def draws(self) -> int:
        """The executions behind the probabilities."""
        return sum(self.counts)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The relative frequency of each outcome."""
        total = self.draws
        return tuple(count / total for count in self.counts)

    def mean(self, values: list[float]) -> float:
        """Return the expected value of the successor."""
        pairs = zip(self.counts, self.successors, strict=True)
        return sum(count * values[after] for count, after in pairs) / self.draws


@dataclass(frozen=True)
class Mdp:
    """States and the choices in each; a state without choices is terminal."""

    states: tuple[State, ...]
    choices: tuple[tuple[MdpChoice, ...], ...]

    def restricted(self, keep: Callable[[int, MdpChoice], bool], ends: Collection[int] = ()) -> Mdp:
        """Return the process with only the choices to keep, and none in the states of `ends`."""
        choices = tuple(
            () if i in ends else tuple(choice for choice in here if keep(i, choice))
            for i, here in enumerate(self.choices)
        )
        return Mdp(self.states, choices)


def observed_mdp(graph: StateGraph) -> Mdp:
    """Return the decision process of everything that was observed."""
    index = {state: i for i, state in enumerate(graph.nodes)}
    masks = [graph.vocabulary.literal_masks(intent.literals) for intent in graph.capabilities]
    rules: dict[OutcomeGroup, int] = {}

    def choice(capability: int, pair: PairStats) -> MdpChoice:
        required, forbidden = masks[capability]
        counts, states = tuple(pair.group.counts), [after.state for after in pair.successors]
        fulfilled = sum(
            count
            for count, state in zip(counts, states, strict=True)
            if state & required == required and not state & forbidden
        )
        rule = rules.setdefault(pair.group, len(rules))
        successors = tuple(index[state] for state in states)
        return MdpChoice(capability, rule, counts, successors, pair.total, fulfilled)

    def choices(node: StateNode) -> tuple[MdpChoice, ...]:
        tried = ((c, pair) for c, pair in enumerate(node.pairs) if pair is not None)
        return tuple(choice(c, pair) for c, pair in tried if pair.only is not node)

    return Mdp(tuple(graph.nodes), tuple(map(choices, graph.nodes.values())))
