"""E3: sequences of five capabilities that a model says are reachable, executed by the agent."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

from capscope.assessment.reading import read_journal

from capscope.problems import load_problem
from capscope.record.run_directory import RunDirectory
from capscope_experiments.order import Order
from capscope_experiments.reachability import LENGTH, Reachability, Size, reachability
from capscope_experiments.suite import Bench, Section
from capscope_experiments.table import markdown_table, write_csv
from capscope_experiments.workers import Hear

_SEED = 2_000_003
_TEXT = """
For every run {routes} sequences of {length} capabilities are grown along its final model, each from
a state that the run saw: a capability whose intent does not hold yet and which the model says can
be achieved, then a successor that it predicts, and so on. The agent executes each {executions}
times. An execution counts if the model gave every transition that happened a positive probability.
Mean ± one standard deviation over the sequences of all runs; sequences are fewer where hardly any
grows to full length.
"""


@dataclass(frozen=True)
class ReachabilityJob:
    """Test the final model of one run."""

    shelf: Path
    order: Order
    size: Size

    @property
    def name(self) -> str:
        """The name of the run."""
        return f"reachability of {self.order.name}"

    @property
    def kind(self) -> str:
        """Tests on one problem take about as long."""
        return self.order.problem

    def __call__(self, hear: Hear) -> tuple[Order, Reachability]:
        """Read the run and test it."""
        path = self.shelf / self.order.name
        with RunDirectory.open(path, read_only=True) as run:
            graph = read_journal(path, run.journal).graph
            kept = {state: run.journal.snapshots(state) for state in graph.nodes}
        snapshots = {state: positions for state, positions in kept.items() if positions}
        hear("executing routes")
        problem = load_problem(self.order.problem)
        found = reachability(problem, graph.pessimistic, snapshots, self.size, _SEED)
        return self.order, found


def measure_reachability(bench: Bench, size: Size | None = None) -> Section:
    """Test the final models of all strategies but Random Query."""
    size = size or Size()
    orders = bench.orders()
    curves = dict(zip(orders, bench.curves(orders), strict=True))
    jobs = [ReachabilityJob(bench.runs, order, size) for order in orders]
    made: dict[Order, Reachability] = dict(bench.carry_out(jobs))
    found = {order: made[order] for order in orders}  # they end in any order
    heads = ["problem", "strategy", "seed", "sequences", "consistent", "deviation", "agreement"]
    rows = [
        [
            order.problem, order.strategy, order.seed, len(found[order].shares),
            found[order].mean, found[order].deviation, curves[order].last.agreement,
        ]
        for order in orders
    ]  # fmt: skip
    write_csv(bench.output / "reachability.csv", heads, rows)
    text = _TEXT.format(routes=size.routes, length=LENGTH, executions=size.executions)
    body = f"{text.strip()}\n\n{_table(found)}\n\nEvery run: [reachability.csv](reachability.csv)."
    return Section("E3: reachability", body, ("reachability.csv",))


def _table(found: dict[Order, Reachability]) -> str:
    pooled: dict[tuple[str, str], list[Reachability]] = {}
    for order, result in found.items():
        pooled.setdefault((order.problem, order.strategy), []).append(result)
    rows = []
    for (problem, strategy), results in pooled.items():
        shares = [share for result in results for share in result.shares]
        if not shares:
            rows.append([problem, strategy, "no sequence of full length", 0, len(results)])
            continue
        consistent = f"{statistics.fmean(shares):.1%} ± {statistics.pstdev(shares):.1%}"
        rows.append([problem, strategy, consistent, len(shares), len(results)])
    return markdown_table(["problem", "strategy", "consistent", "sequences", "runs"], rows)
