"""Is one side ahead in a group of strata? The sign test and the likelihood ratio together.

A stratum holds draws that can be compared with each other (those of one state, for example).

**Likelihood ratios of several strata.** Their product would pay for every stratum in which nothing
changed. So the bet is that a share ε of the strata changed: the product of 1 − ε + ε·ratio,
averaged over a few ε. That is an average of products over all subsets of strata, and therefore a
betting score, however strata depend on which others were reached.

**Both tests.** The mean of betting scores is a betting score, whatever they have to do with each
other. The sign test may match draws in several ways; the mean over these is averaged with the
likelihood ratio.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capscope.statistics.arrays import Floats, Integers, Mask
from capscope.statistics.log_space import log_mean_exp
from capscope.statistics.sign_test import log_evidence

_SHARES = (1 / 2, 1 / 8, 1 / 32)

Total: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""Sums rows, one for each stratum, over groups of strata."""


def log_stakes(log_ratios: ArrayLike, shares: Sequence[float]) -> Floats:
    """Return log(1 − ε + ε·ratio): a row for each ratio, a column for each share ε."""
    weights = np.log(shares)
    ratios = np.asarray(log_ratios, dtype=np.float64)[:, None]
    stakes: Floats = np.logaddexp(np.log1p(-np.exp(weights)), weights + ratios)
    return stakes


def evidence_of_some(log_ratios: ArrayLike, shares: Sequence[float]) -> float:
    """Return the log score against "all null hypotheses are true" if perhaps few are false."""
    return log_mean_exp(log_stakes(log_ratios, shares).sum(axis=0).tolist())


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
    log_ratios: Floats
    """Likelihood ratios; zero in strata whose draws are not exchangeable."""
    exchangeable: Mask

    @property
    def most(self) -> float:
        """An upper bound on the log score of any group of strata."""
        wins = self.wins.sum(axis=1).max(initial=0)
        return float(max(math.log(2) * wins, np.maximum(self.log_ratios, 0).sum()))

    def reaching(self, total: Total, thresholds: Floats) -> Iterator[GroupEvidence]:
        """Yield the groups of strata whose log score reaches their threshold."""
        wins, losses = total(self.wins.T), total(self.losses.T)
        ratios = self.likelihood_ratios(total)
        # No coin explains wins and losses better than this; it rules out most groups quickly.
        lead, compared = np.maximum(wins - losses, 0), np.maximum(wins + losses, 1)
        most = (math.log(2) * lead**2 / compared).max(axis=1, initial=0.0)
        ahead = (wins > losses).any(axis=1)
        for i in np.flatnonzero(ahead & (np.maximum(most, ratios) >= thresholds)).tolist():
            counts = [(int(won), int(lost)) for won, lost in zip(wins[i], losses[i], strict=True)]
            scores = [log_evidence(*count) for count in counts]
            evidence = log_mean_exp([log_mean_exp(scores), float(ratios[i])])
            if evidence >= thresholds[i]:
                yield GroupEvidence(i, *counts[int(np.argmax(scores))], evidence)

    def likelihood_ratios(self, total: Total) -> Floats:
        """Return, for each group of strata, the log score that some of them changed."""
        stakes = total(log_stakes(self.log_ratios, _SHARES))
        scores: Floats = np.logaddexp.reduce(stakes, axis=1) - math.log(len(_SHARES))
        # If there is only one, it is that one.
        alone = total(self.exchangeable.astype(np.float64)) == 1
        return np.where(alone, total(self.log_ratios), scores)
