"""How good the final models are, by every measure: exact, sampled, calibrated, complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from capscope.assessment.reading import read_run

from capscope.analysis.evaluation.evaluate import Measure, evaluate_reading
from capscope.analysis.evaluation.truth import enumerate_truth
from capscope.model import CapabilityModel
from capscope.problems import load_problem
from capscope_experiments.fidelity import fidelity
from capscope_experiments.order import Order
from capscope_experiments.suite import Bench, Section
from capscope_experiments.table import markdown_table, spread, write_csv
from capscope_experiments.workers import Hear

_COLUMNS = {
    "model_agreement": "exact",
    "model_agreement_sampled": "sampled",
    "model_agreement_sampled_learned_weights": "by own counts",
    "achieving": "exact, achievable only",
    "achieving_sampled": "sampled, achievable only",
    "calibration_error": "calibration error",
    "support_right": "support right",
    "outcomes_foreseen": "outcomes foreseen",
    "unknown_share": "unknown",
    "chance_close": "chance within 0.05",
    "chance_missing": "chance overlooked",
}
_TEXT = """
The final models of the runs of E1. *Exact*: agreement over all reachable transitions. *Sampled*: on
an independent dataset of {sequences:,} random sequences of 10 to 30 capabilities, weighted by that
dataset; *by own counts* as the paper's formula is printed, weighted by what the learner itself saw,
which gives no weight to what it never explored. *Achievable only*: the paper's filter, rules and
capabilities that never achieve their intent left out. *Calibration error*: expected difference
between predicted and observed success, of what the model speaks of. *Support right*: transitions of
pairs for which exactly the possible successors are predicted. *Outcomes foreseen*: executions of
the dataset whose outcome the model held possible. *Unknown*: reachable pairs that were never tried.
*Chance*: of the pairs with several possible outcomes, the share whose probabilities are all within
0.05 of the truth, and the share that lacks an outcome of probability 0.1 or more.
"""


@dataclass(frozen=True)
class AgreementJob:
    """Evaluate the final model of one run."""

    shelf: Path
    order: Order

    @property
    def name(self) -> str:
        """The name of the run."""
        return f"agreement of {self.order.name}"

    @property
    def kind(self) -> str:
        """Runs on one problem take about as long."""
        return self.order.problem

    def __call__(self, hear: Hear) -> tuple[Order, dict[str, Any]]:
        """Evaluate it, with and without the paper's filter."""
        reading = read_run(self.shelf / self.order.name)
        hear("evaluating")
        measure = Measure(self.order.sequences)
        plain = evaluate_reading(reading, load_problem, measure)
        filtered = evaluate_reading(reading, load_problem, replace(measure, achieving_only=True))
        row = {
            **plain,
            "achieving": filtered["model_agreement"],
            "achieving_sampled": filtered["model_agreement_sampled"],
            **_chance(reading.graph.pessimistic, self.order.problem),
        }
        return self.order, {key: row[key] for key in _COLUMNS}


def _chance(model: CapabilityModel, problem: str) -> dict[str, float | None]:
    """Say how true a model is of the pairs that are left to chance; None if there are none."""
    known = load_problem(problem).truth
    found = None if known is None else fidelity(model, enumerate_truth(known))
    if found is None or not found.pairs:
        return {"chance_close": None, "chance_missing": None}
    return {"chance_close": found.close, "chance_missing": found.missing}


def measure_agreement(bench: Bench) -> Section:
    """Evaluate the final models of all strategies but Random Query."""
    orders = bench.orders()
    bench.curves(orders)  # makes the runs that are missing
    bench.build_samples(order.subject for order in orders)
    jobs = [AgreementJob(bench.runs, order) for order in orders]
    found: dict[Order, dict[str, Any]] = dict(bench.carry_out(jobs))
    heads = ["problem", "strategy", "seed", *_COLUMNS]
    rows = [[o.problem, o.strategy, o.seed, *found[o].values()] for o in orders]
    write_csv(bench.output / "agreement.csv", heads, rows)
    text = _TEXT.format(sequences=bench.cases[0].sequences).strip()
    ordered = {order: found[order] for order in orders}
    body = f"{text}\n\n{_table(ordered)}\n\nEvery run: [agreement.csv](agreement.csv)."
    return Section("How good the final models are", body, ("agreement.csv",))


def _table(found: dict[Order, dict[str, Any]]) -> str:
    pooled: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for order, row in found.items():
        pooled.setdefault((order.problem, order.strategy), []).append(row)
    lines = [
        [*key, *(_cell([row[name] for row in rows]) for name in _COLUMNS), len(rows)]
        for key, rows in pooled.items()
    ]
    return markdown_table(["problem", "strategy", *_COLUMNS.values(), "seeds"], lines)


def _cell(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return spread(known, "{:.4f}") if known else "–"
