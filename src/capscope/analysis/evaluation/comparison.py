"""A model beside a reference: what it foretells of every pair, and three plain questions.

Variational distance says how far off the probabilities are on average. People also ask: about how
much does the model say nothing at all, how often does something happen that it holds impossible,
and of how much does it name just the outcomes that there are? Calibration has a module of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capscope.analysis.evaluation.reference import Floats, Mask, Numbers, Reference
from capscope.model.capability_model import CapabilityModel, Prediction


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a model predicts, laid out like the reference."""

    reference: Reference
    predicted: Floats
    """Of each transition: the probability that the model gives it."""
    success: Floats
    """Of each pair: the predicted probability that the intent holds afterwards."""
    successors: Numbers
    """Of each pair: how many outcomes the model holds possible; 0 where it says nothing."""

    @property
    def silent(self) -> Mask:
        """Of each pair: whether the model says nothing about it."""
        flags: Mask = self.successors == 0
        return flags

    @property
    def unknown_share(self) -> float | None:
        """The share of pairs (truth) or executions (𝒟′) about which the model says nothing.

        Like the other shares it is None where there is nothing to compare.
        """
        return _share(self.silent, self.reference.pair_weight)

    @property
    def outcomes_foreseen(self) -> float | None:
        """The share of transitions (truth) or executions (𝒟′) that the model holds possible."""
        return _share(self.predicted > 0, self.reference.weight)

    @property
    def support_right(self) -> float | None:
        """The share of transitions whose pair is predicted with exactly its outcomes, no other.

        Meant for the truth: in 𝒟′ a rare outcome may be missing, and a model that knows it would
        be blamed.
        """
        reference = self.reference
        possible = reference.probability > 0
        outcomes = np.bincount(reference.pair[possible], minlength=len(self.successors))
        right = self.successors == outcomes
        right[reference.pair[(self.predicted > 0) != possible]] = False
        return _share(right[reference.pair], reference.weight)


def compare(model: CapabilityModel, reference: Reference) -> Comparison:
    """Ask the model about every pair; an intent that it does not know is one never tried."""
    known = set(model.capabilities)
    vocabulary, intents = reference.vocabulary, reference.intents
    masks = [vocabulary.literal_masks(i.literals) if i in known else None for i in intents]
    predicted: list[float] = []
    success: list[float] = []
    successors: list[int] = []
    for state, intent, ends in reference.rows():
        mask = masks[intent]
        prediction = model.predict(state, intents[intent]) if mask is not None else {}
        if mask is None or not prediction:
            predicted += [0.0] * len(ends)
            success.append(0.0)
            successors.append(0)
            continue
        predicted += [prediction.get(end, 0.0) for end in ends]
        success.append(_chance(prediction, *mask))
        successors.append(sum(share > 0 for share in prediction.values()))
    return Comparison(
        reference,
        np.array(predicted, dtype=np.float64),
        np.array(success, dtype=np.float64),
        np.array(successors, dtype=np.int64),
    )


def _chance(prediction: Prediction, required: int, forbidden: int) -> float:
    return sum(
        share
        for after, share in prediction.items()
        if after & required == required and not after & forbidden
    )


def _share(flags: Mask, weights: Floats) -> float | None:
    total = weights.sum()
    return float(weights[flags].sum() / total) if total else None
