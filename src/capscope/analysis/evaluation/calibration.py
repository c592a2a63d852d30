"""Whether a predicted success means what it says: of all that is foretold at 70 %, do 70 % succeed?

Pairs are put into ten bins of equal width by predicted success. In each bin the mean prediction is
held against the share that really succeeded; the error is the mean gap, weighted by executions (𝒟′)
or by pairs (truth). Held against each other pair by pair, a prediction of 70 % would always look
wrong after one execution; in a bin there are enough of them.

Two kinds of pairs are left out. Where the model says nothing there is no prediction to judge;
their share is `Comparison.unknown_share`. Where the intent holds already, nothing has to succeed:
almost every agent keeps it, almost every model says so, and such pairs would hide the others.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from capscope.analysis.evaluation.comparison import Comparison

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """The pairs whose predicted success lies in one tenth."""

    predicted: float
    """The mean prediction."""
    observed: float
    """The share that succeeded."""
    weight: float
    """The executions, or pairs, in the bin."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How predicted success compares with success."""

    error: float | None
    """The expected calibration error; None where the model predicts nothing."""
    bins: tuple[Bin, ...]
    """Those with something in them, in ascending order: the dots of a reliability diagram."""

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"error": self.error, "bins": [asdict(one) for one in self.bins]}


def calibration(comparison: Comparison) -> Calibration:
    """Hold predicted success against success, bin by bin."""
    reference = comparison.reference
    judged = ~(comparison.silent | reference.held)
    observed = np.bincount(
        reference.pair,
        weights=reference.probability * reference.achieved,
        minlength=len(judged),
    )[judged]
    predicted = comparison.success[judged]
    weight = reference.pair_weight[judged]
    place = np.minimum((predicted * BINS).astype(np.int64), BINS - 1)
    weights = np.bincount(place, weights=weight, minlength=BINS)
    sums = [np.bincount(place, weights=weight * v, minlength=BINS) for v in (predicted, observed)]
    bins = tuple(
        Bin(float(sums[0][i] / weights[i]), float(sums[1][i] / weights[i]), float(weights[i]))
        for i in np.flatnonzero(weights)
    )
    total = sum(one.weight for one in bins)
    gap = sum(one.weight * abs(one.predicted - one.observed) for one in bins)
    return Calibration(gap / total if total else None, bins)
