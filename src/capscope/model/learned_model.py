"""What is believed of every pair of a state and a capability, tried or not.

The naive model knows the pairs that were tried and nothing else. But most pairs are like others:
what matters is a few atoms, and the agent does for one intent what it does for the next. Three
experts predict the outcome type of a pair that was never tried (`outcome_types`):

- *ground trees*: a committee of decision trees for each capability, over the atoms;
- *pursuit*: the agent heads for its intent (`pursuit`); trees say when it does not.

An expert is believed as far as its predictions came true: its weight is the product of the
probabilities it gave to what happened first in each pair, as in Bayesian model averaging, with old
predictions slowly forgotten. So a wrong assumption costs a few executions and no more.

`doubt` is the probability that the predicted type is wrong: 1 minus the weighted agreement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from capscope.model.decision_trees import Committee
from capscope.model.outcome_types import NOTHING, OutcomeTypes
from capscope.model.pursuit import Pursuit
from capscope.model.state_graph import PairStats, StateGraph
from capscope.model.state_matrix import StateMatrix
from capscope.seeds import child_seed
from capscope.statistics.arrays import Floats, Integers
from capscope.symbolic import Effect, Intent, State

_COMMITTEE = 4
_REFRESH = 1.05  # everything is fitted again when the executions have grown by this factor
_FIRST_REFRESH = 40
_LEAST_SHARE = 0.05  # what an expert is charged at most for a prediction that failed
_FORGET = 0.98  # old predictions of a capability count less with each new one
_FORGET_ALL = 0.999  # the same over all capabilities
_FORGET_DOUBTS = 0.99
_PRIOR_FAILURES = 0.3
_UNKNOWN_DOUBT = 0.5  # above this, a prediction is withheld


class Provenance(StrEnum):
    """What a prediction rests on."""

    TRIED = "tried"
    INFERRED = "inferred"
    UNKNOWN = "unknown"


class Support(NamedTuple):
    """The evidence behind a prediction."""

    rule: tuple[Effect, ...]
    """The effects of the outcome type."""
    draws: int
    """The executions that showed this type, of any pair."""
    own_draws: int
    """Those of the pair itself."""


class Coverage(NamedTuple):
    """How many pairs of the states seen have a prediction, by what it rests on."""

    tried: int
    inferred: int
    unknown: int


class LearnedPrediction(Mapping[State, float]):
    """Successor → probability, with what it rests on; empty if nothing is predicted."""

    __slots__ = ("_shares", "doubt", "provenance", "support")

    def __init__(
        self, shares: Mapping[State, float], provenance: Provenance, doubt: float, support: Support
    ) -> None:
        self._shares = shares
        self.provenance = provenance
        self.doubt = doubt
        """The probability that the type of the outcome is another; 0 for a tried pair."""
        self.support = support

    def __getitem__(self, state: State) -> float:
        return self._shares[state]

    def __iter__(self) -> Iterator[State]:
        return iter(self._shares)

    def __len__(self) -> int:
        return len(self._shares)

    def __repr__(self) -> str:
        return f"<{self.provenance}, doubt {self.doubt:.2g}: {dict(self._shares)}>"


@dataclass(eq=False)
class _Expertise:
    """What is fitted to one capability."""

    labels: dict[int, int]
    """The type of each row in which it was tried."""
    classes: list[int]
    """The types among the labels; a tree's class is an index of this list."""
    ground: Committee | None = None
    pursuing: Committee | None = None
    """Class 0 is "as pursuit predicts"; the others are shifted by one."""
    fitted: int = 0
    """The number of labels that the trees were grown on."""
    inferred: tuple[Integers, Floats] = field(
        default_factory=lambda: (np.zeros(0, dtype=np.int64), np.zeros(0))
    )
    """The predicted type and belief of each row, as far as they were asked for."""


