"""Executions that go on until something changes: the rounds in which nothing did went unseen.

An agent that waits for a machine to fail acts until one does. Its execution never ends without a
change, so the failures are independent in each round, but not in an execution: of three machines
that fail with 0.05 each, one is down afterwards in nearly all executions. The rates by round are
those that explain the executions best, found by expectation maximization: given rates, an execution
took on average `1 / (1 - none)` rounds, where `none` is the probability of a round without change.
"""

from typing import NamedTuple

import numpy as np

from capscope.stats.arrays import Floats, Integers, Mask

_MOST_STEPS = 500
_CLOSE = 1e-5


class Trials(NamedTuple):
    """What could have happened in some executions: a row for each instance of a part."""

    of: Integers
    """The execution of each row, or several that went alike."""
    hits: Integers
    """How often the instance changed."""
    times: Integers
    """How often each execution occurred; 0 if it does not tell about the rates."""
    went_on: Mask
    """Of each execution: whether nothing else changed, so that it may have had more rounds."""

    def rounds(self, rates: Floats) -> Floats:
        """Return the expected number of rounds of each execution, given the rate of each row."""
        sizes = len(self.times)
        with np.errstate(divide="ignore"):
            none = np.exp(np.bincount(self.of, np.log1p(-np.minimum(rates, 1.0)), minlength=sizes))
        changes = np.where(self.went_on, 1.0 - none, 1.0)
        return 1.0 / np.maximum(changes, _CLOSE)

    def rates(self, leaf: Integers) -> tuple[Floats, Floats]:
        """Return the rates by round.

        Args:
            leaf: The number of the rate of each row.

        Returns:
            The rates, and the expected rounds of each execution.
        """
        size = int(leaf.max(initial=-1)) + 1
        times = self.times
        hits = np.bincount(leaf, np.where(times[self.of], self.hits, 0), minlength=size)
        draws = np.bincount(leaf, times[self.of], minlength=size)
        rates, rounds = _posterior(hits, draws), np.ones(len(times))
        for _ in range(_MOST_STEPS if self.went_on.any() else 0):
            rounds = self.rounds(rates[leaf])
            draws = np.bincount(leaf, (times * rounds)[self.of], minlength=size)
            before, rates = rates, _posterior(hits, draws)
            if np.abs(rates - before).max(initial=0.0) < _CLOSE:
                break
        return rates, rounds


def _posterior(hits: Floats | Integers, draws: Floats | Integers) -> Floats:
    return np.where(hits > 0, (hits + 0.5) / (draws + 1.0), 0.0)
