"""Confirm what would be a finding: an event seen once or a few times, and when it happens.

An event (`hypotheses`) happens by chance or under a condition. Candidates for the condition are the
single literals over the variables of the request, objects by name, and atoms about other objects.
Each has a posterior weight, by the executions inside and outside it. The next question is the pair
whose answer tells most about which is true; after a few answers these are minimal pairs, states
that differ only in the literals that are left. Every other question is the pair that will most
probably show the event again, until it was seen often enough for a rate. A hypothesis is left alone
once its condition is clear, or its rate known, or so small that it hardly matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from capscope.logic import State
from capscope.model import LearnedModel
from capscope.stats.arrays import Bits, Floats, Integers
from capscope.stats.betting import log_mixture
from capscope.strategy.candidates import Candidate
from capscope.strategy.hypotheses import Hypotheses, Hypothesis, Pair

_PRIORS = (0.3, 0.4, 0.1, 0.1, 0.1)
"""Of chance, atoms about the request's objects, other terms, objects, and atoms about others."""
_OCCURRENCES = 8
"""After so many a rate is a finding,"""
_HARDLY = 0.01
"""and a smaller one does not matter."""
_CLEAR = 12.0
"""The log odds of a condition against chance at which it is clear,"""
_ONLY = 0.9
"""if its weight among all is as large."""
_CHANCE = 0.5
"""Chance is believed from this weight on, and that an event always happens"""
_ALWAYS = 20
"""after so many executions."""
_MOST_DRAWS = 400
_TEMPER = 0.5
"""The power of the posterior: questions go on until a condition is not only likely but clear."""
_MOST_CANDIDATES = 1500
_LEAST_GAIN = 0.01
_EXPLORED = 2
"""Confirming begins when so many states were tried of each capability on average."""


