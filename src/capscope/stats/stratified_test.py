"""Is one side ahead in a group of strata? The sign test and the likelihood ratio together.

A stratum holds draws that can be compared with each other (those of one state, for example).

**The sign test.** Textbook tests compare proportions and take the numbers of draws as fixed. Here a
strategy asks again after a surprise, and summed over a thousand states that bias alone looks like a
difference. So the i-th draw of a state in one run is compared with the i-th of the same state in
the other. If the agents are the same, each side is equally likely to win a disagreement, whatever
was drawn before: a toss. For a bias η, the score is multiplied by 1 + η at each win and by 1 − η at
each loss, and averaged over several η (`_BIASES`), most of the weight on what a change by 10 to 25
points makes of the tosses. A mixture over all coins (Jeffreys) would cost half a nat more, and bets
on the rate predicted from earlier pairs found a loss of 15 points less often.

With success probability θ in both runs, a win and a loss both have the probability θ(1 − θ), so the
mean of the next factor is 1 for every θ: the score is a martingale, and its highest value counts
(Ville's inequality), not the last. Over several states this needs an order of all pairs such that
only earlier pairs decide whether a later one is drawn; where there was none, the highest score
still reached 20 in 4 % of the runs (`tests/stats/test_sign_test.py`).

**Likelihood ratios.** Their product over strata would pay for every stratum in which nothing
changed. So the bet is that a share ε of the strata changed: the product of 1 − ε + ε·ratio,
averaged over a few ε. That is an average of products over all subsets of strata.

**Both tests.** A weighted mean of betting scores is one. The sign test has seven eighths, because
it has none to spare for a change by 15 points; a complete change shows with one eighth. If draws
can be matched in several ways, the score is the mean over these, and only that of the first way may
be watched while draws are made: what is compared in the others is known only in the end.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capscope.stats.arrays import Floats, Integers, Mask

_BIASES = np.array([0.02, 0.06, 0.14, 0.28, 0.42, 0.57, 0.75, 0.97])
_WEIGHTS = np.array([0.02, 0.04, 0.06, 0.19, 0.22, 0.2, 0.12, 0.15])
_WIN, _LOSS, _LOG_WEIGHTS = np.log1p(_BIASES), np.log1p(-_BIASES), np.log(_WEIGHTS)


def log_evidence(wins: ArrayLike, losses: ArrayLike) -> Floats:
    """Return the log score against "the first side does not win more often than it loses".

    >>> round(float(np.exp(log_evidence(14, 0))))
    2439
    >>> bool(log_evidence(7, 7) < 0)
    True
    """
    won, lost = np.asarray(wins)[..., None], np.asarray(losses)[..., None]
    score: Floats = np.logaddexp.reduce(won * _WIN + lost * _LOSS + _LOG_WEIGHTS, axis=-1)
    return score


def highest_log_evidence(leads: ArrayLike) -> float:
    """Return the highest log score ever, of wins (1), losses (−1) and ties (0) in order.

    >>> highest_log_evidence([1] * 20 + [-1] * 30) == float(log_evidence(20, 0))
    True
    """
    tosses = np.asarray(leads)
    tosses = tosses[tosses != 0]
    scores = log_evidence(np.cumsum(tosses > 0), np.cumsum(tosses < 0))
    return float(scores.max(initial=0.0))


_SHARES = (1 / 2, 1 / 8, 1 / 32)
_SIGNS, _RATIOS = 7 / 8, 1 / 8

Total: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""Sums rows, one for each stratum, over groups of strata."""


def log_stakes(log_ratios: ArrayLike, shares: Sequence[float]) -> Floats:
    """Return log(1 − ε + ε·ratio): a row for each ratio, a column for each share ε."""
    weights = np.log(shares)
    ratios = np.asarray(log_ratios, dtype=np.float64)[:, None]
    stakes: Floats = np.logaddexp(np.log1p(-np.exp(weights)), weights + ratios)
    return stakes


class GroupEvidence(NamedTuple):
    """A group of strata in which one side is ahead."""

    group: int
    wins: int
    losses: int
    """By the way of matching draws that shows most."""
    log_evidence: float


@dataclass(frozen=True)
class StratifiedEvidence:
    """The evidence, stratum by stratum, that one side is ahead."""

    wins: Integers
    losses: Integers
    """One row for each way of matching draws, one column for each stratum."""
    leads: Integers
    """Wins (1), losses (−1) and ties (0) by the first way, in the order of the draws."""
    log_ratios: Floats
    """Likelihood ratios; zero in strata whose draws are not exchangeable."""
    exchangeable: Mask

    @property
    def most(self) -> float:
        """An upper bound on the log score of any group of strata."""
        wins = self.wins.sum(axis=1).max(initial=0)
        return float(max(math.log(2) * wins, np.maximum(self.log_ratios, 0).sum()))

    def everywhere(self) -> GroupEvidence:
        """Return the evidence of all strata together, the highest that it ever was."""
        (group,) = self._groups(lambda values: values.sum(axis=0, keepdims=True))
        highest = highest_log_evidence(self.leads) + math.log(_SIGNS / len(self.wins))
        return group._replace(log_evidence=max(group.log_evidence, highest))

    def reaching(self, total: Total, thresholds: Floats) -> Iterator[GroupEvidence]:
        """Yield the groups of strata whose log score reaches their threshold."""
        return self._groups(total, thresholds)

    def _groups(self, total: Total, thresholds: Floats | None = None) -> Iterator[GroupEvidence]:
        """Yield all groups; with thresholds, those in which one side is ahead and reach them."""
        wins, losses = total(self.wins.T), total(self.losses.T)
        signs = np.logaddexp.reduce(log_evidence(wins, losses), axis=1) - math.log(len(self.wins))
        ratios = self.likelihood_ratios(total)
        scores = np.logaddexp(signs + math.log(_SIGNS), ratios + math.log(_RATIOS))
        shown = np.ones(len(scores), dtype=bool)
        if thresholds is not None:
            shown = (wins > losses).any(axis=1) & (scores >= thresholds)
        for i in np.flatnonzero(shown).tolist():
            best = int(np.argmax(wins[i] - losses[i]))
            yield GroupEvidence(i, int(wins[i, best]), int(losses[i, best]), float(scores[i]))

    def likelihood_ratios(self, total: Total) -> Floats:
        """Return, for each group of strata, the log score that some of them changed."""
        stakes = total(log_stakes(self.log_ratios, _SHARES))
        scores: Floats = np.logaddexp.reduce(stakes, axis=1) - math.log(len(_SHARES))
        # If there is only one, it is that one.
        alone = total(self.exchangeable.astype(np.float64)) == 1
        return np.where(alone, total(self.log_ratios), scores)
