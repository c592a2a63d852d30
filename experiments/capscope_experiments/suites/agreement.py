"""How good the final models are, by every measure: exact, sampled, calibrated, complete."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from capscope import load
from capscope.insight.evaluation.evaluate import Measure, evaluated_model
from capscope.insight.evaluation.reference import enumerate_truth
from capscope.model import CapabilityModel
from capscope.problems import load_problem
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.measure import fidelity
from capscope_experiments.result_rows import Row, grouped, numbers, write_rows
from capscope_experiments.table import markdown_table

_COLUMNS: dict[str, str | None] = {
    "model_agreement": "exact",
    "model_agreement_sampled": "sampled",
    "model_agreement_sampled_learned_weights": None,
    "achieving": None,
    "achieving_sampled": "sampled, achievable only",
    "calibration_error": None,
    "support_right": None,
    "outcomes_foreseen": "outcomes foreseen",
    "unknown_share": "unknown",
    "chance_close": "probabilities within 0.05",
    "chance_missing": None,
}
"""The columns of the file, with their heads in the table; None: not in the table."""
_TEXT = """
The final models of the runs of E1. *Exact*: agreement over all reachable transitions. *Sampled*:
agreement on an independent dataset of {sequences} random sequences of 10 to 30 capabilities,
weighted by that dataset. *Achievable only*: with the paper's filter, which omits rules and
capabilities that never achieve their intent. *Outcomes foreseen*: executions of the dataset whose
outcome the model considered possible. *Unknown*: reachable pairs without a prediction.
*Probabilities within 0.05*: pairs with several outcomes whose probabilities are all that close to
the truth. Means over the seeds; [agreement.csv](agreement.csv) has every run and more measures,
also with the weights that the paper prints.
"""


def evaluate_run(path: Path, run: BenchRun) -> dict[str, Any]:
    """Evaluate the final model of a run, with and without the paper's filter."""
    made = load(path)
    measure = Measure(run.sequences)
    plain = made.evaluate(measure, problem=run.problem)
    filtered = made.evaluate(replace(measure, achieving_only=True), problem=run.problem)
    row = {
        **plain,
        "achieving": filtered["model_agreement"],
        "achieving_sampled": filtered["model_agreement_sampled"],
        **_stochastic_pairs(evaluated_model(made), run.problem),
    }
    return {key: row[key] for key in _COLUMNS}


def _stochastic_pairs(model: CapabilityModel, problem: str) -> dict[str, float | None]:
    """Evaluate a model on the stochastic pairs; None if there are none."""
    known = load_problem(problem).truth
    found = None if known is None else fidelity(model, enumerate_truth(known))
    if found is None or not found.pairs:
        return {"chance_close": None, "chance_missing": None}
    return {"chance_close": found.close, "chance_missing": found.missing}


def measure_agreement(bench: Bench) -> Section:
    """Evaluate the final models of all strategies but Random Query."""
    runs = bench.planned_runs()
    bench.build_datasets(run.measured for run in runs)
    found: dict[BenchRun, dict[str, Any]] = bench.analyze("agreement", runs, evaluate_run)
    heads = ["problem", "strategy", "seed", *_COLUMNS, "sequences"]
    measured = [
        [run.problem, run.strategy, run.seed, *row.values(), run.sequences]
        for run, row in found.items()
    ]
    rows = write_rows(bench, "agreement.csv", heads, measured)
    text = _TEXT.format(sequences=_range(numbers(rows, "sequences"))).strip()
    body = f"{text}\n\n{_table(rows)}"
    return Section("How good the final models are", body, ("agreement.csv",))


def _range(values: Sequence[float]) -> str:
    """Format the least and the greatest number, or the one that all are."""
    return " to ".join(f"{value:,.0f}" for value in dict.fromkeys([min(values), max(values)]))


def _table(rows: Sequence[Row]) -> str:
    shown = {name: head for name, head in _COLUMNS.items() if head is not None}
    lines = [
        [*key, *(_cell(numbers(runs, name)) for name in shown), len(runs)]
        for key, runs in grouped(rows).items()
    ]
    return markdown_table(["problem", "strategy", *shown.values(), "seeds"], lines)


def _cell(values: Sequence[float]) -> str:
    return f"{statistics.fmean(values):.4f}" if values else ""
