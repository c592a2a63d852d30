"""The rows in which a part may have happened, and the conditions on which its rate depends.

A tree of conditions is grown greedily. Each split has to pay for the number of candidates, as in a
two-part code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from capscope.logic import Atom, Effect, Literal, LiteralTest, State, Vocabulary
from capscope.logic.shortest_condition import bit_matrix
from capscope.model.decomposition import Decomposition
from capscope.model.parts import (
    ANY,
    OTHER,
    REQUEST,
    Binding,
    Part,
    PartCondition,
    PartInstance,
    PartRate,
    Trials,
    bound,
    joined_with,
)
from capscope.model.state_graph import StateGraph
from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.betting import log_best_likelihood, log_likelihood, log_mixture

_MOST_GROUND = 200  # atoms of the state that are candidates for conditions
_SPLIT_GAIN = 1.0  # of the log likelihood, beside the logarithm of the number of candidates
_DEPTH = 6
_TURNS = 3  # of conditions and rates by round
_PAIRED = 16  # conditions of which two may split together
_MANY_ROWS = 4_000  # from this number on, half of them


class Record(NamedTuple):
    """An effect of a tried pair, without the parts found so far."""

    state: State
    capability: int
    effect: Effect
    times: int
    alone: bool
    """Whether none of the parts found so far happened."""


Path = tuple[tuple[PartCondition, bool], ...]
"""Conditions, and whether each holds."""
_Row = tuple[Record, Effect, PartInstance | None, bool]
"""A record, the rest of its effect, an instance, and whether it changed."""


class PartTable:
    """Rows in which a part may have happened, with the conditions that hold in each."""

    def __init__(
        self, known: Decomposition, graph: StateGraph, part: Part, rows: Sequence[_Row]
    ) -> None:
        vocabulary = graph.vocabulary
        size = len(vocabulary.atoms)
        self._times: Integers = np.array([row[0].times for row in rows])
        self._draws: Floats = self._times.astype(np.float64)
        self.hits: Integers = self._times * np.array([row[3] for row in rows])
        """How often each row changed."""
        self._leaf = np.zeros(len(rows), dtype=np.int64)
        place: dict[tuple[State, Effect], int] = {}
        which = np.array([place.setdefault((r.state, rest), len(place)) for r, rest, _, _ in rows])
        bits = bit_matrix([joined_with(s, rest, size) for s, rest in place], 3 * size)
        bindings: list[Binding] = []
        for record, _, one, _ in rows:
            binding = known.request(record.capability)[0]
            bindings.append(binding if one is None else bound(one, binding))
        roles = sorted({v for b in bindings for v in b if v.startswith("?x")})
        variables = [name for name, _ in part.types] if rows and rows[0][2] is not None else []
        columns: dict[bytes, tuple[PartCondition, Mask]] = {}
        groups: dict[tuple[str, ...], list[tuple[Binding, Integers]]] = {}
        for condition in _conditions(vocabulary, variables, roles, bindings, bits[:, :size]):
            named = condition.variables
            if named not in groups:
                groups[named] = _grouped(named, bindings)
            column = np.zeros(len(rows), dtype=bool)
            for binding, members in groups[named]:
                tests = known.tests(condition, binding)
                column[members] = _held(tests, condition.least, bits, which[members])
            if column.any() and not column.all():
                code = (column if column[0] else ~column).tobytes()
                columns.setdefault(code, (condition, column))
        self._conditions = [condition for condition, _ in columns.values()]
        self._columns: Floats = np.array(
            [c for _, c in columns.values()], dtype=np.float64
        ).reshape(len(columns), len(rows))

    def fit(self) -> tuple[float, tuple[PartRate, ...]]:
        """Return the log likelihood with the best splits, less what they cost, and the rates."""
        self._leaves = 0
        return self._fit(np.arange(len(self._times)), ())

    def fit_by_round(self, trials: Trials) -> tuple[float, tuple[PartRate, ...]]:
        """Do as `fit`, with rates by round; `trials` are the rows by execution."""
        _, rounds = trials.rates(np.zeros_like(self._leaf))
        own = trials.times[trials.of]
        self.hits, before = np.where(own, self.hits, 0), self.hits
        for _ in range(_TURNS):
            self._draws = np.round(own * rounds[trials.of] * 64) / 64
            score, leaves = self.fit()
            rates, rounds = trials.rates(self._leaf)
        price = sum(_mixture(one.hits, one.draws) for one in leaves) - score
        hits, draws, by_round = (
            np.bincount(self._leaf, x, len(leaves)).round().astype(np.int64)
            for x in (self.hits, own, own * rounds[trials.of])
        )
        score = float(
            (log_likelihood(hits, draws, rates) - log_best_likelihood(hits, draws)).sum()
            + log_mixture(hits, draws).sum()
            + (trials.times * np.log(trials.rounds(rates[self._leaf]))).sum()
        )
        self.hits, self._draws = before, self._times.astype(np.float64)
        pairs = zip(leaves, by_round.tolist(), strict=True)
        return score - price, tuple(one._replace(draws=n) for one, n in pairs)

    def _fit(self, rows: Integers, path: Path) -> tuple[float, tuple[PartRate, ...]]:
        hits, draws = int(self.hits[rows].sum()), round(float(self._draws[rows].sum()))
        whole = _mixture(hits, draws)
        if 0 < hits < draws and len(path) < _DEPTH and self._conditions:
            gained, literals, on = max(self._splits(rows, whole), key=lambda one: one[0])
            if gained > 0.0:
                yes = self._fit(rows[on], (*path, *literals))
                # The first rate that fits is the one that counts: both conditions do not hold.
                rest = ((literals[0][0], not literals[0][1]),) if len(literals) == 1 else ()
                no = self._fit(rows[~on], (*path, *rest))
                score = yes[0] + no[0] - self._price(len(literals))
                return score, yes[1] + no[1]
        self._leaf[rows] = self._leaves
        self._leaves += 1
        return whole, (PartRate(path, hits, draws),)

    def narrowed(
        self, sizes: Sequence[int]
    ) -> tuple[tuple[PartCondition, bool], float, Mask] | None:
        """Return the condition on chosen instances that leaves the fewest others.

        Args:
            sizes: How many consecutive rows belong to each choice.

        Returns:
            The condition, what it costs, and which rows meet it; None if none pays.
        """
        if not sizes or not self._conditions:
            return None
        begins = np.cumsum([0, *sizes[:-1]])
        times = self._times[begins]
        signed = np.concatenate([self._columns, 1.0 - self._columns])
        usable = np.flatnonzero(signed[:, self.hits > 0].all(axis=1))
        if not len(usable):
            return None
        left = np.add.reduceat(signed[usable], begins, axis=1)
        gains = np.round((np.log(np.array(sizes)) - np.log(left)) @ times, 6)
        best = int(gains.argmax())
        price = math.log(2 * len(self._conditions)) + _SPLIT_GAIN
        if gains[best] <= price:
            return None
        which = int(usable[best])
        condition = self._conditions[which % len(self._conditions)]
        return (condition, which < len(self._conditions)), price, signed[which] > 0

    def _price(self, literals: int) -> float:
        """Return what a split costs: the logarithm of the number of candidates, and a bit more."""
        return literals * math.log(len(self._conditions)) + _SPLIT_GAIN

    def _splits(self, rows: Integers, whole: float) -> Iterator[tuple[float, Path, Mask]]:
        """Yield the best split by one condition and by two, with what each gains."""
        part = self._columns[:, rows]
        scores = self._scores(part, rows)
        best = int(scores.argmax())
        yield (
            float(scores[best]) - whole - self._price(1),
            ((self._conditions[best], True),),
            part[best] > 0,
        )
        few = np.argsort(-scores, kind="stable")[
            : _PAIRED if len(rows) < _MANY_ROWS else _PAIRED // 2
        ]
        signed = np.concatenate([part[few], 1.0 - part[few]])
        one, other = np.triu_indices(len(signed), 1)
        scores = self._scores(signed[one] * signed[other], rows)
        best = int(scores.argmax())
        pair = one[best], other[best]
        yield (
            float(scores[best]) - whole - self._price(2),
            tuple((self._conditions[few[i % len(few)]], bool(i < len(few))) for i in pair),
            (signed[pair[0]] * signed[pair[1]]) > 0,
        )

    def _scores(self, columns: Floats, rows: Integers) -> Floats:
        """Return the log likelihood of rows if they are split by each of some columns."""
        hits, draws = self.hits[rows], self._draws[rows]
        inside = np.rint(columns @ hits).astype(np.int64)
        drawn = np.rint(columns @ draws).astype(np.int64)
        others = np.maximum(round(float(draws.sum())) - drawn, hits.sum() - inside)
        scores: Floats = np.round(
            log_mixture(inside, drawn) + log_mixture(hits.sum() - inside, others), 6
        )
        return scores


def _mixture(hits: int, draws: int) -> float:
    return float(log_mixture(np.array([hits]), np.array([draws]))[0])


def _grouped(named: tuple[str, ...], bindings: Sequence[Binding]) -> list[tuple[Binding, Integers]]:
    members: dict[tuple[str | None, ...], list[int]] = {}
    for i, binding in enumerate(bindings):
        members.setdefault(tuple(map(binding.get, named)), []).append(i)
    return [
        ({k: v for k, v in zip(named, key, strict=True) if v is not None}, np.array(rows))
        for key, rows in members.items()
    ]


def _held(tests: Sequence[LiteralTest], least: int, bits: Mask, rows: Integers) -> Mask:
    held = np.zeros(len(rows), dtype=np.int64)
    for required, forbidden in tests:
        true: Mask = np.ones(len(rows), dtype=bool)
        if required:
            true &= bits[rows[:, None], _places(required)].all(axis=1)
        if forbidden:
            true &= ~bits[rows[:, None], _places(forbidden)].any(axis=1)
        held += true
    fits: Mask = held >= least
    return fits


def _places(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _conditions(
    vocabulary: Vocabulary,
    variables: Sequence[str],
    roles: Sequence[str],
    bindings: Sequence[Binding],
    states: Mask,
) -> Iterator[PartCondition]:
    """Yield candidates for conditions, the most general first."""
    yield PartCondition("achieved")
    yield PartCondition("nothing")
    names = [*variables, *roles]
    for name in variables:
        yield from (PartCondition("same", equal=(name, role)) for role in roles)
    for predicate in vocabulary.predicates:
        arity = len(predicate.types)
        for where in ("added", "deleted"):
            yield PartCondition(where, (Literal(Atom(predicate.name, (ANY,) * arity)),))
            for place, name in itertools.product(range(arity), names):
                arguments = tuple(name if i == place else ANY for i in range(arity))
                yield PartCondition(where, (Literal(Atom(predicate.name, arguments)),))
        if arity <= 2:
            for arguments in itertools.product([*names, OTHER], repeat=arity):
                if set(arguments) & set(names) or not arity:
                    yield PartCondition("state", (Literal(Atom(predicate.name, arguments)),))
    yield from _neighbours(vocabulary, names)
    for name in (*names, REQUEST):
        values = sorted({b[name] for b in bindings if name in b})
        yield from (PartCondition("same", equal=(name, value)) for value in values)
    vary = np.flatnonzero(states.any(axis=0) & ~states.all(axis=0))
    if len(vary) <= _MOST_GROUND:
        for i in vary.tolist():
            yield PartCondition("state", (Literal(vocabulary.atoms[i]),))


def _neighbours(vocabulary: Vocabulary, names: Sequence[str]) -> Iterator[PartCondition]:
    """Yield conditions on the number of objects in a relation of which something is true."""
    unary = [p.name for p in vocabulary.predicates if len(p.types) == 1]
    binary = [p.name for p in vocabulary.predicates if len(p.types) == 2]
    for relation, name, least in itertools.product(binary, names, (1, 2, 3)):
        for arguments in ((name, OTHER), (OTHER, name)):
            near = Literal(Atom(relation, arguments))
            if least > 1:
                yield PartCondition("state", (near,), least)
            for predicate, positive in itertools.product(unary, (True, False)):
                other = Literal(Atom(predicate, (OTHER,)), positive)
                yield PartCondition("state", (near, other), least)
