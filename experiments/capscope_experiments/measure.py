"""How the runs on a problem are judged: against the truth where it is known, else on a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from capscope.analysis.evaluation.comparison import compare
from capscope.analysis.evaluation.evaluate import DATASETS
from capscope.analysis.evaluation.evaluate import Measure as Sampled
from capscope.analysis.evaluation.reference import Reference
from capscope.analysis.evaluation.sample import Recipe
from capscope.analysis.evaluation.sampling import Heard, build, unheard
from capscope.analysis.evaluation.truth import enumerate_truth
from capscope.analysis.evaluation.variational_distance import distance, exact_distance
from capscope.assessment.discovery import intents_of, random_walks
from capscope.model import CapabilityModel
from capscope.problems import load_problem
from capscope.record.settings import Settings
from capscope.symbolic import Intent
from capscope.world import Problem
from capscope_experiments.bound import least_executions
from capscope_experiments.curve import Agreement
from capscope_experiments.workers import Hear

SEQUENCES = Sampled.sequences
_WALKS = 100


@dataclass(frozen=True)
class Subject:
    """What a measure is of: a problem and the intents that are asked for."""

    problem: str
    settings: Settings
    sequences: int = SEQUENCES
    """Random capability sequences in the dataset, where one is needed."""


@dataclass(frozen=True)
class Measure:
    """A measure of agreement, and the bound that goes with it."""

    name: str
    agreement: Agreement
    least: int = 0


def measure_of(subject: Subject, shelf: Path) -> Measure:
    """Return the measure for the runs on a problem."""
    # A copy of its own answers for the truth, so that the agent of a run starts with nothing
    # solved.
    known = load_problem(subject.problem).truth
    if known is not None:
        truth = enumerate_truth(known, _own_intents(subject) or None)
        return Measure(
            "exact", lambda model: 1 - exact_distance(model, truth), least_executions(truth)
        )
    reference = sample_of(subject, shelf)

    def agreement(model: CapabilityModel) -> float:
        return 1 - (distance(compare(model, reference)) or 0.0)

    return Measure("sampled", agreement)


def sample_of(subject: Subject, shelf: Path, heard: Heard = unheard) -> Reference:
    """Build, or find, the independent dataset that all runs on a problem are judged on."""
    problem = load_problem(subject.problem)
    known = () if problem.truth is None else tuple(problem.truth.intents())
    intents = _own_intents(subject) or known or _walked(problem, subject.settings)
    recipe = Recipe.of(problem, subject.problem, intents, Sampled.seed, subject.sequences)
    return build(recipe, shelf / DATASETS, heard=heard).reference(problem.vocabulary)


def _own_intents(subject: Subject) -> tuple[Intent, ...]:
    return tuple(map(Intent.parse, subject.settings.intents))


def _walked(problem: Problem, settings: Settings) -> tuple[Intent, ...]:
    """Find intents by walks of its own: the dataset must not depend on the run that it judges."""
    effects, _ = random_walks(problem, replace(settings, walks=_WALKS), Sampled.seed)
    return tuple(intents_of(effects, problem.vocabulary))


@dataclass(frozen=True)
class SampleJob:
    """Build the dataset of a problem, before runs that share it are made side by side."""

    shelf: Path
    subject: Subject

    @property
    def name(self) -> str:
        """Whose dataset it is."""
        return f"dataset of {self.subject.problem}"

    @property
    def kind(self) -> str:
        """Each problem takes its own time."""
        return self.name

    def __call__(self, hear: Hear) -> None:
        """Build it."""
        sample_of(self.subject, self.shelf, lambda done, of: hear(f"{done:,} of {of:,} sequences"))
