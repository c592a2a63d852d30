"""How often does asking again show something new, and what can be said of a pair drawn once?

The first draw of a pair shows an outcome without saying how probable it is; only further draws
repeat it or do not. So the outcomes of a pair break a stick in the order in which they were first
seen: the first has the probability 1 − f₁, the second f₁ (1 − f₂), and so on, and what is left in
the end was never seen. The draw that shows an outcome first only gives it its place.

Most pairs have few draws, so the values of f in a group of outcomes are taken to come from one beta
distribution. Which one is uncertain, and each of a grid counts by how well it explains the draws.
Groups with few draws are informed by the others: the distributions of the groups are drawn from a
Dirichlet process, so that groups may share one (Gibbs sampling). If all groups repeat themselves, a
group with one draw probably does, too; if some do not, it may be one of those.

Two precautions, since one pair may fail where all others do not, or all pairs of a group alike. A
distribution is worth at most eight draws of a pair (`_MOST_ALIKE`), and as if a tenth of a draw had
shown something new (`_LEAST_NEW`). And the values of a group are all at the same quantile of their
distributions in a sample: independent values would average out what is not known about the group.
Without these, a pair in each capability that fails with 0.1 made 20 % of the intervals false.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from capscope.stats.arrays import Floats, Integers
from capscope.stats.partial_pooling import MEANS, SIZES, log_rising

T = TypeVar("T", bound=Hashable)

SAMPLES = 400
"""Of the probabilities of a group."""
_MOST_NUMBERS = 1_000_000  # in a batch of samples
_MOST_ALIKE, _LEAST_NEW = 8.0, 0.1
_ALIKE: Floats = SIZES[SIZES[:, 0, 0] <= _MOST_ALIKE]
_NEW = np.maximum(MEANS * _ALIKE, _LEAST_NEW).ravel()
_OLD = ((1 - MEANS) * _ALIKE).ravel()
_LOG_PRIOR = np.log(np.repeat(_ALIKE.ravel() ** -0.5, len(MEANS)))
_LOG_PRIOR -= np.log(np.exp(_LOG_PRIOR).sum())
_BURN_IN = 20
_SAMPLES_EACH = 4
"""Samples of probabilities for each sample of the distributions."""


class Stick(NamedTuple):
    """An outcome of a pair: the draws that showed later ones, and those that repeated it."""

    later: int
    repeated: int


def sticks_of(counts: Sequence[int]) -> list[Stick]:
    """Return the sticks of a pair's outcomes, given in the order in which they were first seen.

    >>> sticks_of([3, 1])
    [Stick(later=1, repeated=2), Stick(later=0, repeated=0)]
    """
    return [Stick(sum(counts[i + 1 :]), count - 1) for i, count in enumerate(counts)]


def in_order_of_appearance(counts: Mapping[T, int], rng: np.random.Generator) -> dict[T, int]:
    """Return counts in an order in which the outcomes may have been seen first.

    If all orders of the draws are equally likely, an outcome is first with the probability of its
    share. Taking the most frequent one as the first would make surprises look rare.
    """
    if len(counts) == 1:
        return dict(counts)
    keys, sizes = list(counts), np.array(list(counts.values()), dtype=np.float64)
    order = rng.choice(len(sizes), len(sizes), replace=False, p=sizes / sizes.sum())
    return {keys[i]: counts[keys[i]] for i in order.tolist()}


def sampled_distributions(
    groups: Sequence[Sequence[Stick]], rng: np.random.Generator, samples: int = SAMPLES
) -> Integers:
    """Sample which beta distribution the values of each group come from.

    Args:
        groups: The sticks of each group.
        rng: The source of chance.
        samples: How many to draw.

    Returns:
        A row for each group, with the number of a distribution of the grid for each sample.
    """
    found = np.empty((len(groups), samples), dtype=np.int64)
    scores = np.array([_log_scores(sticks) for sticks in groups]).reshape(len(groups), len(_NEW))
    cells = np.array([_drawn(own + _LOG_PRIOR, rng) for own in scores], dtype=np.int64)
    for sample in range(-_BURN_IN * _SAMPLES_EACH, samples, _SAMPLES_EACH):
        for group, own in enumerate(scores):
            # It shares the distribution of another group, or has one of its own.
            others = np.delete(cells, group)
            mass = np.append(own[others], np.logaddexp.reduce(own + _LOG_PRIOR))
            place = _drawn(mass, rng)
            alone = place == len(others)
            cells[group] = _drawn(own + _LOG_PRIOR, rng) if alone else others[place]
        for cell in np.unique(cells):
            alike = cells == cell
            cells[alike] = _drawn(_LOG_PRIOR + scores[alike].sum(axis=0), rng)
        if sample >= 0:
            found[:, sample : sample + _SAMPLES_EACH] = cells[:, None]
    return found


def _log_scores(sticks: Sequence[Stick]) -> Floats:
    """Return the log likelihood of some sticks under each distribution of the grid."""
    alike = Counter(stick for stick in sticks if stick != (0, 0))
    rows = [(*stick, times) for stick, times in alike.items()]
    later, repeated, times = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    a, b = _NEW[:, None], _OLD[:, None]
    each = log_rising(a, later) + log_rising(b, repeated) - log_rising(a + b, later + repeated)
    scores: Floats = each @ times
    return scores


def _drawn(logs: Floats, rng: np.random.Generator) -> int:
    mass = np.cumsum(np.exp(logs - logs.max()))
    return int(np.searchsorted(mass, rng.random() * mass[-1]))


@dataclass(frozen=True)
class ProbabilitySampler:
    """Samples the probabilities of all outcomes of some pairs together."""

    pairs: Sequence[Sequence[Stick]]
    """The sticks of each pair."""
    group: Sequence[int]
    """The row of `cells` for each stick, in their order."""
    cells: Integers
    """From `sampled_distributions`."""
    seed: int

    def batches(self, places: Integers) -> Iterator[Floats]:
        """Yield samples of some outcomes, a row for each sample.

        Args:
            places: The outcomes, counted from the first one of the first pair to the last one of
                the last; a number beyond is an outcome never drawn there, with probability 0.
        """
        drawn = self.sampled()
        drawn = np.hstack([drawn, np.zeros((len(drawn), 1))])
        at_a_time = max(1, _MOST_NUMBERS // max(len(places), 1))
        for first in range(0, len(drawn), at_a_time):
            yield drawn[first : first + at_a_time, places]

    def sampled(self) -> Floats:
        """Return samples of all outcomes; those of a pair sum to less than one."""
        rng, cells = np.random.default_rng(self.seed), self.cells
        sticks = np.array([s for pair in self.pairs for s in pair]).reshape(-1, 2)
        group = np.array(self.group, dtype=np.int64)
        own = cells[group].T
        left = rng.beta(_NEW[own] + sticks[:, 0], _OLD[own] + sticks[:, 1])
        # Sorted, all values of a group are low or high together; groups stay independent.
        left.sort(axis=0)
        for number in range(len(cells)):
            members = group == number
            left[:, members] = rng.permutation(left[:, members])
        kept: Floats = 1.0 - left
        begin = 0
        for pair in self.pairs:
            here = slice(begin, begin + len(pair))
            if len(pair) > 1:
                kept[:, here][:, 1:] *= np.cumprod(left[:, here], axis=1)[:, :-1]
            begin = here.stop
        return kept
