"""Evaluate a run: exactly if the truth is known, and on an independent dataset.

The model is read from the journal, so a finished run can be evaluated as it was at any point
without asking the agent again. To evaluate a model from elsewhere, `compare` it with a `Reference`.

The paper's filter applies to the three agreements only. Pairs chosen because the intent was
achieved in them would make any model look miscalibrated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capscope.assessment.workers import Workers
from capscope.errors import RunError
from capscope.insight.evaluation.metrics import (
    AchievingOnly,
    ModelComparison,
    Seen,
    calibration,
    compare,
    distance,
    learned_weights,
)
from capscope.insight.evaluation.reference import Reference, enumerate_truth
from capscope.insight.evaluation.sample import IndependentSample, Progress, Recipe, build, silent
from capscope.journal.run_meta import RunIdentity
from capscope.logic import Intent, State
from capscope.model.extreme_models import CapabilityModel
from capscope.phases import begin_phase
from capscope.problem import Problem

if TYPE_CHECKING:
    from capscope.run import Run

DATASETS = "datasets"


@dataclass(frozen=True)
class Measure:
    """How to evaluate a run."""

    sequences: int = 100_000
    """Random capability sequences in the independent dataset; with 0, no sampled metrics."""
    seed: int = 1_000_003
    """Seed of those sequences."""
    achieving_only: bool = False
    """Apply the paper's filter to the agreements."""
    rebuild: bool = False
    """Build the dataset again even if there is one."""
    after_executions: int | None = None
    """Evaluate what was known after this many executions; None is the end of the run."""
    after_steps: int | None = None
    """The same in simulator steps, those of discovery included."""


def evaluate_run(
    run: Run,
    problem: Problem,
    measure: Measure,
    progress: Progress = silent,
    workers: Workers | None = None,
) -> dict[str, Any]:
    """Compare the model of a run with the agent; JSON-ready.

    The dataset is kept in the folder `datasets` beside the run directory; that of a run that is not
    kept, in it.
    """
    identity, capabilities = run.identity, run.capabilities
    _require_same(problem, identity, run.path)
    own = capabilities if identity.settings.intents else None
    begin_phase("enumerating the truth")
    truth = None if problem.truth is None else enumerate_truth(problem.truth, own)
    exact = None if truth is None else Reference.of_truth(truth, problem.vocabulary)
    intents = capabilities if truth is None else truth.capabilities
    sample = None
    if measure.sequences and intents:
        recipe = Recipe.of(problem, identity.source, intents, measure.seed, measure.sequences)
        beside = run.path.resolve().parent if run.kept else run.path
        folder = beside / DATASETS
        sample = build(recipe, folder, rebuild=measure.rebuild, progress=progress, workers=workers)
    begin_phase("comparing the model")
    return {
        "problem": run.problem,
        "model": "learned" if run.infers else "pessimistic",
        "filter": "achieving only" if measure.achieving_only else None,
        **_exactly(run, exact, measure.achieving_only),
        **_sampled(run, sample, measure.achieving_only),
        "pairs_tried": run.graph.pairs_tried,
        "queries": run.usage.queries,
        "executions": run.usage.executions,
        "simulator_steps": run.usage.simulator_steps,
    }


def _exactly(run: Run, exact: Reference | None, achieving_only: bool) -> dict[str, Any]:
    if exact is None:
        keys = "model_agreement", "support_right", "unknown_share", "pairs_reachable"
        return dict.fromkeys(keys)
    model = evaluated_model(run)
    whole = compare(model, exact)
    judged = _filtered(model, exact) if achieving_only else whole
    return {
        "model_agreement": _agreement(distance(judged)),
        "support_right": whole.support_right,
        "unknown_share": whole.unknown_share,
        "pairs_reachable": len(exact.before),
    }


def _sampled(run: Run, sample: IndependentSample | None, achieving_only: bool) -> dict[str, Any]:
    if sample is None:
        keys = (
            "model_agreement_sampled",
            "model_agreement_sampled_learned_weights",
            "calibration_error",
            "calibration_bins",
            "outcomes_foreseen",
            "unknown_share_sampled",
            "dataset",
        )
        return {**dict.fromkeys(keys), "sequences": 0}
    reference = sample.reference(run.graph.vocabulary)
    model = evaluated_model(run)
    whole = compare(model, reference)
    judged = _filtered(model, reference) if achieving_only else whole
    weights = learned_weights(judged.reference, _seen_by(run))
    calibrated = calibration(whole).as_dict()
    return {
        "model_agreement_sampled": _agreement(distance(judged)),
        "model_agreement_sampled_learned_weights": _agreement(distance(judged, weights)),
        "calibration_error": calibrated["error"],
        "calibration_bins": calibrated["bins"],
        "outcomes_foreseen": whole.outcomes_foreseen,
        "unknown_share_sampled": whole.unknown_share,
        "dataset": sample.file_name,
        "sequences": sample.sequences,
    }


def evaluated_model(run: Run) -> CapabilityModel:
    """Return the learned model if the strategy infers, else the paper's pessimistic one."""
    return run.model if run.infers else run.models.pessimistic


def _filtered(model: CapabilityModel, reference: Reference) -> ModelComparison:
    return compare(AchievingOnly(model, reference.vocabulary), reference.achieving())


def _agreement(off: float | None) -> float | None:
    return None if off is None else 1 - off


def _seen_by(run: Run) -> Seen:
    graph = run.graph

    def seen(state: State, intent: Intent) -> Mapping[State, int]:
        number = graph.index.get(intent)
        pair = None if number is None else graph.pair(state, number)
        counts = {} if pair is None else pair.counts
        return {effect.apply(state): count for effect, count in counts.items()}

    return seen


def _require_same(problem: Problem, identity: RunIdentity, path: Path) -> None:
    pairs = {
        "fingerprint": (identity.fingerprint, problem.fingerprint),
        "vocabulary": (identity.vocabulary, problem.vocabulary.fingerprint),
    }
    for name, (old, new) in pairs.items():
        if old != new:
            raise RunError(
                f"{path} was started with another {identity.source}: its {name} was {old!r}, now "
                f"{new!r}; evaluate it with what it was started with"
            )
