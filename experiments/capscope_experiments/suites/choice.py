"""Choice × model: what do the questions contribute, and what does the model?

Every run is scored twice after the same executions: by the table of the pairs that were tried, as
the paper's learner is, and by the learned model, which also infers pairs that were never tried.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from capscope import load
from capscope.insight.run_facts import initial_graph
from capscope.model import ExtremeModels, LearnedModel
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.measure import measure_of
from capscope_experiments.plan import ONE_DRAW, BenchCase
from capscope_experiments.result_rows import Row, grouped, write_rows
from capscope_experiments.table import markdown_table

EXECUTIONS = (100, 200, 500, 1_000, 2_000)
"""A run is scored after each of these, and ends after the last."""
MODELS = {"table": "table of tried pairs", "learned": "learned model"}
_MEASURES = ("agreement", "changing_tv")
_COLUMNS = tuple(f"{model}_{measure}" for model in MODELS for measure in _MEASURES)
_HEADS = ("problem", "strategy", "seed", "executions", "made", *_COLUMNS)
_TEXT = """
{sentences}

Each run made the executions that its strategy chose; both models then learned from the first of
them. *Table of tried pairs*: the pessimistic model, which predicts what was tried and nothing else.
*Learned model*: the one of the adaptive strategy, which infers the others. Agreement is exact where
the truth is known. A run that ended by itself before a number of executions keeps its last models.
"""


def measure_choice(bench: Bench) -> Section:
    """Score the executions that each strategy chooses by both models."""
    labels = {label for case in bench.cases for label in case.strategies}
    most = {case.problem: _most_executions(case) for case in bench.cases}
    runs = [
        replace(run, budget=replace(run.budget, executions=most[run.problem]))
        for run in bench.planned_runs(labels)
    ]
    bench.build_datasets(run.measured for run in runs)
    found: dict[BenchRun, list[list[Any]]] = bench.analyze("scores", runs, scores)
    measured = [
        [run.problem, run.label, run.seed, *score] for run, made in found.items() for score in made
    ]
    rows = write_rows(bench, "choice.csv", _HEADS, measured)
    body = "\n\n".join(
        [
            _TEXT.format(sentences=contributions(rows)).strip(),
            "Mean agreement (table → learned model) after some executions, over the problems that "
            "have every choice:",
            _means_table(rows),
            _each_problem(rows),
            "All measured points of every run: [choice.csv](choice.csv).",
        ]
    )
    return Section("Choice × model: questions and generalization", body, ("choice.csv",))


def _most_executions(case: BenchCase) -> int:
    """Return the executions that every run of a case may make: all that are scored, or fewer."""
    budgets = (case.budget(label).executions for label in case.strategies)
    return min([EXECUTIONS[-1], *(budget for budget in budgets if budget is not None)])


def scores(path: Path, run: BenchRun) -> list[list[Any]]:
    """Score the models after each number of executions; rows of `_HEADS` from `executions` on."""
    made = load(path)
    measure = measure_of(run.measured, path.parent)
    rows = []
    most = run.budget.executions or EXECUTIONS[-1]
    for executions in [n for n in EXECUTIONS if n <= most] or [most]:
        first = made.executions.only(slice(executions))
        graph = initial_graph(made.meta, made.capabilities)
        graph.update(first.transitions())
        models = (ExtremeModels(graph).pessimistic, LearnedModel.fitted(graph, run.seed))
        found = [measure.agreements(model) for model in models]
        values = [score[name] for score in found for name in _MEASURES]
        rows.append([executions, len(first), *(_rounded(value) for value in values)])
    return rows


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _each_problem(rows: Sequence[Row]) -> str:
    """Return the table of every problem after the number of executions that the sentences name."""
    executions = _middle(rows)
    found = grouped(row for row in rows if row["executions"] == str(executions))
    problems, choices = (list(dict.fromkeys(names)) for names in zip(*found, strict=True))
    lines = [
        [problem, *(_cell(found.get((problem, choice), ())) for choice in choices)]
        for problem in problems
    ]
    return (
        f"Each problem, after {executions:,} executions: agreement, and total variation over the "
        "pairs that change something (lower is better).\n\n"
        f"{markdown_table(['problem', *choices], lines)}"
    )


def _cell(rows: Sequence[Row]) -> str:
    """Return the means over the seeds, of both models by each measure."""
    parts = []
    for measure in _MEASURES:
        values = [[float(r[c]) for r in rows if r[c]] for c in (f"{m}_{measure}" for m in MODELS)]
        if all(values):
            parts.append(_both(map(statistics.fmean, values)))
    return "; ".join(parts)


def mean_agreements(rows: Sequence[Row], executions: int) -> dict[tuple[str, str], float]:
    """Return the mean agreement by choice and model, over the problems that have every choice."""
    own = [row for row in rows if row["executions"] == str(executions)]
    found = {
        (problem, choice, model): statistics.fmean(float(row[f"{model}_agreement"]) for row in runs)
        for (problem, choice), runs in grouped(own).items()
        for model in MODELS
    }
    problems = complete_problems(own)
    return {
        (choice, model): statistics.fmean(found[problem, choice, model] for problem in problems)
        for choice in dict.fromkeys(row["strategy"] for row in rows)
        for model in MODELS
        if problems
    }


def complete_problems(rows: Sequence[Row]) -> list[str]:
    """List the problems that have rows of every choice."""
    choices: dict[str, set[str]] = {}
    for row in rows:
        choices.setdefault(row["problem"], set()).add(row["strategy"])
    every: set[str] = set().union(*choices.values())
    return [problem for problem, there in choices.items() if there == every]


def _means_table(rows: Sequence[Row]) -> str:
    scored = _scored(rows)
    means = [mean_agreements(rows, executions) for executions in scored]
    lines = [
        [choice, *(_both(mean[choice, model] for model in MODELS) for mean in means)]
        for choice in dict.fromkeys(choice for choice, _ in means[0])
    ]
    return markdown_table(["choice", *(f"{n:,}" for n in scored)], lines)


def _both(values: Iterable[float]) -> str:
    return " → ".join(f"{value:.3f}" for value in values)


def contributions(rows: Sequence[Row]) -> str:
    """Say in two sentences what the questions contribute and what the model does."""
    return " ".join(_sentences(rows, _middle(rows)))


def _scored(rows: Sequence[Row]) -> list[int]:
    """List the numbers of executions that rows were scored after."""
    return sorted({int(row["executions"]) for row in rows})


def _middle(rows: Sequence[Row]) -> int:
    """Return the number of executions that the text is about."""
    scored = _scored(rows)
    return scored[len(scored) // 2]


def _sentences(rows: Sequence[Row], executions: int) -> Iterator[str]:
    means = mean_agreements(rows, executions)
    others = [choice for choice, model in means if model == "table" and choice != ONE_DRAW]
    if (ONE_DRAW, "table") not in means or not others:
        return
    best = {model: _best(means, others, model) for model in MODELS}
    gains = [
        f"{means[ONE_DRAW, model]:.3f} to {means[best[model], model]:.3f} (`{best[model]}`) with "
        f"the {MODELS[model]}"
        for model in MODELS
    ]
    problems = len(complete_problems([r for r in rows if r["executions"] == str(executions)]))
    yield (
        f"**Questions:** after {executions:,} executions, the best choice instead of random "
        f"sequences takes the mean agreement over {problems} problem{'s' * (problems > 1)} from "
        f"{' and from '.join(gains)}."
    )
    shown = dict.fromkeys((ONE_DRAW, best["learned"]))
    pairs = [f"{means[c, 'table']:.3f} to {means[c, 'learned']:.3f} (`{c}`)" for c in shown]
    better, compared = _learned_better(rows, executions)
    yield (
        "**Model:** the learned model instead of the table takes it, with the same executions, "
        f"from {' and from '.join(pairs)}; it is the better of the two in {better} of {compared} "
        "combinations of problem and choice."
    )


def _best(means: Mapping[tuple[str, str], float], choices: Sequence[str], model: str) -> str:
    return max(choices, key=lambda choice: means[choice, model])


def _learned_better(rows: Sequence[Row], executions: int) -> tuple[int, int]:
    """Count the combinations of problem and choice in which the learned model agrees more."""
    own = grouped(row for row in rows if row["executions"] == str(executions)).values()
    gains = [
        statistics.fmean(float(r["learned_agreement"]) - float(r["table_agreement"]) for r in runs)
        for runs in own
    ]
    return sum(gain > 0 for gain in gains), len(gains)
