"""E2: what is surprising about the agents, found automatically, and whether other runs find it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capscope.assessment.reading import read_run

from capscope.analysis.findings import find_findings
from capscope.problems import load_problem
from capscope.strategy.registry import ADAPTIVE
from capscope_experiments.order import Order
from capscope_experiments.suite import Bench, Section
from capscope_experiments.table import markdown_table, write_csv
from capscope_experiments.workers import Hear

_MOST = 12
_TEXT = f"""
What `capscope show DIR --surprises` says of the adaptive runs: side effects that were not needed,
success that drops under a condition, preferences among outcomes that would do equally well, intents
achieved by unusual means, objects of one type that are treated differently. Probabilities come with
95 % intervals and the draws behind them; all comparisons of a run share an error rate of 0.05. The
sentence is that of the first run in which it was found, the last column says in how many runs it
was. At most {_MOST} for each problem, the most widely found and most striking first; all of them
are in [findings.csv](findings.csv).
"""


@dataclass(frozen=True)
class FindingsJob:
    """Look for what is surprising in one run."""

    shelf: Path
    order: Order

    @property
    def name(self) -> str:
        """The name of the run."""
        return f"surprises of {self.order.name}"

    @property
    def kind(self) -> str:
        """Runs on one problem take about as long."""
        return self.order.problem

    def __call__(self, hear: Hear) -> tuple[Order, list[dict[str, Any]]]:
        """Read the run and look."""
        reading = read_run(self.shelf / self.order.name)
        hear("looking for surprises")
        length = load_problem(self.order.problem).limits.temporal_length
        found = find_findings(reading.graph, temporal_length=length)
        return self.order, [finding.as_dict() for finding in found]


@dataclass(frozen=True)
class Surprise:
    """A finding, and in how many runs it was made."""

    problem: str
    kind: str
    sentence: str
    strength: float
    seen: int
    runs: int


def measure_findings(bench: Bench) -> Section:
    """Look for surprises in the adaptive runs and say how many runs agree."""
    orders = bench.orders((ADAPTIVE,))
    bench.curves(orders)  # makes the runs that are missing
    found: dict[Order, list[dict[str, Any]]] = dict(
        bench.carry_out([FindingsJob(bench.runs, order) for order in orders])
    )
    surprises = [
        surprise
        for case in bench.cases
        for surprise in pooled(
            case.problem, [found[o] for o in orders if o.problem == case.problem]
        )
    ]
    heads = ["problem", "kind", "finding", "strength", "seen in", "runs"]
    rows = [[s.problem, s.kind, s.sentence, s.strength, s.seen, s.runs] for s in surprises]
    write_csv(bench.output / "findings.csv", heads, rows)
    body = f"{_TEXT.strip()}\n\n{_table(bench, surprises)}"
    return Section("E2: what was found", body, ("findings.csv",))


def pooled(problem: str, runs: Sequence[list[dict[str, Any]]]) -> list[Surprise]:
    """Put findings of several runs together: those of the same thing are one."""
    alike: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for findings in runs:
        for key, finding in {_key(finding): finding for finding in findings}.items():
            alike.setdefault(key, []).append(finding)
    surprises = [
        Surprise(
            problem, first["kind"], first["sentence"], first["strength"], 1 + len(rest), len(runs)
        )
        for first, *rest in alike.values()
    ]
    return sorted(surprises, key=lambda s: (-s.seen, -s.strength, s.sentence))


def _key(finding: dict[str, Any]) -> tuple[Any, ...]:
    return finding["kind"], finding["intent"], tuple(finding["literals"])


def _table(bench: Bench, surprises: Sequence[Surprise]) -> str:
    rows: list[list[Any]] = []
    for case in bench.cases:
        own = [s for s in surprises if s.problem == case.problem]
        rows += [[s.problem, s.kind, s.sentence, f"{s.seen} of {s.runs}"] for s in own[:_MOST]]
        if not own:
            rows.append([case.problem, "–", "nothing surprising", "–"])
    return markdown_table(["problem", "kind", "finding", "found in"], rows)
