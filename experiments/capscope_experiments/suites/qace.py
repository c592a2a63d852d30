"""QACE on the same agents: the table of the paper's appendix, with the cost of each row.

The capabilities and the disjuncts of their conditions come from the adaptive run with the first
seed, as the paper supplies those that its own method found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capscope import load
from capscope.insight.evaluation.reference import enumerate_truth
from capscope.journal.run_meta import Budget
from capscope.problems import load_problem
from capscope.strategy.registry import DEFAULT_STRATEGY
from capscope_experiments.baselines.qace import QaceProgress, QaceSettings, learn_qace
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.jobs import Report
from capscope_experiments.measure import exact_distance
from capscope_experiments.result_rows import Row, write_rows
from capscope_experiments.saved_runs import load_result, save_result
from capscope_experiments.table import markdown_table

SECONDS = 60.0
_TEXT = """
Our own implementation of QACE: given the predicates and the capabilities that our own run found, it
learns for each a conjunctive precondition and one list of effects with probabilities. A hypothesis
is pruned by a query that sets a state with one literal flipped; every answer comes from the agent
and is counted. |C| is the number of capabilities, and |C_DNF| the number after each disjunct of a
condition became a separate capability, as in the paper's appendix (*compiled*). Flipping literals
leads beyond the states seen, where a disjunct may be disjunctive again; *compiled further* splits
it, which QACE itself would not do. A model counts as learned if all capabilities converged within
{limit} seconds; agreement is that of the learned part. [qace.csv](qace.csv) also has runs with
conditions that are not compiled, and the reasons of all outcomes.

The published code of QACE (AAIR-lab/QACE) shows why our results differ from the paper's. *Time*:
there, an external planner (PRP) makes and answers each query, for every ground atom of every
capability; ours flips a literal and sets the state. *What counts as learned*: there, the domain
file says whether an action applies, and the run ends when every literal is decided; the conjunction
is not tested. Ours asks the agent, and tests the result where the capability worked, which fails on
blocksworld unless disjuncts are split further.
"""

_COLUMNS = (
    *("problem", "outcome", "reason", "capabilities", "disjuncts", "idle", "learned", "parts"),
    *("queries", "executions", "simulator_steps", "seconds", "states_asked", "states_unseen"),
    *("conditions", "agreement"),
)
_BUDGET = Budget(seconds=SECONDS)
VARIANTS = {
    "compiled": QaceSettings(split=False, budget=_BUDGET),
    "compiled further": QaceSettings(budget=_BUDGET),
    "as is": QaceSettings(compiled=False, budget=_BUDGET),
}
"""What is done with disjunctive conditions."""


@dataclass(frozen=True)
class QaceJob:
    """Run QACE on one problem."""

    folder: Path
    run: BenchRun
    variant: str

    @property
    def name(self) -> str:
        """The variant, and the name of the run that supplies the capabilities."""
        return f"qace-{self.variant.replace(' ', '-')}-{self.run.name}"

    @property
    def kind(self) -> str:
        """All variants take about the same time."""
        return f"qace {self.run.problem}"

    def __call__(self, report: Report) -> tuple[QaceJob, dict[str, Any]]:
        """Learn, or continue an interrupted job."""
        return self, self._row(report)

    def _row(self, report: Report) -> dict[str, Any]:
        settings = VARIANTS[self.variant]
        path = self.folder / f"{self.name}.json"
        terms = {**self.run.terms(), **settings.as_dict()}
        saved = load_result(path, terms) or {"rows": [], "row": None}
        if saved["row"] is not None:
            return dict(saved["row"])
        problem = load_problem(self.run.problem)
        graph = load(self.folder / self.run.name).graph
        rows: list[dict[str, Any]] = list(saved["rows"])

        def save_progress(progress: QaceProgress) -> None:
            rows.append(progress.row.as_dict(graph.vocabulary))
            save_result(path, terms, {"rows": rows, "row": None})
            report(f"{progress.finished} of {progress.of} capabilities")

        run = learn_qace(problem, graph, settings, save_progress, saved["rows"])
        agreement = None
        if problem.truth is not None and run.learned:
            agreement = 1 - exact_distance(run.model, enumerate_truth(problem.truth))
        row = {**run.as_dict(), "conditions": self.variant, "agreement": agreement}
        save_result(path, terms, {"rows": rows, "row": row})
        return row


def measure_qace(bench: Bench) -> Section:
    """Run QACE on every problem, compiled and as is."""
    runs = [bench.planned_run(case, DEFAULT_STRATEGY, bench.seeds[0]) for case in bench.cases]
    bench.curves(runs)  # makes the runs that are missing
    jobs = [QaceJob(bench.runs, run, variant) for run in runs for variant in VARIANTS]
    found = dict(bench.run_jobs(jobs))
    measured = [[found[job][name] for name in _COLUMNS] for job in jobs]
    rows = write_rows(bench, "qace.csv", _COLUMNS, measured)
    text = _TEXT.format(limit=f"{SECONDS:g}").strip()
    body = f"{text}\n\n{_table(rows)}"
    return Section("QACE on the same agents", body, ("qace.csv",))


def _table(rows: Sequence[Row]) -> str:
    heads = ["problem", "conditions", "outcome", "|C|", "|C_DNF|", "learned"]
    heads += ["agreement", "executions", "seconds"]
    return markdown_table(
        heads,
        [
            [
                row["problem"],
                row["conditions"],
                row["outcome"],
                row["capabilities"],
                row["disjuncts"],
                row["learned"],
                f"{float(row['agreement']):.4f}" if row["agreement"] else "–",
                f"{int(row['executions']):,}",
                f"{float(row['seconds']):,.0f}",
            ]
            for row in rows
            if row["conditions"] != "as is"
        ],
    )
