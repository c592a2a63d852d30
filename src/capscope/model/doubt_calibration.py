"""How often predictions for untried pairs fail, learned from pairs that were held out.

The experts' disagreement is no probability. In a kitchen they agreed on what seven of ten pairs do,
and were wrong about them: all had learned the same habit. So every state is held out once: what was
tried there is predicted from all other states, and compared. The log odds of a failure are then

    a + b · (log odds of the disagreement) + (an offset of the capability)

with `a`, `b` and the offsets fitted twice: to predictions that something changes, and to those that
nothing does. These differ most. An agent that is asked for something out of reach does nothing,
which is easy to foresee, while a change has many details to be wrong about. Normal priors draw the
slope towards 1 and everything else towards 0, so without evidence the disagreement is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log
from typing import NamedTuple

import numpy as np

from capscope.stats.arrays import Floats, Integers

# Standard deviations of the priors. Those of the offsets were chosen by the log loss of untried
# pairs in Blocksworld and Overcooked.
_INTERCEPT = 1.5
_SLOPE = 0.5
_OFFSET = 1.0
_LEAST = 0.01  # disagreement below this says no more
_ROUNDS = 50
_CONVERGED = 1e-9


class HeldOutPrediction(NamedTuple):
    """A prediction for a tried pair that was made without what was tried in its state."""

    capability: int
    changes: bool
    """Whether it predicted that the state changes."""
    disagreement: float
    missed: float
    """The share of the pair's executions that ended in none of the predicted states."""


class DoubtCalibration:
    """The probability that a prediction fails, given how far the experts disagree."""

    def __init__(self, held_out: Iterable[HeldOutPrediction]) -> None:
        held_out = list(held_out)
        self._weights = [
            _fit([one for one in held_out if one.changes == changes]) for changes in (False, True)
        ]

    def doubt(self, capability: int, changes: bool, disagreement: float) -> float:
        """Return how likely a prediction fails."""
        intercept, slope, *offsets = self._weights[changes].tolist()
        score = intercept + slope * _log_odds(disagreement)
        if capability < len(offsets):
            score += offsets[capability]
        return 1.0 / (1.0 + exp(-score))


def _log_odds(disagreement: float) -> float:
    share = min(max(disagreement, _LEAST), 1.0 - _LEAST)
    return log(share / (1.0 - share))


def _fit(held_out: Sequence[HeldOutPrediction]) -> Floats:
    """Return the intercept, the slope and the offsets that are most probable a posteriori."""
    capabilities = 1 + max((one.capability for one in held_out), default=-1)
    prior = np.zeros(2 + capabilities)
    prior[1] = 1.0
    spread = np.array([_INTERCEPT, _SLOPE, *[_OFFSET] * capabilities])
    score = np.array([_log_odds(one.disagreement) for one in held_out])
    column: Integers = np.array([2 + one.capability for one in held_out], dtype=np.int64)
    features = np.zeros((len(held_out), len(prior)))
    features[:, 0] = 1.0
    features[:, 1] = score
    features[np.arange(len(held_out)), column] = 1.0
    missed = np.array([one.missed for one in held_out])

    def log_posterior(weights: Floats) -> float:
        score = features @ weights
        prior_loss = (((weights - prior) / spread) ** 2).sum() / 2
        return float(missed @ score - np.logaddexp(0.0, score).sum() - prior_loss)

    weights, reached = prior, log_posterior(prior)
    for _ in range(_ROUNDS):  # Newton's method; the posterior has one maximum
        failing = 1.0 / (1.0 + np.exp(-(features @ weights)))
        gradient = features.T @ (missed - failing) - (weights - prior) / spread**2
        curvature = (features.T * (failing * (1.0 - failing))) @ features + np.diag(spread**-2.0)
        step = np.linalg.solve(curvature, gradient)
        while log_posterior(weights + step) < reached and np.abs(step).max() > _CONVERGED:
            step = step / 2  # a full step may go too far
        weights = weights + step
        reached = log_posterior(weights)
        if np.abs(step).max() <= _CONVERGED:
            break
    return weights
