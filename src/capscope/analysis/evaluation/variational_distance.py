"""How far a learned model is from the agent: exactly, and from samples.

Exactly: VD(h, h★) is the mean over all transitions of 𝒟★ of |Pr_h − Pr_h★|. A pair never tried has
Pr_h = 0 and counts in full, so coverage shows. The mean total variation distance weighs every pair
alike instead, however many outcomes it has; it is what other learners of MDPs are measured by.

From samples: an independent dataset 𝒟′ stands in for the truth. A mean over its transitions needs
weights. Weighted by 𝒟′, what the learner never explored counts; weighted by the learner's own
counts, as the paper's formula is printed, it does not.

So all three are one weighted mean over the transitions of a reference, and differ in the weights.
Model agreement is 1 − VD.

The paper's filter drops rules that never achieve their intent and capabilities that were never
achieved, since it asks about achievable intents only. It has two halves: of the reference those
pairs are kept in which the intent was achieved (`Reference.achieving`), and the model loses the
rules that never achieve theirs (`AchievingOnly`). Where the reference kept a pair about which the
model so filtered says nothing, the pair counts in full. Dropping it instead would flatter: a
learner that tried nothing would be right about all that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from capscope.analysis.evaluation.comparison import Comparison
from capscope.analysis.evaluation.reference import Floats, Reference
from capscope.analysis.evaluation.truth import TrueModel
from capscope.model.capability_model import CapabilityModel, Prediction
from capscope.symbolic import Intent, State, Vocabulary

Seen = Callable[[State, Intent], Mapping[State, int]]
"""How often a learner saw a pair end in each state."""


def exact_distance(model: CapabilityModel, truth: TrueModel) -> float:
    """Return VD(h, h★); an intent that the model does not know counts as never tried."""
    known = set(model.capabilities)
    total, transitions = 0.0, 0
    for (state, intent), outcomes in truth.table.items():
        prediction = model.predict(state, intent) if intent in known else {}
        for after, probability in outcomes.items():
            total += abs(prediction.get(after, 0.0) - probability)
        transitions += len(outcomes)
    return total / transitions if transitions else 0.0


def mean_total_variation(model: CapabilityModel, truth: TrueModel) -> float:
    """Return the mean over all true pairs of the total variation distance to the truth.

    Probability that the model leaves open is an outcome of its own, which never happens. So a pair
    never tried is off by 1, the most there can be.
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


def distance(comparison: Comparison, weights: Floats | None = None) -> float | None:
    """Return the weighted mean of |Pr_h − Pr| over the transitions of a reference.

    Weighted as the reference is, or by weights of one's own; None where they leave nothing to
    compare.
    """
    reference = comparison.reference
    weights = reference.weight if weights is None else weights
    total = weights.sum()
    gaps = np.abs(comparison.predicted - reference.probability)
    return float((weights * gaps).sum() / total) if total else None


def learned_weights(reference: Reference, seen: Seen) -> Floats:
    """Weigh each transition of a reference by how often the learner itself saw it."""
    weights: list[float] = []
    for state, intent, ends in reference.rows():
        outcomes = seen(state, reference.intents[intent])
        weights += [outcomes.get(end, 0) for end in ends]
    return np.array(weights, dtype=np.float64)


class AchievingOnly:
    """The paper's filter: a model without the rules that never achieve their intent."""

    def __init__(self, model: CapabilityModel, vocabulary: Vocabulary) -> None:
        self._model = model
        self._vocabulary = vocabulary

    @property
    def capabilities(self) -> list[Intent]:
        """The intents that the model speaks of."""
        return list(self._model.capabilities)

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Predict where the rule of the state can achieve the intent; say nothing elsewhere."""
        prediction = self._model.predict(state, capability)
        return prediction if achieves(prediction, capability, self._vocabulary) else {}


def achieves(outcomes: Iterable[State], intent: Intent, vocabulary: Vocabulary) -> bool:
    """Say whether the intent holds in one of the states."""
    return any(intent.holds(state, vocabulary) for state in outcomes)
