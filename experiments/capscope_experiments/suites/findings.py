"""E2: what is surprising about the agents, found automatically, and in how many runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capscope import load
from capscope.strategy.registry import DEFAULT_STRATEGY
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.table import markdown_table, write_csv

_MOST = 12
_TEXT = f"""
What `capscope show DIR --surprises` reports about the runs of the default strategy,
`{DEFAULT_STRATEGY}`: unnecessary side effects, failures where another request works, conditions
that lower success, breakdowns, changes of the agent, needless detours, preferences among outcomes
that would do equally well, objects of one type that are treated differently. Probabilities are
means over states, with 95 % intervals and the number of draws; all comparisons of a run share an
error rate of 0.05. The
sentence is from the first run with the finding; the last column counts the runs that have it. At
most {_MOST} per problem, the most frequent and strongest first; all are in
[findings.csv](findings.csv).
"""


def find_in_run(path: Path, run: BenchRun) -> list[dict[str, Any]]:
    """Find what is surprising in a run."""
    return [finding.as_dict() for finding in load(path).findings()]


@dataclass(frozen=True)
class PooledFinding:
    """A finding, and how many runs have it."""

    problem: str
    kind: str
    sentence: str
    strength: float
    seen: int
    runs: int


def measure_findings(bench: Bench) -> Section:
    """Find surprises in the runs of the default strategy and count the runs that agree."""
    runs = bench.planned_runs((DEFAULT_STRATEGY,))
    bench.curves(runs)  # makes the runs that are missing
    found: dict[BenchRun, list[dict[str, Any]]] = bench.analyze("surprises", runs, find_in_run)
    findings = [
        finding
        for case in bench.cases
        for finding in pool_findings(
            case.problem, [found[run] for run in runs if run.problem == case.problem]
        )
    ]
    heads = ["problem", "kind", "finding", "strength", "seen in", "runs"]
    rows = [[f.problem, f.kind, f.sentence, f.strength, f.seen, f.runs] for f in findings]
    write_csv(bench.output / "findings.csv", heads, rows)
    body = f"{_TEXT.strip()}\n\n{_table(bench, findings)}"
    return Section("E2: what was found", body, ("findings.csv",))


def pool_findings(problem: str, runs: Sequence[list[dict[str, Any]]]) -> list[PooledFinding]:
    """Pool the findings of several runs: those with the same kind, intent and literals are one."""
    same: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for findings in runs:
        for key, finding in {_key(finding): finding for finding in findings}.items():
            same.setdefault(key, []).append(finding)
    pooled = [
        PooledFinding(
            problem, first["kind"], first["sentence"], first["strength"], 1 + len(rest), len(runs)
        )
        for first, *rest in same.values()
    ]
    return sorted(pooled, key=lambda f: (-f.seen, -f.strength, f.sentence))


def _key(finding: dict[str, Any]) -> tuple[Any, ...]:
    return finding["kind"], finding["intent"], tuple(finding["literals"])


def _table(bench: Bench, findings: Sequence[PooledFinding]) -> str:
    rows: list[list[Any]] = []
    for case in bench.cases:
        own = [f for f in findings if f.problem == case.problem]
        rows += [[f.problem, f.kind, f.sentence, f"{f.seen} of {f.runs}"] for f in own[:_MOST]]
        if not own:
            rows.append([case.problem, "–", "nothing surprising", "–"])
    return markdown_table(["problem", "kind", "finding", "found in"], rows)
