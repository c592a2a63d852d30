"""How many executions until a model agrees with the exact truth, and how right inference is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from capscope import Budget, Problem, Settings, Vocabulary, assess
from capscope.assessment import Event
from capscope.insight.evaluation.metrics import compare, distance
from capscope.insight.evaluation.reference import Reference, TrueModel, enumerate_truth
from capscope.model import LearnedModel, Provenance, StateGraph

GROWTH = 1.15
"""The model is evaluated whenever there are this many times the executions."""
AGREEMENT = 0.99
SURE = 0.01
"""The doubt below which an inferred pair should be right."""


_NEGLIGIBLE = 1e-9


def likely_truth(problem: Problem) -> TrueModel:
    """Enumerate the truth without outcomes that no run will ever see."""
    assert problem.truth is not None
    return without_negligible(enumerate_truth(problem.truth))


def without_negligible(truth: TrueModel) -> TrueModel:
    """Leave out what no run will ever see.

    An agent that tries again until it succeeds fails a hundred times with a probability above 0.
    """
    table = {
        pair: {end: share for end, share in outcomes.items() if share > _NEGLIGIBLE}
        for pair, outcomes in truth.table.items()
    }
    return replace(truth, table=table)


class Inference(NamedTuple):
    """The number of inferred pairs with very little doubt, and of those that are right."""

    sure: int
    right: int
    """Their possible outcomes are those of the truth."""

    @property
    def share(self) -> float:
        return self.right / self.sure if self.sure else 1.0


class AgreementPoint(NamedTuple):
    """How good the model of a run was after some executions."""

    executions: int
    agreement: float
    """Exact, over all reachable pairs; what the model cannot predict is wrong."""
    inference: Inference


Fit = Callable[[StateGraph, int], LearnedModel]


class AgreementReached(Exception):  # noqa: N818 - it ends a run that has shown what it should
    """Raised to end a run."""


@dataclass
class AgreementCurve:
    """Listens to a run, evaluates its model again and again, and ends it at 0.99."""

    truth: TrueModel
    vocabulary: Vocabulary
    seed: int
    fit: Fit = LearnedModel.fitted
    points: list[AgreementPoint] = field(default_factory=list)
    next_at: float = 50.0

    def __post_init__(self) -> None:
        self._reference = Reference.of_truth(self.truth, self.vocabulary)

    def listen(self, event: Event) -> None:
        executions = event.usage.executions
        if executions < self.next_at:
            return
        self.next_at = executions * GROWTH
        model = self.fit(event.graph, self.seed)
        agreement = 1.0 - (distance(compare(model, self._reference)) or 0.0)
        self.points.append(
            AgreementPoint(executions, agreement, sure_inferences(model, self.truth))
        )
        if self.reached is not None:
            raise AgreementReached

    @property
    def reached(self) -> int | None:
        """The executions after which the agreement was 0.99; None if it was not reached."""
        return next((p.executions for p in self.points if p.agreement >= AGREEMENT), None)


def agreement_curve(
    problem: Problem, seed: int, most: int, fit: Fit = LearnedModel.fitted
) -> AgreementCurve:
    """Assess without an audit until the agreement is 0.99, or as many executions are spent."""
    curve = AgreementCurve(likely_truth(problem), problem.vocabulary, seed, fit)
    with suppress(AgreementReached):
        assess(
            problem,
            seed=seed,
            settings=Settings(audit=0.0),
            budget=Budget(executions=most),
            listener=curve.listen,
        )
    return curve


def sure_inferences(model: LearnedModel, truth: TrueModel) -> Inference:
    """Compare the pairs inferred with a doubt below 1 % with the truth."""
    model.anticipate(truth.states)
    known = set(model.capabilities)
    sure = right = 0
    for (state, intent), outcomes in truth.table.items():
        if intent in known:
            predicted = model.predict(state, intent)
            if predicted.provenance is Provenance.INFERRED and predicted.doubt < SURE:
                sure += 1
                right += predicted.keys() == outcomes.keys()
    return Inference(sure, right)
