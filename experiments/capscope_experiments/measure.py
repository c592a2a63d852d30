"""How the runs on a problem are evaluated: against the truth if it is known, else on a sample.

What a transition weighs decides how fast a strategy looks. An evaluation dataset of random
sequences favors what random queries visit; the exact measure has each transition once. So every
point of a curve also has the agreement under each weighting.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from capscope.analysis.evaluation.evaluate import DATASETS
from capscope.analysis.evaluation.evaluate import Measure as EvaluationSettings
from capscope.analysis.evaluation.metrics import AchievingOnly, compare, distance
from capscope.analysis.evaluation.reference import Reference, TrueModel, enumerate_truth
from capscope.analysis.evaluation.sample import Progress, Recipe, build, load, silent
from capscope.assessment.discovery import intents_of, random_walks
from capscope.assessment.workers import WorkerSettings, start_workers
from capscope.model import CapabilityModel, LearnedModel
from capscope.problems import ProblemLoader, load_problem
from capscope.record.settings import Settings
from capscope.symbolic import Effect, Intent
from capscope.world import Problem
from capscope_experiments.curve import Agreements
from capscope_experiments.jobs import Report

SEQUENCES = EvaluationSettings.sequences
STANDARD_ERROR = 0.05
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
    least: int = 0


def measure_of(measured: MeasuredProblem, folder: Path) -> AgreementMeasure:
    """Return the measure for the runs on a problem; datasets are saved in the folder."""
    # A problem of its own computes the truth, so that the agent of a run starts without a cache.
    known = load_problem(measured.problem).truth
    sample = build_dataset(measured, folder)
    if known is None:
        return AgreementMeasure("sampled", partial(agreements, sample=sample))
    truth = enumerate_truth(known, _own_intents(measured) or None)
    exact = Reference.of_truth(truth, sample.vocabulary)
    measure = partial(agreements, sample=sample, truth=exact)
    return AgreementMeasure("exact", measure, least_executions(truth))


class RememberedPredictions:
    """A model that is asked for each prediction once, however often it is compared."""

    def __init__(self, model: CapabilityModel) -> None:
        self.capabilities = model.capabilities
        self.predict = cache(model.predict)


def agreements(
    model: CapabilityModel, sample: Reference, truth: Reference | None = None
) -> dict[str, float]:
    """Return the agreement with the truth, else with the sample, and under each weighting."""
    if isinstance(model, LearnedModel):
        model.anticipate((truth or sample).states)
    model = RememberedPredictions(model)
    compared = compare(model, sample)
    achieving = compare(AchievingOnly(model, sample.vocabulary), sample.achieving())
    whole = compared if truth is None else compare(model, truth)
    once = np.ones(len(whole.predicted))
    return {
        "agreement": 1 - (distance(whole) or 0.0),
        "by_data": 1 - (distance(compared) or 0.0),
        "filtered": 1 - (distance(achieving) or 0.0),
        "once": 1 - (distance(whole, once) or 0.0),
    }


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
