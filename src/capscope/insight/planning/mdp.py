"""What was tried, as a Markov decision process over states.

A choice is a capability that was tried in a state, with the outcomes and frequencies of its fitted
rule. An untried pair is not a choice. Neither is a capability that never changed the state when it
was tried there: it may only waste executions.

The naive way takes the rules of the pessimistic model: all states that showed the same effects.
There, an outcome of 10 % is certain in a state in which it was drawn once and nothing else, and a
planner that wants it looks for just these states. In the fitted rules it is as rare as in similar
states. So a choice may have an outcome that its own state has not shown yet, and lead to a state
that was never seen. Nothing was tried there, so it has no choices: it is a goal or a dead end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from capscope.logic import State
from capscope.model import StateGraph
from capscope.model.rules import Rule


@dataclass(frozen=True, slots=True)
class MdpChoice:
    """A capability in a state, and where it leads; states are given by index."""

    capability: int
    rule: int
    """Choices of one rule have the same counts, and hence the same probabilities."""
    counts: tuple[float, ...]
    """How often each outcome occurred, in all states of the rule; of an inferred choice, the
    executions behind its odds, divided in these proportions."""
    successors: tuple[int, ...]
    """The distinct states that the outcomes lead to."""
    draws_here: int
    """The executions in this state; 0 if the choice is inferred."""
    fulfilled: float = 0
    """The part of the counts in which the intent of the capability holds afterwards."""
    doubt: float = 0.0
    """The probability that an inferred choice does something else."""

    @property
    def draws(self) -> float:
        """The executions behind the probabilities."""
        return sum(self.counts)

    @property
    def tried(self) -> bool:
        """Whether the capability was ever executed in this state."""
        return self.draws_here > 0

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The probability of each outcome; they sum to one minus the doubt."""
        total = self.draws
        return tuple((1.0 - self.doubt) * (count / total) for count in self.counts)

    def mean(self, values: list[float]) -> float:
        """Return the expected value of the successor; it is 0 if the inference is wrong."""
        pairs = zip(self.counts, self.successors, strict=True)
        total = sum(count * values[after] for count, after in pairs) / self.draws
        return (1.0 - self.doubt) * total


@dataclass(frozen=True)
class Mdp:
    """States and the choices in each; a state without choices is terminal."""

    states: tuple[State, ...]
    choices: tuple[tuple[MdpChoice, ...], ...]

    @property
    def doubtful(self) -> bool:
        """Whether some choice is inferred."""
        return any(choice.doubt for here in self.choices for choice in here)

    def restricted(self, keep: Callable[[int, MdpChoice], bool], ends: Collection[int] = ()) -> Mdp:
        """Return the process with only the choices to keep, and none in the states of `ends`."""
        choices = tuple(
            () if i in ends else tuple(choice for choice in here if keep(i, choice))
            for i, here in enumerate(self.choices)
        )
        return Mdp(self.states, choices)


def fitted_mdp(graph: StateGraph) -> Mdp:
    """Return the process of everything that was tried; states never seen come last."""
    index = {state: i for i, state in enumerate(graph.nodes)}
    choices: dict[State, list[MdpChoice]] = {state: [] for state in graph.nodes}
    numbers: dict[tuple[object, ...], int] = {}
    for capability, intent in enumerate(graph.capabilities):
        for place, rule in enumerate(graph.rules(intent)):
            for state, choice in _choices_of(rule, capability, graph, index):
                # Two effects may lead to one state here and to two elsewhere.
                key = (capability, place, choice.counts)
                number = numbers.setdefault(key, len(numbers))
                choices[state].append(replace(choice, rule=number))
    states = tuple(index)
    return Mdp(states, tuple(tuple(choices.get(state, ())) for state in states))


def _choices_of(
    rule: Rule, capability: int, graph: StateGraph, index: dict[State, int]
) -> Iterator[tuple[State, MdpChoice]]:
    """Yield the choices in the states of a rule; states that are new get the next index."""
    holds = graph.capabilities[capability].test(graph.vocabulary)
    for state in rule.states:
        pair = graph.pair(state, capability)
        assert pair is not None, "the states of a rule were tried"
        if pair.only is graph.nodes[state]:
            continue
        ends: dict[State, int] = {}
        for outcome in rule.outcomes:
            after = outcome.effect.apply(state)
            ends[after] = ends.get(after, 0) + outcome.count
        fulfilled = sum(count for after, count in ends.items() if holds(after))
        successors = tuple(index.setdefault(after, len(index)) for after in ends)
        counts = tuple(ends.values())
        yield state, MdpChoice(capability, 0, counts, successors, pair.total, fulfilled)
