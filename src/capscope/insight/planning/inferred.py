"""The decision process of the learned model: what was tried, and what is inferred of the rest.

After a run of a few executions most pairs were never tried, so nothing tried may lead to a goal
although the model knows a way. Here an untried pair is a choice too, if the model infers what it
does with a doubt of at most `MOST_DOUBT`. Doubt counts as failure: with that probability the choice
leads nowhere. Tried pairs have the fitted rules (`fitted_mdp`).

An inferred outcome may be a state that was never seen. There, everything is inferred. A planner
looks for mistakes that serve its goal, so a choice is dropped if one of its outcomes

- is only a part of the changes seen elsewhere. An effect is an actual change: one that picks up a
  clear block and leaves it not clear cannot occur where it was not clear before;
- breaks one of the groups of atoms of which exactly one held in every state seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from capscope.insight.planning.mdp import Mdp, MdpChoice, fitted_mdp
from capscope.logic import Effect, State
from capscope.model import LearnedModel, LearnedPrediction, Provenance, StateGraph

MOST_DOUBT = 0.1
"""Of an inferred choice. Predictions with more doubt are not planned with."""
_MOST_UNSEEN = 2_000
"""States never seen from which to plan on; beyond, a plan ends."""


def believed_mdp(graph: StateGraph, model: LearnedModel, most_doubt: float = MOST_DOUBT) -> Mdp:
    """Return the decision process of everything that was observed or is inferred."""
    return _Expansion(graph, model, most_doubt).mdp()


class _Expansion:
    """Adds inferred choices, and the states they lead to, until there is nothing more to add."""

    def __init__(self, graph: StateGraph, model: LearnedModel, most_doubt: float) -> None:
        self._graph = graph
        self._model = model
        self._most_doubt = most_doubt
        self._groups = graph.exactly_one.groups
        self._tests = [intent.test(graph.vocabulary) for intent in graph.capabilities]
        tried = fitted_mdp(graph)
        self._index = {state: i for i, state in enumerate(tried.states)}
        self._choices = list(tried.choices)
        self._first_rule = 1 + max((c.rule for here in tried.choices for c in here), default=-1)
        self._rules: dict[tuple[object, ...], int] = {}

    def mdp(self) -> Mdp:
        """Expand breadth first, all states of a depth at once."""
        done = 0
        while done < len(self._index) <= len(self._graph.nodes) + _MOST_UNSEEN:
            states = list(self._index)[done:]
            self._model.anticipate(states)
            done = len(self._index)
            for state in states:
                place = self._index[state]
                self._choices[place] += tuple(self._inferred(state))
        return Mdp(tuple(self._index), tuple(self._choices))

    def _inferred(self, state: State) -> Iterator[MdpChoice]:
        node = self._graph.nodes.get(state)
        for capability, intent in enumerate(self._graph.capabilities):
            if node is not None and node.pairs[capability] is not None:
                continue
            predicted = self._model.predict(state, intent)
            if self._is_usable(state, predicted):
                yield self._choice(capability, predicted)

    def _is_usable(self, state: State, predicted: LearnedPrediction) -> bool:
        return (
            predicted.provenance is Provenance.INFERRED
            and predicted.support.draws > 0
            and any(after != state for after in predicted)
            and predicted.doubt <= self._most_doubt
            and all(
                after == state or self._is_plausible(state, after, predicted) for after in predicted
            )
        )

    def _is_plausible(self, state: State, after: State, predicted: LearnedPrediction) -> bool:
        if Effect.between(state, after) not in predicted.support.rule:
            return False
        return after in self._graph.nodes or all((g & after).bit_count() == 1 for g in self._groups)

    def _choice(self, capability: int, predicted: LearnedPrediction) -> MdpChoice:
        holds = self._tests[capability]
        draws = predicted.support.draws
        ends = {after: share * draws for after, share in predicted.items() if share > 0}
        fulfilled = sum(count for after, count in ends.items() if holds(after))
        # Choices of one type with the same odds share what is uncertain about the odds.
        counts = tuple(ends.values())
        key = (predicted.support.rule, counts)
        rule = self._first_rule + self._rules.setdefault(key, len(self._rules))
        successors = tuple(self._place(after) for after in ends)
        return MdpChoice(capability, rule, counts, successors, 0, fulfilled, predicted.doubt)

    def _place(self, state: State) -> int:
        place = self._index.setdefault(state, len(self._index))
        if place == len(self._choices):
            self._choices.append(())
        return place
