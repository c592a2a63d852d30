"""How accurate a model is on stochastic pairs.

Few pairs of a problem may be stochastic, so a model can agree with the truth almost everywhere and
still have wrong probabilities. Here only the stochastic pairs count.
"""

from __future__ import annotations

from dataclasses import dataclass

from capscope.analysis.evaluation.reference import TrueModel
from capscope.model import CapabilityModel

CLOSE = 0.05
LIKELY = 0.1


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The accuracy of a model on the stochastic pairs."""

    pairs: int
    """The number of stochastic pairs."""
    close: float
    """The share of them whose probabilities are all within 0.05 of the truth."""
    missing: float
    """The share of them that lack an outcome of probability 0.1 or more."""


def fidelity(model: CapabilityModel, truth: TrueModel) -> Fidelity:
    """Compare a model with the truth on every pair with more than one outcome."""
    known = set(model.capabilities)
    pairs = close = missing = 0
    for (state, intent), outcomes in truth.table.items():
        if len(outcomes) < 2:
            continue
        predicted = model.predict(state, intent) if intent in known else {}
        pairs += 1
        close += all(
            abs(predicted.get(after, 0.0) - outcomes.get(after, 0.0)) <= CLOSE
            for after in {**predicted, **outcomes}
        )
        missing += any(
            share >= LIKELY - 1e-9 and not predicted.get(after) for after, share in outcomes.items()
        )
    return Fidelity(pairs, close / max(pairs, 1), missing / max(pairs, 1))