class LearnedModel:
    """Fitted to a state graph; follows its updates by `observe`."""

    def __init__(self, graph: StateGraph, seed: int = 0, *, pursuit: bool = True) -> None:
        self.graph = graph
        self.matrix = StateMatrix(len(graph.vocabulary.atoms))
        self.types = OutcomeTypes()
        self.pursuit = Pursuit(graph.vocabulary, self.matrix, self.types) if pursuit else None
        self._seed = seed
        self._fits: list[_Expertise] = []
        self._scores: Floats = np.zeros((0, 2))
        self._overall: Floats = np.zeros(2)
        self._doubted = 0.0
        self._wrong = 0.0
        self._draws = 0
        self._refresh_at: float = _FIRST_REFRESH
        self.matrix.rows(sorted(graph.nodes))
        self._see_new_states()

    @classmethod
    def fitted(cls, graph: StateGraph, seed: int = 0) -> LearnedModel:
        """Fit a model to a whole graph; the order in which it was seen makes no difference."""
        model = cls(graph, seed)
        model._cross_validate()
        model.refresh()
        return model

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model covers."""
        return self.graph.capabilities

    def refresh(self) -> None:
        """Fit everything again to the present graph."""
        self._see_new_states()
        self._refresh_at = self._draws * _REFRESH + 5
        self._label_all()
        self._plan([fit.labels for fit in self._fits])
        for capability, fit in enumerate(self._fits):
            if fit.labels:
                self._label(capability)
                self._grow(capability)

    def _label_all(self) -> None:
        for state in sorted(self.graph.nodes):
            for pair in self.graph.nodes[state].pairs:
                if pair is not None:
                    self.types.learn(pair.counts)
        for capability in range(len(self._fits)):
            self._label(capability)
        self._estimate_odds()

    def _plan(self, labels: Sequence[Mapping[int, int]]) -> None:
        if self.pursuit is not None:
            seen = [self.matrix.row[state] for state in sorted(self.graph.nodes)]
            tests = [self.graph.vocabulary.test(i.literals) for i in self.graph.capabilities]
            self.pursuit.plan(tests, labels, seen)

    def _cross_validate(self) -> None:
        """Score the experts on each half of the pairs, fitted to the other half."""
        if self.pursuit is None:
            return
        self._label_all()
        labels = [fit.labels for fit in self._fits]
        states = self.matrix.states
        for half in (0, 1):
            known: list[dict[int, int]] = []
            asked: list[dict[int, int]] = []
            for capability, types in enumerate(labels):
                parts: tuple[dict[int, int], dict[int, int]] = ({}, {})
                for row, number in types.items():
                    side = child_seed(states[row], capability) & 1
                    parts[side == half][row] = number
                known.append(parts[1])
                asked.append(parts[0])
            self._plan(known)
            for capability, (own, others) in enumerate(zip(known, asked, strict=True)):
                if own and others:
                    fit = self._fits[capability] = _Expertise(own, [])
                    self._grow(capability)
                    charges = self._charges(
                        capability, np.array(list(others)), np.array(list(others.values()))
                    )
                    self._scores[capability] += charges
                    self._overall += charges
                    self._fits[capability] = _Expertise(labels[capability], fit.classes)

    def _charges(self, capability: int, rows: Integers, types: Integers) -> Floats:
        """Return the log probability that each expert gave to the types of some rows."""
        fit, bits = self._fits[capability], self.matrix.bits[rows]
        assert fit.ground is not None and fit.pursuing is not None, "the trees were grown"
        place = {number: i for i, number in enumerate(fit.classes)}
        column = np.array([place.get(number, -1) for number in types.tolist()])
        where = np.arange(len(rows))
        ground = np.where(column < 0, 0.0, fit.ground.shares(bits)[where, column])
        coded = fit.pursuing.shares(bits)
        pursuing = np.where(column < 0, 0.0, coded[where, column + 1])
        pursuing += np.where(self._expected_step(capability, rows) == types, coded[:, 0], 0.0)
        shares = np.maximum(np.stack([ground, pursuing]), _LEAST_SHARE)
        charges: Floats = np.log(shares).sum(axis=1)
        return charges

    def _see_new_states(self) -> None:
        self.matrix.rows(self.graph.nodes)
        while len(self._fits) < len(self.graph.capabilities):
            self._fits.append(_Expertise({}, []))
        missing = len(self._fits) - len(self._scores)
        self._scores = np.concatenate([self._scores, np.zeros((missing, 2))])
        if self.pursuit is not None:
            self.pursuit.extend()

    def observe(self, pairs: Iterable[tuple[State, int]]) -> Observed:
        """Take in what the graph learned about some pairs."""
        self._see_new_states()
        contradicted: list[tuple[State, int]] = []
        stale: dict[int, None] = {}
        relabel = False
        for state, capability in dict.fromkeys(pairs):
            pair = self.graph.pair(state, capability)
            assert pair is not None, "only pairs that were tried are observed"
            row, fit = self.matrix.row[state], self._fits[capability]
            self._draws += 1
            known = fit.labels.get(row)
            if known is None:
                effect = next(iter(pair.counts))
                if self._judge(capability, row, effect):
                    contradicted.append((state, capability))
                    stale.setdefault(capability)
            relabel |= self.types.learn(pair.counts)
            fit.labels[row] = self._type_of(capability, row, pair)
            if known is not None and known != fit.labels[row]:
                stale.setdefault(capability)
            if len(fit.labels) >= 2 * fit.fitted:
                stale.setdefault(capability)
        if self._draws >= self._refresh_at or relabel:
            self.refresh()
            return Observed(contradicted, range(len(self._fits)))
        for capability in stale:
            self._grow(capability)
        return Observed(contradicted, stale)

    def _judge(self, capability: int, row: int, effect: Effect) -> bool:
        """Score the experts on the first draw of a pair; return whether it was not foreseen."""
        fit = self._fits[capability]
        if fit.ground is None:
            return False
        rows = np.array([row])
        allowed = [self.types.allows(number, effect) for number in fit.classes]
        ground = float(fit.ground.shares(self.matrix.bits[rows])[0] @ allowed)
        pursuing = ground
        expected = self._expected_step(capability, rows)[0]
        if fit.pursuing is not None:
            shares = fit.pursuing.shares(self.matrix.bits[rows])[0]
            pursuing = float(shares[1:] @ allowed)
            if self.types.allows(expected, effect):
                pursuing += float(shares[0])
        (predicted,), (belief,) = self.predicted_types(capability, rows)
        charge = np.log(np.maximum([ground, pursuing], _LEAST_SHARE))
        self._scores[capability] = self._scores[capability] * _FORGET + charge
        self._overall = self._overall * _FORGET_ALL + charge
        wrong = not self.types.allows(int(predicted), effect)
        self._doubted = self._doubted * _FORGET_DOUBTS + 1.0 - float(belief)
        self._wrong = self._wrong * _FORGET_DOUBTS + wrong
        return wrong

    @property
    def calibration(self) -> float:
        """How often predictions failed lately, as a multiple of their doubt; at most 1."""
        return min((self._wrong + _PRIOR_FAILURES) / (self._doubted + _PRIOR_FAILURES), 1.0)

    def _type_of(self, capability: int, row: int, pair: PairStats) -> int:
        expected = NOTHING
        if self.pursuit is not None and self.pursuit.step.shape[0] > capability:
            expected = int(self.pursuit.step[capability, row])
        return self.types.of(pair, max(expected, NOTHING))

    def _label(self, capability: int) -> None:
        fit = self._fits[capability]
        fit.labels = {}
        for state, node in self.graph.nodes.items():
            pair = node.pairs[capability]
            if pair is not None:
                row = self.matrix.row[state]
                fit.labels[row] = self._type_of(capability, row, pair)

    def _estimate_odds(self) -> None:
        drawn: dict[int, Counter[Effect]] = {}
        for capability, fit in enumerate(self._fits):
            for row, number in fit.labels.items():
                pair = self.graph.pair(self.matrix.states[row], capability)
                assert pair is not None, "only tried pairs have labels"
                drawn.setdefault(number, Counter()).update(pair.counts)
        self.types.estimate_odds(drawn)

    def _grow(self, capability: int) -> None:
        fit = self._fits[capability]
        # In the order of states, so that the order in which they were seen decides nothing.
        order = sorted(fit.labels, key=self.matrix.states.__getitem__)
        rows = np.array(order)
        types = np.array([fit.labels[row] for row in order])
        fit.classes = sorted(set(types.tolist()), key=lambda t: sorted(self.types.effects[t]))
        place = {number: i for i, number in enumerate(fit.classes)}
        labels = np.array([place[t] for t in types.tolist()])
        bits, seed = self.matrix.bits[rows], child_seed(self._seed, capability)
        fit.ground = Committee.grown(bits, labels, len(fit.classes), _COMMITTEE, seed)
        if self.pursuit is not None:
            as_pursued = self._expected_step(capability, rows) == types
            labels = np.where(as_pursued, 0, labels + 1)
            number = len(fit.classes) + 1
            fit.pursuing = Committee.grown(bits, labels, number, _COMMITTEE, seed + 1)
        fit.fitted = len(order)
        fit.inferred = np.zeros(0, dtype=np.int64), np.zeros(0)

    def _expected_step(self, capability: int, rows: Integers) -> Integers:
        if self.pursuit is None or self.pursuit.step.shape[0] <= capability:
            return np.full(len(rows), -1)
        steps: Integers = self.pursuit.step[capability, rows]
        return steps

    def weights(self, capability: int) -> Floats:
        """Return how far the ground trees and pursuit are believed for a capability."""
        if self.pursuit is None:
            return np.array([1.0, 0.0])
        score = self._scores[capability] + self._overall / max(len(self._fits), 1)
        share = np.exp(np.maximum(score - score.max(), -30.0))
        weights: Floats = share / share.sum()
        return weights

    def predicted_types(self, capability: int, rows: Integers) -> tuple[Integers, Floats]:
        """Return the most believed type of each row and how far it is believed."""
        fit = self._fits[capability]
        if fit.ground is None:
            return np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows))
        bits, number = self.matrix.bits[rows], len(fit.classes)
        ground, pursuing = self.weights(capability)
        shares = np.zeros((len(rows), number + 1))
        shares[:, :number] = ground * fit.ground.shares(bits)
        steps = self._expected_step(capability, rows)
        if fit.pursuing is not None:
            coded = pursuing * fit.pursuing.shares(bits)
            shares[:, :number] += coded[:, 1:]
            place = {t: i for i, t in enumerate(fit.classes)}
            column = np.array([place.get(t, number) for t in steps.tolist()])
            # A first step that is not known (-1) supports nothing.
            shares[np.arange(len(rows)), column] += np.where(steps < 0, 0.0, coded[:, 0])
        best = shares.argmax(axis=1)
        types = np.append(np.array(fit.classes), NOTHING)[best]
        types = np.where(best == number, steps, types)
        return types, shares.max(axis=1)

    def foresees(self, state: State, capability: int, after: State) -> bool:
        """Return whether an outcome was held possible when the model was fitted."""
        row = self.matrix.add(state)
        number = self._fits[capability].labels.get(row)
        if number is None:
            number, doubt = self.infer(row, capability)
            if doubt > _UNKNOWN_DOUBT:
                return False
        return self.types.allows(number, Effect.between(state, after))

    def infer(self, row: int, capability: int) -> tuple[int, float]:
        """Return the most believed type of a pair, tried or not, and the doubt."""
        if self.pursuit is not None:
            self.pursuit.extend()
        fit = self._fits[capability]
        known = len(fit.inferred[0])
        if row >= known:
            # For all new rows at once: one by one costs as much for each.
            new = self.predicted_types(capability, np.arange(known, len(self.matrix)))
            fit.inferred = (
                np.append(fit.inferred[0], new[0]),
                np.append(fit.inferred[1], new[1]),
            )
        types, belief = fit.inferred
        return int(types[row]), 1.0 - float(belief[row])

    def follow(self, graph: StateGraph) -> None:
        """Look tried pairs up in a graph that knows more; what is inferred stays as it is."""
        self.graph = graph
        self._see_new_states()

    def coverage(self) -> Coverage:
        """Count the pairs of the states seen by what their prediction rests on."""
        states = list(self.graph.nodes)
        rows = np.array(self.matrix.rows(states), dtype=np.int64)
        tried = inferred = 0
        for capability in range(len(self.graph.capabilities)):
            open_rows = [
                row
                for row, state in zip(rows.tolist(), states, strict=True)
                if self.graph.nodes[state].pairs[capability] is None
            ]
            tried += len(states) - len(open_rows)
            if open_rows:
                self.infer(max(open_rows), capability)
                belief = self._fits[capability].inferred[1][open_rows]
                inferred += int((1.0 - belief <= _UNKNOWN_DOUBT).sum())
        pairs = len(states) * len(self.graph.capabilities)
        return Coverage(tried, inferred, pairs - tried - inferred)

    def anticipate(self, states: Iterable[State]) -> None:
        """Prepare for questions about some states; asked about one by one they take longer."""
        self.matrix.rows(states)

    def predict(self, state: State, capability: Intent) -> LearnedPrediction:
        """Return the distribution over the state after the execution, and what it rests on."""
        index = self.graph.index[capability]
        pair = self.graph.pair(state, index)
        if pair is not None:
            return self._tried(state, pair, index)
        number, doubt = self.infer(self.matrix.add(state), index)
        support = Support(tuple(sorted(self.types.effects[number])), self.types.draws[number], 0)
        if doubt > _UNKNOWN_DOUBT:
            return LearnedPrediction({}, Provenance.UNKNOWN, doubt, support)
        return LearnedPrediction(
            _applied(self.types.odds[number], state), Provenance.INFERRED, doubt, support
        )

    def _tried(self, state: State, pair: PairStats, capability: int) -> LearnedPrediction:
        number = self._type_of(capability, self.matrix.add(state), pair)
        odds = shrunk(pair.counts, self.types.odds[number])
        support = Support(
            tuple(sorted(self.types.effects[number])), self.types.draws[number], pair.total
        )
        return LearnedPrediction(_applied(odds, state), Provenance.TRIED, 0.0, support)


class Observed(NamedTuple):
    """What an observation did to the model."""

    contradicted: Sequence[tuple[State, int]]
    """Pairs whose first outcome was not foreseen."""
    changed: Iterable[int]
    """Capabilities whose predictions may have changed."""


_POOLING = 10.0  # the odds of the type count as this many draws of the pair itself


def shrunk(counts: Mapping[Effect, int], odds: Mapping[Effect, float]) -> dict[Effect, float]:
    """Return the odds of one pair: its own counts, drawn towards the odds of its type."""
    total = sum(counts.values())
    effects = dict.fromkeys([*counts, *odds])
    weight = _POOLING if any(effect in odds for effect in counts) else 0.0
    return {
        effect: (counts.get(effect, 0) + weight * odds.get(effect, 0.0)) / (total + weight)
        for effect in effects
    }


def _applied(odds: Mapping[Effect, float], state: State) -> dict[State, float]:
    shares: dict[State, float] = {}
    for effect, share in odds.items():
        after = effect.apply(state)
        shares[after] = shares.get(after, 0.0) + share
    return shares
