"""How far a model is from the exact truth, computed pair by pair."""

from __future__ import annotations

from capscope.analysis.evaluation.reference import TrueModel
from capscope.model import CapabilityModel, LearnedModel


def exact_distance(model: CapabilityModel, truth: TrueModel) -> float:
    """Return VD(h, h★); an intent that the model does not know counts as never tried."""
    known = set(model.capabilities)
    if isinstance(model, LearnedModel):
        model.anticipate(truth.states)
    total, transitions = 0.0, 0
    for (state, intent), outcomes in truth.table.items():
        prediction = model.predict(state, intent) if intent in known else {}
        for after, probability in outcomes.items():
            total += abs(prediction.get(after, 0.0) - probability)
        transitions += len(outcomes)
    return total / transitions if transitions else 0.0


def mean_total_variation(model: CapabilityModel, truth: TrueModel) -> float:
    """Return the mean over all true pairs of the total variation distance to the truth.

    Every pair has the same weight, however many outcomes it has; other learners of MDPs are
    measured this way. Probability that the model leaves open is an outcome of its own, which never
    happens. So a pair never tried is off by 1, the most there can be.
    """
    known = set(model.capabilities)
    total = 0.0
    for (state, intent), outcomes in truth.table.items():
        prediction = model.predict(state, intent) if intent in known else {}
        apart = sum(
            abs(prediction.get(after, 0.0) - outcomes.get(after, 0.0))
            for after in {**prediction, **outcomes}
        )
        total += (apart + abs(1 - sum(prediction.values()))) / 2
    return total / len(truth.table) if truth.table else 0.0
