"""QACE on the same agents: the table of the paper's appendix, with what each row cost.

The capabilities and the disjuncts of their conditions come from the adaptive run with the first
seed, as the paper supplies those that its own method found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capscope.assessment.reading import read_run

from capscope.analysis.evaluation.truth import enumerate_truth
from capscope.analysis.evaluation.variational_distance import exact_distance
from capscope.assessment import Budget
from capscope.problems import load_problem
from capscope.strategy.registry import ADAPTIVE
from capscope_experiments.baselines.qace import QaceProgress, QaceSettings, learn_qace
from capscope_experiments.kept import keep, kept
from capscope_experiments.order import Order
from capscope_experiments.suite import Bench, Section
from capscope_experiments.table import markdown_table, write_csv
from capscope_experiments.workers import Hear

SECONDS = 60.0
_TEXT = """
QACE as we built it (`baselines/qace`): given the predicates and the capabilities that our own run
found, it learns for each a conjunctive precondition and one list of probable effects. A hypothesis
is pruned by a query that sets a state with one literal flipped; every answer comes from the agent
and is counted. |C| are the capabilities, |C_DNF| what they become when each disjunct of a condition
is a capability of its own, as the paper's appendix has it (*compiled*). A disjunct is a conjunction
over the states that were seen; flipping literals leads beyond them, where the truth may be
disjunctive again. *Compiled further* splits such a disjunct, which QACE itself would not. *As is*
leaves the conditions uncompiled: the class does not contain a disjunctive truth. A model counts as
learned when all capabilities converged within {limit} seconds. Agreement is that of what was
learned, complete or not. QACE must set states, also such as cannot be reached; a problem where that
is impossible is not runnable.
"""

_BUDGET = Budget(seconds=SECONDS)
WAYS = {
    "compiled": QaceSettings(split=False, budget=_BUDGET),
    "compiled further": QaceSettings(budget=_BUDGET),
    "as is": QaceSettings(compiled=False, budget=_BUDGET),
}


def way_of(settings: QaceSettings) -> str:
    """Say what is done with disjunctive conditions."""
    return next(way for way, planned in WAYS.items() if planned == settings)


@dataclass(frozen=True)
class QaceJob:
    """QACE on one problem."""

    shelf: Path
    order: Order
    settings: QaceSettings

    @property
    def name(self) -> str:
        """The name of the run that supplies the capabilities, and how they are taken."""
        return f"qace-{way_of(self.settings).replace(' ', '-')}-{self.order.name}"

    @property
    def kind(self) -> str:
        """All ways take about as long."""
        return f"qace {self.order.problem}"

    def __call__(self, hear: Hear) -> tuple[QaceJob, dict[str, Any]]:
        """Learn, or go on with it."""
        return self, self._row(hear)

    def _row(self, hear: Hear) -> dict[str, Any]:
        path = self.shelf / f"{self.name}.json"
        terms = {**self.order.terms(), **self.settings.as_dict()}
        progress = kept(path, terms) or {"rows": [], "row": None}
        if progress["row"] is not None:
            return dict(progress["row"])
        problem = load_problem(self.order.problem)
        graph = read_run(self.shelf / self.order.name).graph
        rows: list[dict[str, Any]] = list(progress["rows"])

        def heard(progress: QaceProgress) -> None:
            rows.append(progress.row.as_dict(graph.vocabulary))
            keep(path, terms, {"rows": rows, "row": None})
            hear(f"{progress.finished} of {progress.of} capabilities")

        run = learn_qace(problem, graph, self.settings, heard, progress["rows"])
        agreement = None
        if problem.truth is not None and run.learned:
            agreement = 1 - exact_distance(run.model, enumerate_truth(problem.truth))
        row = {**run.as_dict(), "conditions": way_of(self.settings), "agreement": agreement}
        keep(path, terms, {"rows": rows, "row": row})
        return row


def measure_qace(bench: Bench) -> Section:
    """Run QACE on every problem, compiled and as is."""
    orders = [bench.order(case, ADAPTIVE, bench.seeds[0]) for case in bench.cases]
    bench.curves(orders)  # makes the runs that are missing
    jobs = [QaceJob(bench.runs, order, settings) for order in orders for settings in WAYS.values()]
    found = dict(bench.carry_out(jobs))
    rows = [found[job] for job in jobs]
    write_csv(bench.output / "qace.csv", list(rows[0]), [list(row.values()) for row in rows])
    text = _TEXT.format(limit=f"{SECONDS:g}").strip()
    body = f"{text}\n\n{_table(rows)}\n\nEvery number: [qace.csv](qace.csv)."
    return Section("QACE on the same agents", body, ("qace.csv",))


def _table(rows: Sequence[dict[str, Any]]) -> str:
    heads = ["problem", "conditions", "outcome", "why", "|C|", "|C_DNF|", "learned"]
    heads += ["agreement", "executions", "steps", "seconds"]
    return markdown_table(
        heads,
        [
            [
                row["problem"],
                row["conditions"],
                row["outcome"],
                row["reason"].partition("; for example")[0],
                row["capabilities"],
                row["disjuncts"],
                row["learned"],
                "–" if row["agreement"] is None else f"{row['agreement']:.4f}",
                f"{row['executions']:,}",
                f"{row['simulator_steps']:,}",
                f"{row['seconds']:,.0f}",
            ]
            for row in rows
        ],
    )
