"""E2: findings about the agents, and in how many runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capscope import load
from capscope.logic import to_json
from capscope.strategy.registry import DEFAULT_STRATEGY
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.result_rows import Row, write_rows
from capscope_experiments.table import markdown_table

_MOST = 3
_TEXT = f"""
The findings of `capscope show DIR --findings` in the runs of `{DEFAULT_STRATEGY}`. Probabilities
are means over states, with 95 % intervals; all comparisons of a run share an error rate of 0.05.
The sentence is from the first run with the finding; the last column counts the runs that have it.
At most {_MOST} per problem, the most frequent and strongest first; all are in
[findings.csv](findings.csv).
"""


def find_in_run(path: Path, run: BenchRun) -> list[dict[str, Any]]:
    """Return the findings of a run."""
    return [to_json(finding) for finding in load(path).findings()]


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
    """Pool the findings of the runs of the default strategy and count the runs that agree."""
    runs = bench.planned_runs((DEFAULT_STRATEGY,))
    found: dict[BenchRun, list[dict[str, Any]]] = bench.analyze("surprises", runs, find_in_run)
    findings: list[PooledFinding] = []
    for problem in dict.fromkeys(run.problem for run in runs):
        own = [found[run] for run in runs if run.problem == problem]
        findings += pool_findings(problem, own) or [_nothing_found(problem, len(own))]
    heads = ["problem", "strategy", "kind", "finding", "strength", "seen in", "runs"]
    measured = [
        [f.problem, DEFAULT_STRATEGY, f.kind, f.sentence, f.strength, f.seen, f.runs]
        for f in findings
    ]
    rows = write_rows(bench, "findings.csv", heads, measured)
    body = f"{_TEXT.strip()}\n\n{_table(rows)}"
    return Section("E2: what was found", body, ("findings.csv",))


def _nothing_found(problem: str, runs: int) -> PooledFinding:
    """Return a row for a problem without findings; otherwise it would look unmeasured."""
    return PooledFinding(problem, "–", "no sentence is supported", 0.0, 0, runs)


def pool_findings(problem: str, runs: Sequence[list[dict[str, Any]]]) -> list[PooledFinding]:
    """Pool the findings of several runs, by kind, request, change and condition."""
    same: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for findings in runs:
        for key, finding in {_key(finding): finding for finding in findings}.items():
            same.setdefault(key, []).append(finding)
    pooled = [
        PooledFinding(
            problem,
            first["kind"],
            first["sentence"],
            (first["rate"] or {}).get("low", 0.0),
            1 + len(rest),
            len(runs),
        )
        for first, *rest in same.values()
    ]
    return sorted(pooled, key=lambda f: (-f.seen, -f.strength, f.sentence))


def _key(finding: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(str(finding[name]) for name in ("kind", "request", "change", "when"))


def _table(rows: Sequence[Row]) -> str:
    shown: list[list[str]] = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = [row for row in rows if row["problem"] == problem]
        shown += [[problem, row["finding"], _found_in(row)] for row in own[:_MOST]]
    return markdown_table(["problem", "finding", "found in"], shown)


def _found_in(row: Row) -> str:
    return f"{row['seen in']} of {row['runs']}" if row["seen in"] != "0" else "–"
