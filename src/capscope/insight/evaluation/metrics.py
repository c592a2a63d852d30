"""How well a model predicts a reference: distance, unknowns, possible outcomes, calibration.

**Variational distance** is a weighted mean of |Pr_model − Pr| over the transitions of a reference;
model agreement is 1 minus it. A pair never tried is predicted with 0, so coverage counts. With the
exact truth (VD(h, h★) of the paper), every transition has the same weight. With a sample 𝒟′, the
weights are its counts, or the learner's own counts, as the paper's formula is printed; then what
the learner never explored does not count.

**Calibration**: of all that is predicted with 70 %, do 70 % succeed? Ten bins of pairs by predicted
success. Pairs without a prediction are left out, and so are those whose intent holds already:
almost every agent keeps it, and these pairs would hide the others.

**The paper's filter** asks about achievable intents only. It keeps the pairs of the reference in
which the intent was achieved (`Reference.achieving`) and the rules of the model that achieve
theirs. A pair that is kept although the filtered model does not predict it counts in full;
otherwise a learner that tried nothing would have perfect agreement.
"""

from dataclasses import dataclass

import numpy as np

from capscope.insight.evaluation.reference import Reference
from capscope.logic import Effect
from capscope.model import LearnedModel, StateGraph
from capscope.model.extreme_models import CapabilityModel
from capscope.stats.arrays import Floats, Integers, Mask

BINS = 10


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """What a model predicts, in the order of the reference."""

    reference: Reference
    predicted: Floats
    """Of each transition: the predicted probability."""
    success: Floats
    """Of each pair: the predicted probability that the intent holds afterwards."""
    successors: Integers
    """Of each pair: how many outcomes the model considers possible; 0 without a prediction."""

    @property
    def silent(self) -> Mask:
        """Of each pair: whether the model makes no prediction."""
        flags: Mask = self.successors == 0
        return flags

    @property
    def unknown_share(self) -> float | None:
        """The fraction of pairs (truth) or executions (𝒟′) without a prediction.

        Like the other shares, it is None if there is nothing to compare.
        """
        return _share(self.silent, self.reference.pair_weight)

    @property
    def outcomes_foreseen(self) -> float | None:
        """The fraction of transitions (truth) or executions (𝒟′) with a predicted outcome."""
        return _share(self.predicted > 0, self.reference.weight)

    @property
    def right_pairs(self) -> Mask:
        """Of each pair: whether it is predicted with exactly its possible outcomes."""
        reference = self.reference
        possible = reference.probability > 0
        outcomes = np.bincount(reference.pair[possible], minlength=len(self.successors))
        right: Mask = self.successors == outcomes
        right[reference.pair[(self.predicted > 0) != possible]] = False
        return right

    @property
    def support_right(self) -> float | None:
        """The fraction of transitions whose pair is predicted with exactly its possible outcomes.

        Only meaningful for the truth: a sample may lack a rare outcome that the model knows.
        """
        return _share(self.right_pairs[self.reference.pair], self.reference.weight)


def compare(
    model: CapabilityModel, reference: Reference, *, achieving_only: bool = False
) -> ModelComparison:
    """Ask the model about every pair; an unknown intent counts as never tried.

    With `achieving_only`, apply the paper's filter.
    """
    known = set(model.capabilities)
    if achieving_only:
        reference = reference.achieving()
    if isinstance(model, LearnedModel):
        model.anticipate(reference.states)
    predicted: list[float] = []
    success: list[float] = []
    successors: list[int] = []
    tests = {i: i.test(reference.vocabulary) for i in reference.intents if i in known}
    for state, number, ends in reference.rows():
        intent = reference.intents[number]
        prediction = model.predict(state, intent) if intent in tests else {}
        achieving = [share for after, share in prediction.items() if tests[intent](after)]
        if achieving_only and not achieving:
            prediction = {}
        predicted += [prediction.get(end, 0.0) for end in ends]
        success.append(sum(achieving))
        successors.append(sum(share > 0 for share in prediction.values()))
    return ModelComparison(
        reference,
        np.array(predicted, dtype=np.float64),
        np.array(success, dtype=np.float64),
        np.array(successors, dtype=np.int64),
    )


def _share(flags: Mask, weights: Floats) -> float | None:
    total = weights.sum()
    return float(weights[flags].sum() / total) if total else None


def distance(comparison: ModelComparison, weights: Floats | None = None) -> float | None:
    """Return the variational distance; None if all weights, by default the reference's, are 0."""
    reference = comparison.reference
    weights = reference.weight if weights is None else weights
    total = weights.sum()
    gaps = np.abs(comparison.predicted - reference.probability)
    return float((weights * gaps).sum() / total) if total else None


def learned_weights(reference: Reference, graph: StateGraph) -> Floats:
    """Weigh each transition of a reference by how often the learner itself saw it."""
    weights: list[float] = []
    for state, number, ends in reference.rows():
        capability = graph.index.get(reference.intents[number])
        pair = None if capability is None else graph.pair(state, capability)
        counts = {} if pair is None else pair.counts
        weights += [counts.get(Effect.between(state, end), 0) for end in ends]
    return np.array(weights, dtype=np.float64)


def calibration(comparison: ModelComparison) -> tuple[float | None, list[dict[str, float]]]:
    """Compare predicted with observed success, bin by bin.

    Returns:
        The expected calibration error, None if the model predicts nothing; and for each tenth of
        predicted success that has pairs the mean `predicted`, the fraction `observed`, and the
        `weight`: the executions, or pairs, in the bin.
    """
    reference = comparison.reference
    judged = ~(comparison.silent | reference.held)
    achieved = reference.probability * reference.achieved
    observed = np.bincount(reference.pair, weights=achieved, minlength=len(judged))[judged]
    predicted = comparison.success[judged]
    weight = reference.pair_weight[judged]
    place = np.minimum((predicted * BINS).astype(np.int64), BINS - 1)
    weights, *sums = (
        np.bincount(place, weights=weight * values, minlength=BINS)
        for values in (np.ones(len(weight)), predicted, observed)
    )
    used = np.flatnonzero(weights)
    means = [total[used] / weights[used] for total in sums]
    rows = zip(*(column.tolist() for column in (*means, weights[used])), strict=True)
    bins = [dict(zip(("predicted", "observed", "weight"), row, strict=True)) for row in rows]
    total = sum(one["weight"] for one in bins)
    gap = sum(one["weight"] * abs(one["predicted"] - one["observed"]) for one in bins)
    return gap / total if total else None, bins