class Confirmation:
    """Chooses the executions that make findings of hypotheses."""

    def __init__(self, model: LearnedModel, share: float) -> None:
        self._model = model
        self._share = share
        self._hypotheses = Hypotheses(model.graph)
        self.observe, self.refresh = self._hypotheses.observe, self._hypotheses.refresh

    def is_due(self, number: int) -> bool:
        """Return whether a query may be about hypotheses."""
        graph = self._model.graph
        explored = graph.pairs_tried >= _EXPLORED * len(graph.capabilities)
        return explored and int((number + 1) * self._share) > int(number * self._share)

    def questions(
        self, number: int, most: int, states: Sequence[State], random: np.random.Generator
    ) -> list[Candidate]:
        """Choose pairs, each for another hypothesis.

        Args:
            number: The number of the query.
            most: How many at most.
            states: Where executions may start.
            random: Chooses among many states, and among pairs that are equally good.

        Returns:
            The pairs; none if there is no open hypothesis.
        """
        turn = int(number * self._share)
        found: list[Candidate] = []
        for hypothesis in self._in_turn(turn):
            if len(found) == most:
                break
            beliefs = Beliefs.of(hypothesis, self._model)
            if not beliefs.settled:
                found += self._question(beliefs, states, random, again=turn % 4 >= 2)
        return found

    def _in_turn(self, turn: int) -> Iterator[Hypothesis]:
        """Yield the hypotheses: in every other turn what is urgent and was seen least first."""
        urgent, others = self._hypotheses.by_urgency()
        if turn % 2:
            own = [*urgent, *others]
            start = turn // 2 % max(len(own), 1)
            yield from own[start:] + own[:start]
        else:
            for own in (urgent, others):
                yield from sorted(own, key=lambda one: (one.hits.total(), one.times))

    def _question(
        self,
        beliefs: Beliefs,
        states: Sequence[State],
        random: np.random.Generator,
        *,
        again: bool,
    ) -> list[Candidate]:
        hypothesis = beliefs.hypothesis
        forms = hypothesis.requests.forms
        most = max(_MOST_CANDIDATES // len(forms), 1)
        if len(states) > most:
            chosen = random.choice(len(states), most, replace=False)
            states = [states[i] for i in np.sort(chosen).tolist()]
        shown = [hypothesis.requests.pairs[place][0] for place in [*hypothesis.hits][:_OCCURRENCES]]
        pairs = [
            (state, capability)
            for capability in forms
            for state in dict.fromkeys([*states, *shown])
            if hypothesis.requests.could(hypothesis.event, state, capability)
        ]
        if not pairs:
            return []
        again = again and hypothesis.hits.total() < _OCCURRENCES
        worth = beliefs.worth(features_of(self._model, pairs), again=again)
        # Further executions in a state tell little about others.
        worth /= (1.0 + self._draws(pairs, state_only=not again)) ** (0.5 if again else 1)
        if not again and worth.max() < _LEAST_GAIN:
            return []
        best = np.flatnonzero(worth >= worth.max() * (1 - 1e-9))
        place = int(random.choice(best))
        return [Candidate(*pairs[place], float(worth[place]))]

    def _draws(self, pairs: Sequence[Pair], *, state_only: bool) -> Integers:
        """Count the executions of each pair, or those of all the requests in its state."""
        found = [self._model.graph.pair(*pair) for pair in pairs]
        draws = [0 if pair is None else pair.total for pair in found]
        if state_only:
            whole = Counter[State]()
            for (state, _), number in zip(pairs, draws, strict=True):
                whole[state] += number
            draws = [whole[state] for state, _ in pairs]
        return np.array(draws, dtype=np.int64)


def features_of(model: LearnedModel, pairs: Sequence[Pair]) -> Bits:
    """Return what holds in each of some pairs of one family: its features, then all atoms."""
    rows = np.array(model.matrix.rows([state for state, _ in pairs]), dtype=np.int64)
    asked = np.array([capability for _, capability in pairs])
    families = model.experts.families
    parts = {c: families.known_features(c, rows[asked == c]) for c in np.unique(asked).tolist()}
    width = next(iter(parts.values())).shape[1]
    values = np.zeros((len(pairs), width), dtype=np.uint8)
    for capability, part in parts.items():
        values[asked == capability] = part
    return np.concatenate([values, model.matrix.bits[rows]], axis=1)


@dataclass(frozen=True, eq=False)
class Beliefs:
    """How probable each single condition is, by the executions so far."""

    hypothesis: Hypothesis
    held: Bits
    """For each pair that could show the event, which literals held."""
    hits: Integers
    draws: Integers
    log_priors: Floats
    """Of chance, then of each literal."""

    @classmethod
    def of(cls, hypothesis: Hypothesis, model: LearnedModel) -> Beliefs:
        """Weigh the conditions of a hypothesis."""
        places, hits, draws = hypothesis.counts()
        pairs = [hypothesis.requests.pairs[place] for place in places.tolist()]
        held = features_of(model, pairs)
        family = model.experts.families.of[next(iter(hypothesis.requests.forms))]
        plain = [family.space.plain(term) for term in range(len(family.space.terms))]
        scopes = [1 if one else 2 for one in plain] + [3] * len(family.named)
        scopes += [4] * (held.shape[1] - len(scopes))
        numbers = np.bincount(scopes, minlength=len(_PRIORS))
        priors = np.array(_PRIORS) / np.maximum(numbers, 1)
        return cls(hypothesis, held, hits, draws, np.log(priors[[0, *scopes]]))

    @cached_property
    def _counts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the hits and draws inside and outside each literal; of chance, all are inside."""
        held = np.concatenate([np.ones((len(self.held), 1)), self.held], axis=1)
        hits, draws = self.hits @ held, self.draws @ held
        return hits, draws, self.hits.sum() - hits, self.draws.sum() - draws

    @cached_property
    def _scores(self) -> Floats:
        h, n, other_h, other_n = (counts.astype(np.int64) for counts in self._counts)
        scores: Floats = log_mixture(h, n) + log_mixture(other_h, other_n) + self.log_priors
        return scores

    def _weights(self, power: float) -> Floats:
        weights: Floats = np.exp(power * (self._scores - self._scores.max()))
        weights /= weights.sum()
        return weights

    @property
    def settled(self) -> bool:
        """Whether nothing more needs to be asked."""
        hits, draws = int(self.hits.sum()), int(self.draws.sum())
        if draws >= max(_MOST_DRAWS, (hits + 3) / _HARDLY):
            return True
        if hits < _OCCURRENCES or draws - hits < _OCCURRENCES // 2:
            return hits == draws >= _ALWAYS
        best, weights = int(self._scores.argmax()), self._weights(1.0)
        if best == 0:
            return bool(weights[0] >= _CHANCE)
        clear = self._scores[best] - self._scores[0] >= _CLEAR
        return bool(clear and weights[best] >= _ONLY)

    def worth(self, held: Bits, *, again: bool) -> Floats:
        """Return what an answer about each of some pairs is worth.

        Args:
            held: Which literals hold in each pair.
            again: Whether to see the event again.

        Returns:
            The probability of the event, or the expected information about its condition.
        """
        hits, draws, other_hits, other_draws = self._counts
        inside = (hits + 0.5) / (draws + 1.0)
        outside = (other_hits + 0.5) / (other_draws + 1.0)
        weights = self._weights(_TEMPER)

        def mean(one: Floats, other: Floats) -> Floats:
            own: Floats = weights[0] * one[0] + held @ (weights * one)[1:]
            return own + (1 - held) @ (weights * other)[1:]

        expected = mean(inside, outside)
        if again:
            return expected
        gain: Floats = _entropy(expected) - mean(_entropy(inside), _entropy(outside))
        return np.maximum(gain, 0.0)


def _entropy(probability: Floats) -> Floats:
    entropy: Floats = -(
        probability * np.log(probability) + (1 - probability) * np.log1p(-probability)
    )
    return entropy
