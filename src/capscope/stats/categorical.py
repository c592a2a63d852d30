"""Do groups of draws with several possible outcomes share one distribution?

The score compares two explanations of the draws. The alternative gives every group its own
distribution, averaged over all distributions (a Dirichlet mixture with ½ for each outcome). The
null hypothesis gives all groups one distribution, the one that explains the draws best. An average
on one side and the maximum on the other make the ratio a betting score, whatever rule chose the
draws (universal inference). Tests that assume a fixed number of draws, such as Fisher's or χ²,
would not do: strategies draw again after a surprising answer.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from capscope.stats.arrays import Floats, Integers

T = TypeVar("T")


@lru_cache(maxsize=65536)
def log_dirichlet_mixture(counts: tuple[int, ...], outcomes: int) -> float:
    """Return the log likelihood of a sequence of draws, averaged over Dirichlet(½, …, ½).

    `outcomes` is how many there are; those without a count may be omitted from `counts`.
    """
    inside = sum(math.lgamma(n + 0.5) - math.lgamma(0.5) for n in counts)
    return math.lgamma(outcomes / 2) - math.lgamma(sum(counts) + outcomes / 2) + inside


def log_dirichlet(counts: Sequence[int], prior: Sequence[float]) -> float:
    """Return the log likelihood of a sequence of draws, averaged over a Dirichlet distribution.

    An outcome with a prior of 0 is impossible, and must not have been drawn.
    """
    possible = [(n, a) for n, a in zip(counts, prior, strict=True) if a]
    inside = sum(math.lgamma(n + a) - math.lgamma(a) for n, a in possible)
    whole = sum(a for _, a in possible)
    return math.lgamma(whole) - math.lgamma(whole + sum(counts)) + inside


def log_best_likelihood(counts: Iterable[int]) -> float:
    """Return the log likelihood of a sequence of draws under the distribution that fits best."""
    positive = [n for n in counts if n]
    total = sum(positive)
    return math.fsum(n * math.log(n / total) for n in positive)


def evidence_of_two_distributions(
    one: Mapping[T, int], other: Mapping[T, int], outcomes: int
) -> float:
    """Return the log score against "both groups of draws have the same distribution"."""
    own = sum(log_dirichlet_mixture(tuple(c.values()), outcomes) for c in (one, other))
    return own - log_best_likelihood((Counter(one) + Counter(other)).values())


def evidence_of_distinct_groups(
    question: Integers, group: Integers, outcome: Integers, count: Integers
) -> Floats:
    """Return, for each question, the log score against "all its groups have one distribution".

    The columns have a row for each outcome that a group showed, in the order of questions (numbered
    from 0) and groups. A question has as many outcomes as its groups showed together.
    """
    questions = int(question.max(initial=-1)) + 1
    codes = outcome.max(initial=0) + 1
    code, which = np.unique(question * codes + outcome, return_inverse=True)
    asked = code // codes
    total = np.bincount(which, count, len(code))
    outcomes = np.bincount(asked, minlength=questions)
    draws = np.bincount(question, count, questions)
    best = np.bincount(asked, total * np.log(total), questions) - draws * np.log(draws)
    begins = np.flatnonzero(np.diff(question, prepend=-1) | np.diff(group, prepend=-1))
    here = question[begins]
    drawn = np.add.reduceat(count, begins) if len(begins) else begins
    whole = _log_gamma_of_halves(outcomes[here]) - _log_gamma_of_halves(2 * drawn + outcomes[here])
    parts = _log_gamma_of_halves(2 * count + 1) - math.lgamma(0.5)
    own = np.bincount(here, whole, questions) + np.bincount(question, parts, questions)
    score: Floats = own - best
    return score


def evidence_of_splits(inside: Integers, outside: Integers) -> Floats:
    """Return, for each split, the log score against "both sides have the same distribution".

    Each split is a row of counts on either side, a number for each outcome. The outcomes are those
    of the columns, seen or not.
    """
    outcomes = inside.shape[1]
    score: Floats = -_log_best(inside + outside)
    for counts in (inside, outside):
        score += _log_gamma_of_halves(2 * counts + 1).sum(axis=1) - outcomes * math.lgamma(0.5)
        score += math.lgamma(outcomes / 2) - _log_gamma_of_halves(2 * counts.sum(axis=1) + outcomes)
    return score


def _log_best(counts: Integers) -> Floats:
    """Return for each row the log likelihood under the distribution that fits best."""
    total = counts.sum(axis=1)
    inside = (counts * np.log(np.maximum(counts, 1))).sum(axis=1)
    best: Floats = inside - total * np.log(np.maximum(total, 1))
    return best


def _log_gamma_of_halves(halves: Integers) -> Floats:
    """Return log Γ of numbers given in halves; few of them differ."""
    values, which = np.unique(halves, return_inverse=True)
    logs = np.array([math.lgamma(value / 2) for value in values.tolist()])
    return logs[which].reshape(halves.shape)
