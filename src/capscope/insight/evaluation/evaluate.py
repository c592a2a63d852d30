"""Evaluate a run: exactly if the truth is known, and on an independent dataset.

The model is read from the journal, so a finished run can be evaluated as it was at any point
without asking the agent again. To evaluate a model from elsewhere, `compare` it with a `Reference`.

The paper's filter applies to the three agreements only. Pairs chosen because the intent was
achieved in them would make any model look miscalibrated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capscope.assessment.workers import Workers
from capscope.errors import RunError
from capscope.insight.evaluation.metrics import (
    ModelComparison,
    calibration,
    compare,
    distance,
    learned_weights,
)
from capscope.insight.evaluation.reference import Reference, enumerate_truth
from capscope.insight.evaluation.sample import IndependentSample, Progress, Recipe, build, silent
from capscope.journal.run_meta import RunIdentity
from capscope.model.extreme_models import CapabilityModel
from capscope.phases import begin_phase
from capscope.problem import Problem
from capscope.wording import counted

if TYPE_CHECKING:
    from capscope.run import Run

DATASETS = "datasets"
_METRICS = {
    "model_agreement": "model agreement, exact",
    "model_agreement_sampled": "model agreement, sampled",
    "model_agreement_sampled_learned_weights": "… weighted by what the learner saw",
    "calibration_error": "calibration error of predicted success",
    "support_right": "transitions with exactly the right outcomes",
    "outcomes_foreseen": "executions whose outcome was foreseen",
    "unknown_share": "reachable pairs still unknown",
    "unknown_share_sampled": "executions of unknown pairs",
}
_EXACT = ("model_agreement", "support_right", "unknown_share")
"""The metrics that need the exact truth; the others need a dataset."""


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
        return dict.fromkeys([*_EXACT, "pairs_reachable"])
    whole, judged = _compared(run, exact, achieving_only)
    return {
        "model_agreement": _agreement(distance(judged)),
        "support_right": whole.support_right,
        "unknown_share": whole.unknown_share,
        "pairs_reachable": len(exact.before),
    }


def _sampled(run: Run, sample: IndependentSample | None, achieving_only: bool) -> dict[str, Any]:
    if sample is None:
        own = [key for key in _METRICS if key not in _EXACT]
        return {**dict.fromkeys([*own, "calibration_bins", "dataset"]), "sequences": 0}
    whole, judged = _compared(run, sample.reference(run.graph.vocabulary), achieving_only)
    weights = learned_weights(judged.reference, run.graph)
    error, bins = calibration(whole)
    return {
        "model_agreement_sampled": _agreement(distance(judged)),
        "model_agreement_sampled_learned_weights": _agreement(distance(judged, weights)),
        "calibration_error": error,
        "calibration_bins": bins,
        "outcomes_foreseen": whole.outcomes_foreseen,
        "unknown_share_sampled": whole.unknown_share,
        "dataset": sample.file_name,
        "sequences": sample.sequences,
    }


def _compared(
    run: Run, reference: Reference, achieving_only: bool
) -> tuple[ModelComparison, ModelComparison]:
    """Compare the model with a reference, and again with the paper's filter if that is wanted."""
    model = evaluated_model(run)
    whole = compare(model, reference)
    return whole, compare(model, reference, achieving_only=True) if achieving_only else whole


def evaluated_model(run: Run) -> CapabilityModel:
    """Return the learned model if the strategy infers, else the paper's pessimistic one."""
    return run.model if run.infers else run.models.pessimistic


def _agreement(off: float | None) -> float | None:
    return None if off is None else 1 - off


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


def evaluation_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Describe the result of `Run.evaluate`."""
    reachable, dataset = document["pairs_reachable"], document["dataset"]
    without_truth = ": this problem has no exact truth" if reachable is None else ""
    without_dataset = "" if dataset else ": no sequences were asked for (--sequences)"
    for key, name in _METRICS.items():
        missing, value = without_truth if key in _EXACT else without_dataset, document[key]
        yield _row(name, f"not available{missing}" if value is None else f"{value:.4f}")
    of = "" if reachable is None else f" of {reachable:,} reachable"
    yield _row("pairs of state and capability tried", f"{document['pairs_tried']:,}{of}")
    executions = counted(document["executions"], "execution")
    steps = counted(document["simulator_steps"], "simulator step")
    yield _row("evaluated after", f"{executions}, {steps}")
    if dataset:
        yield _row(
            "independent dataset", f"{dataset}, {counted(document['sequences'], 'sequence')}"
        )
    if document["filter"]:
        yield "filter: only rules and capabilities that achieve their intent"


def _row(name: str, value: str) -> str:
    return f"{name:<46}{value}"
