"""The odds of one pair: its own draws, drawn towards the odds of its outcome type.

How far the odds of the type count is learned from all pairs of the type. Either a pair is like the
others, then its odds are drawn from a Dirichlet distribution around those of the type, or it is an
odd one out, of which only its own draws tell. The strength of the Dirichlet distribution and the
share of odd ones are those of a small grid that explain the draws best. A type with few draws says
little about either, so what most types of the agent say is the prior for each (empirical Bayes). So
pairs that behave alike share their draws nearly completely, and pairs that differ keep to their
own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from capscope.logic import Effect
from capscope.stats.categorical import log_dirichlet, log_dirichlet_mixture

_STRENGTHS = 10.0, 30.0, 100.0, 1000.0
_ODD_ONES = 0.2, 0.05, 0.01
EffectCounts = Mapping[Effect, int]


class OddsPooling(NamedTuple):
    """How far the odds of a type count for one of its pairs."""

    strength: float = _STRENGTHS[0]
    """As many draws of the pair itself."""
    odd_one_out: float = _ODD_ONES[0]
    """The prior odds that a pair differs from the others of its type."""

    def log_likelihood(self, rows: Mapping[tuple[int, ...], int], odds: Sequence[float]) -> float:
        """Return how well it explains the draws of a type; an effect is drawn only if it has odds.

        `rows` are the draws of a pair, a number for each effect, and how many pairs have them.
        """
        score = 0.0
        odd = math.log(self.odd_one_out)
        for row, times in rows.items():
            as_type = log_dirichlet(row, [self.strength * share for share in odds])
            alone = log_dirichlet_mixture(row, len(row)) + odd
            high = max(as_type, alone)
            score += times * (high + math.log(math.exp(as_type - high) + math.exp(alone - high)))
        return score - sum(rows.values()) * math.log1p(self.odd_one_out)

    def odds_of(self, counts: EffectCounts, odds: Mapping[Effect, float]) -> dict[Effect, float]:
        """Return the odds of a pair with these draws.

        The more its draws speak against the odds of the type, the less these count (Bayes factor).
        """
        total = sum(counts.values())
        effects = list(dict.fromkeys([*counts, *odds]))
        drawn = [counts.get(effect, 0) for effect in effects]
        prior = [self.strength * odds.get(effect, 0.0) for effect in effects]
        alike = 0.0
        if all(p or not n for n, p in zip(drawn, prior, strict=True)):
            as_type = log_dirichlet(drawn, prior)
            alone = log_dirichlet_mixture(tuple(drawn), len(effects))
            alike = 1.0 / (1.0 + self.odd_one_out * math.exp(min(alone - as_type, 700.0)))
        return {
            effect: alike * (n + p) / (total + self.strength) + (1.0 - alike) * n / total
            for effect, n, p in zip(effects, drawn, prior, strict=True)
        }


GRID = tuple(OddsPooling(strength, odd) for strength in _STRENGTHS for odd in _ODD_ONES)


def fit_poolings(
    pairs: Mapping[int, Sequence[EffectCounts]], odds: Sequence[Mapping[Effect, float]]
) -> dict[int, OddsPooling]:
    """Return the pooling of each type that has several outcomes, given the draws of its pairs."""
    types = [number for number in pairs if len(odds[number]) > 1]
    if not types:
        return {}
    scores = np.array([_log_likelihoods(pairs[number], odds[number]) for number in types])
    scores -= scores.max(axis=1, keepdims=True)
    weights = np.exp(scores)
    usual = (weights / weights.sum(axis=1, keepdims=True)).sum(axis=0) + 1.0 / len(GRID)
    best = (scores + np.log(usual)).round(6).argmax(axis=1)
    return {number: GRID[i] for number, i in zip(types, best.tolist(), strict=True)}


def _log_likelihoods(pairs: Iterable[EffectCounts], odds: Mapping[Effect, float]) -> list[float]:
    # A pair with an effect that the type lacks is an odd one, whatever the grid says.
    rows = Counter(
        tuple(counts.get(effect, 0) for effect in odds)
        for counts in pairs
        if counts.keys() <= odds.keys()
    )
    shares = list(odds.values())
    return [pooling.log_likelihood(rows, shares) for pooling in GRID]
