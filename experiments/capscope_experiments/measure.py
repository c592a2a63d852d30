"""How the runs on a problem are evaluated: against the truth if it is known, else on a sample.

What a transition weighs decides how fast a strategy looks. An evaluation dataset of random
sequences favors what random queries visit; the exact measure has each transition once. So every
point of a curve also has the agreement under each weighting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from capscope.assessment.discovery import intents_of, random_walks
from capscope.assessment.workers import WorkerSettings, start_workers
from capscope.insight.evaluation.evaluate import DATASETS
from capscope.insight.evaluation.evaluate import Measure as EvaluationSettings
from capscope.insight.evaluation.metrics import (
    ModelComparison,
    compare,
    distance,
)
from capscope.insight.evaluation.reference import Reference, TrueModel, enumerate_truth
from capscope.insight.evaluation.sample import Progress, Recipe, build, load, silent
from capscope.journal.settings import Settings
from capscope.logic import Effect, Intent, State
from capscope.model import CapabilityModel, LearnedModel
from capscope.problem import Problem
from capscope.problems import ProblemLoader, load_problem
from capscope.stats.arrays import Floats, Mask
from capscope_experiments.curve import Agreements
from capscope_experiments.jobs import Report

SEQUENCES = EvaluationSettings.sequences
STANDARD_ERROR = 0.05
CLOSE = 0.05
LIKELY = 0.1
_WALKS = 100


@dataclass(frozen=True)
class MeasuredProblem:
    """A problem, and the settings that determine which intents are evaluated."""

    problem: str
    settings: Settings
    sequences: int = SEQUENCES
    """Random capability sequences in the dataset, if one is needed."""


@dataclass(frozen=True)
class AgreementMeasure:
    """A measure of agreement, and the lower bound that goes with it."""

    name: str
    agreements: Agreements
    intents: Sequence[Intent]
    """All that are evaluated."""
    least: int = 0


def measure_of(measured: MeasuredProblem, folder: Path) -> AgreementMeasure:
    """Return the measure for the runs on a problem; datasets are saved in the folder."""
    # A problem of its own computes the truth, so that the agent of a run starts without a cache.
    known = load_problem(measured.problem).truth
    sample = build_dataset(measured, folder)
    if known is None:
        return AgreementMeasure("sampled", partial(agreements, sample=sample), sample.intents)
    truth = enumerate_truth(known, _own_intents(measured) or None)
    exact = Reference.of_truth(truth, sample.vocabulary)
    measure = partial(agreements, sample=sample, truth=exact)
    intents = tuple(dict.fromkeys((*truth.capabilities, *sample.intents)))
    return AgreementMeasure("exact", measure, intents, least_executions(truth))


@dataclass(frozen=True)
class NothingChanges:
    """The constant predictor: every execution ends where it began."""

    capabilities: Sequence[Intent]

    def predict(self, state: State, capability: Intent) -> dict[State, float]:
        """Return the state itself."""
        return {state: 1.0}


class RememberedPredictions:
    """A model that is asked for each prediction once, however often it is compared."""

    def __init__(self, model: CapabilityModel) -> None:
        self.capabilities = model.capabilities
        self.predict = cache(model.predict)


def agreements(
    model: CapabilityModel, sample: Reference, truth: Reference | None = None
) -> dict[str, float | None]:
    """Compare with the truth, else with the sample, by every measure of a point."""
    if isinstance(model, LearnedModel):
        model.anticipate((truth or sample).states)
    model = RememberedPredictions(model)
    compared = compare(model, sample)
    achieving = compare(model, sample, achieving_only=True)
    whole = compared if truth is None else compare(model, truth)
    once = np.ones(len(whole.predicted))
    return {
        "agreement": 1 - (distance(whole) or 0.0),
        "by_data": 1 - (distance(compared) or 0.0),
        "filtered": 1 - (distance(achieving) or 0.0),
        "once": 1 - (distance(whole, once) or 0.0),
        **total_variations(whole),
    }


def total_variations(comparison: ModelComparison) -> dict[str, float | None]:
    """Return the mean total variation over the pairs that change something, and stochastic pairs.

    Probability that a model leaves open, or gives to other outcomes, is lost either way: the
    distance of a pair is half of the gaps and of what is not predicted for its outcomes.
    """
    reference = comparison.reference
    pairs = len(reference.before)

    def summed(values: Any) -> Any:
        return np.bincount(reference.pair, weights=values, minlength=pairs)

    gaps = np.abs(comparison.predicted - reference.probability)
    apart = (summed(gaps) + 1 - summed(comparison.predicted)) / 2
    possible = reference.probability > 0
    moved = possible & (reference.after != reference.before[reference.pair])
    return {
        "changing_tv": _mean(apart, reference.pair_weight, summed(moved) > 0),
        "stochastic_tv": _mean(apart, reference.pair_weight, summed(possible) > 1),
    }


def _mean(values: Floats, weights: Floats, which: Mask) -> float | None:
    return float(np.average(values[which], weights=weights[which])) if which.any() else None


def least_executions(truth: TrueModel) -> int:
    """Count the executions that any learner of this model class needs for an exact model.

    One for each reachable pair, since a pair never tried has no rule. For each block of stochastic
    pairs, whose counts are pooled, also the draws that are missing to estimate its largest
    probability p with a standard error of 0.05: p(1 − p)/0.05² in all, one of them from each pair.
    """
    blocks: dict[tuple[Intent, frozenset[Effect]], tuple[int, float]] = {}
    for (state, intent), outcomes in truth.table.items():
        if len(outcomes) > 1:
            effects = frozenset(Effect.between(state, after) for after in outcomes)
            pairs, largest = blocks.get((intent, effects), (0, 0.0))
            blocks[intent, effects] = pairs + 1, max(largest, *outcomes.values())
    missing = (
        max(0.0, largest * (1 - largest) / STANDARD_ERROR**2 - pairs)
        for pairs, largest in blocks.values()
    )
    return len(truth.table) + round(sum(missing))


def build_dataset(
    measured: MeasuredProblem,
    folder: Path,
    progress: Progress = silent,
    workers: WorkerSettings | None = None,
) -> Reference:
    """Build, or load, the independent dataset that all runs on a problem are evaluated on."""
    problem = load_problem(measured.problem)
    known = () if problem.truth is None else tuple(problem.truth.intents())
    intents = _own_intents(measured) or known or _walked(problem, measured.settings)
    seed = EvaluationSettings.seed
    recipe = Recipe.of(problem, measured.problem, intents, seed, measured.sequences)
    datasets = folder / DATASETS
    # A dataset that is complete needs no workers, and starting them takes seconds.
    saved = None if workers is None else load(recipe, datasets)
    if workers is None or (saved is not None and saved.sequences == recipe.sequences):
        sample = saved or build(recipe, datasets, progress=progress)
        return sample.reference(problem.vocabulary)
    with start_workers(workers, problem, ProblemLoader(measured.problem)) as started:
        sample = build(recipe, datasets, progress=progress, workers=started)
        return sample.reference(problem.vocabulary)


def _own_intents(measured: MeasuredProblem) -> tuple[Intent, ...]:
    return tuple(map(Intent.parse, measured.settings.intents))


def _walked(problem: Problem, settings: Settings) -> tuple[Intent, ...]:
    """Find intents by separate walks: the dataset must not depend on the run that it evaluates."""
    effects, _ = random_walks(problem, replace(settings, walks=_WALKS), EvaluationSettings.seed)
    return tuple(intents_of(effects, problem.vocabulary))


@dataclass(frozen=True)
class DatasetJob:
    """Build the dataset of a problem, before runs that share it are made in parallel."""

    folder: Path
    measured: MeasuredProblem
    workers: WorkerSettings = field(default_factory=WorkerSettings)

    @property
    def name(self) -> str:
        """The problem of the dataset."""
        return f"dataset of {self.measured.problem}"

    @property
    def kind(self) -> str:
        """Each problem takes its own time."""
        return self.name

    def __call__(self, report: Report) -> None:
        """Build it."""
        build_dataset(
            self.measured,
            self.folder,
            lambda done, of: report(f"{done:,} of {of:,} sequences"),
            None if self.workers == WorkerSettings() else self.workers,
        )


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


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The accuracy of a model on the stochastic pairs."""

    pairs: int
    """The number of stochastic pairs."""
    close: float
    """The share of them whose probabilities are all within 0.05 of the truth."""
    missing: float
    """The fraction of them that lack an outcome of probability 0.1 or more."""
    exceeding: float
    """The fraction of them with an outcome that is impossible."""


def fidelity(model: CapabilityModel, truth: TrueModel) -> Fidelity:
    """Compare a model with the truth on every pair with more than one outcome."""
    known = set(model.capabilities)
    pairs = close = missing = exceeding = 0
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
        exceeding += any(share and after not in outcomes for after, share in predicted.items())
    most = max(pairs, 1)
    return Fidelity(pairs, close / most, missing / most, exceeding / most)
