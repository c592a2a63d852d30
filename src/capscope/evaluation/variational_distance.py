"""How far a learned model is from the agent: exactly, and from samples.

Exactly: VD(h, h★) is the mean over all transitions of 𝒟★ of |Pr_h − Pr_h★|. A pair never tried has
Pr_h = 0 and counts in full, so coverage shows. The mean total variation distance weighs every pair
alike instead, however many outcomes it has; it is what other learners of MDPs are measured by.

From samples: an independent dataset 𝒟′ stands in for the truth. A mean over its transitions needs
weights. Weighted by 𝒟′, what the learner never explored counts; weighted by the learner's own
counts, as the paper's formula is printed, it does not.

Model agreement is 1 − VD. The paper's filter drops rules that never achieve their intent and
capabilities that were never achieved, since it asks about achievable intents only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from capscope.data.dataset import Dataset, Transition
from capscope.evaluation.truth import TrueModel
from capscope.model import Models
from capscope.model.capability_model import CapabilityModel, Prediction
from capscope.symbolic import Intent, State, Vocabulary


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


def sampled_distance(
    model: CapabilityModel,
    sample: Mapping[Transition, int],
    intents: list[Intent],
    learned: Dataset | None = None,
) -> float | None:
    """Return VD_s on a sample, weighted by the sample or by the counts of `learned`.

    None where the weights leave nothing to compare. A transition names its capability by its place
    in `intents`, in the sample and in `learned` alike.
    """
    executions: Counter[tuple[State, int]] = Counter()
    for (before, capability, _), count in sample.items():
        executions[before, capability] += count
    total = weights = 0.0
    for (before, capability, after), count in sample.items():
        seen = learned.outcomes(before, capability).get(after, 0) if learned else count
        if not seen:
            continue
        frequency = count / executions[before, capability]
        predicted = model.predict(before, intents[capability]).get(after, 0.0)
        total += seen * abs(frequency - predicted)
        weights += seen
    return total / weights if weights else None


class AchievingOnly:
    """The paper's filter: a model without the rules that never achieve their intent."""

    def __init__(self, models: Models) -> None:
        self._model = models.pessimistic
        self._vocabulary = models.vocabulary

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


def achieving_truth(truth: TrueModel, vocabulary: Vocabulary) -> TrueModel:
    """Apply the paper's filter to the truth: keep the pairs in which the intent can be achieved."""
    table = {
        (state, intent): outcomes
        for (state, intent), outcomes in truth.table.items()
        if achieves(outcomes, intent, vocabulary)
    }
    kept = {intent for _, intent in table}
    return TrueModel([i for i in truth.capabilities if i in kept], truth.states, table)
