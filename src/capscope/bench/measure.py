"""How the runs on a problem are judged: against the truth where it is known, else on a sample."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from capscope.assessment import RunSpec
from capscope.errors import CapscopeError
from capscope.evaluation.bound import least_executions
from capscope.evaluation.curve import Agreement
from capscope.evaluation.truth import enumerate_truth
from capscope.evaluation.variational_distance import exact_distance
from capscope.problems import load_problem


@dataclass(frozen=True)
class Measure:
    """A measure of agreement, and the bound that goes with it."""

    name: str
    agreement: Agreement
    least: int = 0


def measure_of(spec: RunSpec, shelf: Path) -> Measure:
    """Return the measure for a problem."""
    # A second copy answers for the truth, so that the agent of the run starts with nothing solved.
    known = load_problem(spec.source).truth
    if known is None:
        raise CapscopeError(f"{spec.source} does not know its truth")
    truth = enumerate_truth(known, spec.intents or None)
    return Measure("exact", lambda model: 1 - exact_distance(model, truth), least_executions(truth))
