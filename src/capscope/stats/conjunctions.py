"""Where does an event happen more often? The shortest conjunction of literals that separates rates.

The score of a conjunction is the log likelihood of the executions under two rates, inside and
outside, averaged over a prior, less the largest likelihood under one rate for both. It stays valid
however executions are chosen by earlier ones, and each conjunction pays for its prior weight, so
the search may look at the data at any time.

States may also differ without a reason, and so may objects; then each conjunction separates better
from worse ones. So the null hypothesis is wider than one rate: the executions of a *unit* (a pair,
a state, or all those about one object) share a rate of their own, drawn from any beta distribution,
and the distribution that explains the executions best counts. Where there are too few states to
show more than that, and few literals, it is enough that each state inside is above each outside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.beta import log_sum_exp
from capscope.stats.betting import evidence_of_difference, log_best_likelihood, log_mixture
from capscope.stats.partial_pooling import MEANS, log_rising

_LENGTHS = (0.7, 0.2, 0.1)
"""The prior probability of one, two and three literals."""
_SIDES = (0.5, 0.25, 0.25)
"""The prior probabilities on each side: units are alike; always inside or never outside; differ."""
_SIZES: Floats = np.power(4.0, np.arange(-3, 5))[:, None]
"""a + b of the beta distributions that units draw their rates from."""
_MOST_ROWS = 3_000
_MOST_COLUMNS = 64
_RESCORED = 4
_EXTENDED = 6
_FEW = 8


@dataclass(frozen=True)
class Units:
    """What may have a rate of its own without a reason: pairs, states, or objects of a role."""

    of_row: Integers
    role: int | None = None
    """The role, for objects."""


@dataclass(frozen=True)
class Rows:
    """Executions of pairs, and the literals that may explain where an event happens."""

    hits: Integers
    draws: Integers
    literals: Mask
    """For each row, whether each literal holds; no two columns are alike or opposite."""
    weights: Floats
    """The prior probability of each literal, its opposite included."""
    units: Sequence[Units]
    """All ways to divide the rows into units; the second is by states."""
    constants: Sequence[frozenset[int]]
    """For each literal, the roles that it says to be a certain object."""


@dataclass(frozen=True)
class Conjunction:
    """Literals, by column and sign, and the evidence that the event is more frequent inside."""

    literals: tuple[tuple[int, bool], ...]
    inside: Mask
    evidence: float


def best_conjunction(rows: Rows, threshold: float, difference: float) -> Conjunction | None:
    """Return the shortest conjunction that reaches a threshold; a longer one if it is far better.

    By luck a long one fits a little better than the true one, so it must be better by as much as
    the threshold.

    Args:
        rows: The executions.
        threshold: The log score that a conjunction must reach, beside its price.
        difference: Rates that differ by less are not worth separating.

    Returns:
        The conjunction inside which the event is more frequent; None if none reaches the threshold.
    """
    total, made = int(rows.hits.sum()), int(rows.draws.sum())
    if total in (0, made) or not rows.literals.shape[1]:
        return None
    search = _Search(rows, difference)
    chosen: Conjunction | None = None
    for candidates in search.by_length():
        promising = [one for one in candidates if one.evidence >= threshold]
        judged = [search.judged(one, threshold) for one in promising[:_RESCORED]]
        best = max(judged, key=lambda one: one.evidence, default=None)
        if best is not None and best.evidence >= threshold + (chosen.evidence if chosen else 0.0):
            chosen = best
    return chosen


def striking_literals(rows: Rows, error_rate: float) -> Iterator[tuple[int, bool]]:
    """Yield literals that held whenever the event happened, as they would not by chance.

    By chance, the executions in which it happened are drawn at random from all.

    Args:
        rows: The executions.
        error_rate: The probability that chance alone yields any; each literal has its part.

    Yields:
        The column and the sign of each, the most striking first.
    """
    total, made = int(rows.hits.sum()), int(rows.draws.sum())
    found = []
    for column, sign in itertools.product(range(rows.literals.shape[1]), (True, False)):
        inside = rows.literals[:, column] == sign
        if not rows.hits[~inside].any():
            number = int(rows.draws[inside].sum())
            chance = math.exp(_log_choose(number, total) - _log_choose(made, total))
            found.append((chance * 2 / rows.weights[column], column, sign))
    yield from ((column, sign) for chance, column, sign in sorted(found) if chance <= error_rate)


def _log_choose(number: int, chosen: int) -> float:
    return math.lgamma(number + 1) - math.lgamma(chosen + 1) - math.lgamma(number - chosen + 1)


class _Search:
    """Conjunctions of each length, the most promising first."""

    def __init__(self, rows: Rows, difference: float) -> None:
        self._rows = rows
        self._difference = difference
        self._scorer = Scorer(rows.hits, rows.draws, rows.units)
        self._total, self._made = int(rows.hits.sum()), int(rows.draws.sum())

    def by_length(self) -> Iterator[list[Conjunction]]:
        """Yield candidates of length one, two and three."""
        rows = self._rows
        every = rows.hits, rows.draws, rows.literals
        if len(rows.hits) > _MOST_ROWS:
            chance = np.random.default_rng(0)
            few = np.sort(chance.choice(len(rows.hits), _MOST_ROWS, replace=False))
            every = rows.hits[few], rows.draws[few], rows.literals[few]
        hits, draws, literals = every
        values = literals.astype(np.float64)
        sums = [(counts @ values).astype(np.int64) for counts in (hits, draws)]
        singles = self._scores(sums, hits, draws, signed=False) + np.log(rows.weights)
        order = np.argsort(-singles, kind="stable")
        yield [self._made_of([(int(i), True)]) for i in order[:_RESCORED]]
        columns = np.sort(order[:_MOST_COLUMNS])
        yield from self._longer(hits, draws, literals[:, columns], columns)

    def _longer(
        self, hits: Integers, draws: Integers, literals: Mask, columns: Integers
    ) -> Iterator[list[Conjunction]]:
        """Yield candidates of two literals, and those that are made by adding a third."""
        number = len(columns)
        both = np.concatenate([literals, ~literals], axis=1)
        signed = [(int(c), sign) for sign in (True, False) for c in columns]
        own = np.tile(np.log(self._rows.weights[columns]), 2)
        same = np.arange(2 * number) % number
        joint = [counts.astype(np.int64) for counts in joint_counts(both, hits, draws)]
        pairs = self._scores(joint, hits, draws) + own[:, None] + own
        pairs[same[:, None] >= same] = -np.inf  # each unordered pair of columns once
        best = np.argsort(-pairs, axis=None, kind="stable")[:_EXTENDED].tolist()
        chosen = [divmod(place, 2 * number) for place in best if pairs.flat[place] > -np.inf]
        yield [self._made_of([signed[i], signed[j]]) for i, j in chosen[:_RESCORED]]
        triples: dict[frozenset[int], float] = {}
        for i, j in chosen:
            together = both[:, i] & both[:, j]
            sums = [((counts * together) @ both).astype(np.int64) for counts in (hits, draws)]
            scores = self._scores(sums, hits, draws) + own + own[i] + own[j]
            scores[(same == same[i]) | (same == same[j])] = -np.inf
            for k in np.argsort(-scores, kind="stable")[:_RESCORED].tolist():
                triples[frozenset((i, j, k))] = float(scores[k])
        ranked = sorted(triples, key=lambda one: (-triples[one], sorted(one)))
        yield [self._made_of([signed[i] for i in sorted(one)]) for one in ranked[:_RESCORED]]

    def _scores(
        self, inside: Sequence[Integers], hits: Integers, draws: Integers, *, signed: bool = True
    ) -> Floats:
        """Return the log scores of divisions; inside, the rate must be higher unless not signed."""
        h, n = inside
        other_h, other_n = hits.sum() - h, draws.sum() - n
        apart = h / np.maximum(n, 1) - other_h / np.maximum(other_n, 1)
        worth = (n > 0) & (other_n > 0) & ((apart if signed else abs(apart)) >= self._difference)
        return np.where(worth, evidence_of_difference(h, n, other_h, other_n), -np.inf)

    def _made_of(self, literals: Sequence[tuple[int, bool]]) -> Conjunction:
        """Return a conjunction, scored by all rows as if these were independent."""
        inside = self._inside(literals)
        if len(literals) == 1 and self._rate(inside) < self._rate(~inside):
            literals = [(column, not sign) for column, sign in literals]
            inside = ~inside
        h, n = (int(c[inside].sum()) for c in (self._rows.hits, self._rows.draws))
        counts = (np.array([x]) for x in (h, n, self._total - h, self._made - n))
        evidence = float(evidence_of_difference(*counts)[0]) if 0 < n < self._made else -math.inf
        if self._rate(inside) - self._rate(~inside) < self._difference:
            evidence = -math.inf
        return Conjunction(tuple(literals), inside, evidence - self._price(literals))

    def _price(self, literals: Sequence[tuple[int, bool]]) -> float:
        """Return minus the log of the prior weight: of the length, and of literals with signs."""
        length = len(literals)
        signs = math.log(2) if length > 1 else 0.0
        each = sum(signs - math.log(self._rows.weights[c]) for c, _ in literals)
        return each - math.log(_LENGTHS[length - 1]) - math.log(math.factorial(length))

    def _inside(self, literals: Sequence[tuple[int, bool]]) -> Mask:
        columns = [self._rows.literals[:, c] == sign for c, sign in literals]
        inside: Mask = np.logical_and.reduce(columns)
        return inside

    def _rate(self, inside: Mask) -> float:
        return float(self._rows.hits[inside].sum() / max(self._rows.draws[inside].sum(), 1))

    def judged(self, one: Conjunction, threshold: float) -> Conjunction:
        """Return a conjunction with the evidence that units do not just differ."""
        roles = frozenset().union(*(self._rows.constants[c] for c, _ in one.literals))
        evidence = self._scorer.evidence(one.inside, roles) - self._price(one.literals)
        if evidence < threshold and self._clear(one.inside):
            evidence = one.evidence
        return Conjunction(one.literals, one.inside, min(evidence, one.evidence))

    def _clear(self, inside: Mask) -> bool:
        """Return whether each of a few states inside is above each state outside."""
        units = self._rows.units[1].of_row
        # Where there are many literals, one of them separates the first few states by luck.
        if max(len(np.unique(units)), self._rows.literals.shape[1]) > _FEW:
            return False
        shares = [
            np.bincount(units[side], self._rows.hits[side])[np.unique(units[side])]
            / np.bincount(units[side], self._rows.draws[side])[np.unique(units[side])]
            for side in (inside, ~inside)
        ]
        return bool(shares[0].min() > shares[1].max())


class Scorer:
    """Evidence against "units differ, but not because of what is inside"."""

    def __init__(self, hits: Integers, draws: Integers, units: Sequence[Units]) -> None:
        self._hits, self._draws, self._units = hits, draws, units

    def evidence(self, inside: Mask, roles: frozenset[int] = frozenset()) -> float:
        """Return the log score of a division of the rows.

        Args:
            inside: The rows of one side.
            roles: Roles whose objects the division tells apart; that these differ is what it says.

        Returns:
            The log likelihood ratio against the best explanation without the division.
        """
        used = [i for i, one in enumerate(self._units) if one.role not in roles or one.role is None]
        null = max(self._equal, *(self._differing[i] for i in used))
        logs = [self._of_side(one, used, sure) for one, sure in ((inside, True), (~inside, False))]
        return sum(logs) - null

    def _of_side(self, rows: Mask, used: Sequence[int], sure: bool) -> float:
        """Return the log likelihood of one side: units are alike, certain, or differ."""
        hits, draws = self._hits[rows], self._draws[rows]
        alike, certain, differ = map(math.log, _SIDES)
        total, made = int(hits.sum()), int(draws.sum())
        logs = [alike + float(log_mixture(np.array([total]), np.array([made]))[0])]
        if total == (made if sure else 0):
            logs.append(certain)
        for i in used:
            each = _by_unit(hits, draws, self._units[i].of_row[rows])
            own = _log_mean_over_means(each) + differ - math.log(len(used) * len(_SIZES))
            logs += own.tolist()
        return log_sum_exp(logs)

    @cached_property
    def _equal(self) -> float:
        total, made = self._hits.sum()[None], self._draws.sum()[None]
        return float(log_best_likelihood(total, made)[0])

    @cached_property
    def _differing(self) -> list[float]:
        return [float(_by_unit(self._hits, self._draws, one.of_row).max()) for one in self._units]


def _by_unit(hits: Integers, draws: Integers, units: Integers) -> Floats:
    """Return the log likelihood of some rows for each size and mean of the beta distribution."""
    h, n = (np.bincount(units, counts).astype(np.int64) for counts in (hits, draws))
    drawn = n > 0
    pairs, times = np.unique(np.stack([h[drawn], n[drawn]]), axis=1, return_counts=True)
    total: Floats = np.zeros((len(_SIZES), len(MEANS)))
    for hit, draw, number in zip(*pairs.tolist(), times.tolist(), strict=True):
        total += number * _of_unit(hit, draw)
    return total


@lru_cache(maxsize=4096)
def _of_unit(hits: int, draws: int) -> Floats:
    mean = MEANS[:, 0]
    a, b = _SIZES * mean, _SIZES * (1 - mean)
    seen, missed = np.array(hits, dtype=np.int64), np.array(draws - hits, dtype=np.int64)
    score: Floats = log_rising(a, seen) + log_rising(b, missed) - log_rising(a + b, seen + missed)
    return score


def _log_mean_over_means(scores: Floats) -> Floats:
    mean: Floats = np.logaddexp.reduce(scores, axis=1) - math.log(scores.shape[1])
    return mean


def joint_counts(features: Mask, *columns: Integers) -> list[Floats]:
    """For each column of counts, sum up those of the states that have both of two features.

    A feature mostly comes with its opposite, whose sums follow by subtraction. So each product is
    a quarter of the size; larger ones also keep a second core busy with waiting.
    """
    # Of two opposites, one is true in the first state.
    opposite = ~features[0]
    patterns, which = np.unique(features ^ opposite, axis=1, return_inverse=True)
    weights = patterns.astype(np.float64)
    found = []
    for counts in columns:
        product = weights.T @ (weights * counts[:, None])
        joint, single = product[np.ix_(which, which)], product.diagonal()[which]
        joint = np.where(opposite[:, None], single - joint, joint)
        single = np.where(opposite, counts.sum() - single, single)
        found.append(np.where(opposite, single[:, None] - joint, joint))
    return found
