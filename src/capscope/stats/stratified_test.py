"""Is one side ahead in a group of strata? The sign test and the likelihood ratio together.

A stratum holds draws that can be compared with each other (those of one state, for example).

**Likelihood ratios of several strata.** Their product would pay for every stratum in which nothing
changed. So the bet is that a share ε of the strata changed: the product of 1 − ε + ε·ratio,
averaged over a few ε. That is an average of products over all subsets of strata, and therefore a
betting score, however strata depend on which others were reached.

**Both tests.** A weighted mean of betting scores is a betting score, whatever they have to do with
each other. The sign test has seven eighths, because it has none to spare for a change by 15 points;
a complete change, which the likelihood ratio is for, shows with one eighth. The sign test may match
draws in several ways; its score is the mean over these.

**At any time.** A score may be watched while draws are made, and its highest value counts (Ville's
inequality). This is done for all strata together and for the first way of matching; what is
compared in the other ways is known only in the end.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.sign_test import highest_log_evidence, log_evidence

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


class _Groups(NamedTuple):
    """Groups of strata: a row for each; wins and losses have a column for each way of matching."""

    wins: Integers
    losses: Integers
    log_evidence: Floats

    def named(self, group: int) -> GroupEvidence:
        best = int(np.argmax(self.wins[group] - self.losses[group]))
        won, lost = int(self.wins[group, best]), int(self.losses[group, best])
        return GroupEvidence(group, won, lost, float(self.log_evidence[group]))


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
        groups = self._groups(lambda values: values.sum(axis=0, keepdims=True))
        highest = highest_log_evidence(self.leads) + math.log(_SIGNS / len(self.wins))
        return groups.named(0)._replace(log_evidence=max(float(groups.log_evidence[0]), highest))

    def reaching(self, total: Total, thresholds: Floats) -> Iterator[GroupEvidence]:
        """Yield the groups of strata whose log score reaches their threshold."""
        groups = self._groups(total)
        ahead = (groups.wins > groups.losses).any(axis=1)
        for i in np.flatnonzero(ahead & (groups.log_evidence >= thresholds)).tolist():
            yield groups.named(i)

    def _groups(self, total: Total) -> _Groups:
        wins, losses = total(self.wins.T), total(self.losses.T)
        signs = np.logaddexp.reduce(log_evidence(wins, losses), axis=1) - math.log(len(self.wins))
        ratios = self.likelihood_ratios(total)
        joined = np.logaddexp(signs + math.log(_SIGNS), ratios + math.log(_RATIOS))
        return _Groups(wins, losses, joined)

    def likelihood_ratios(self, total: Total) -> Floats:
        """Return, for each group of strata, the log score that some of them changed."""
        stakes = total(log_stakes(self.log_ratios, _SHARES))
        scores: Floats = np.logaddexp.reduce(stakes, axis=1) - math.log(len(_SHARES))
        # If there is only one, it is that one.
        alone = total(self.exchangeable.astype(np.float64)) == 1
        return np.where(alone, total(self.log_ratios), scores)
