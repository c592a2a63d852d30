"""`capscope bench [SUITE]`: the experiments, each of them one command that anyone can rerun."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from capscope.assessment import Budget
from capscope.cli.options import Json, with_settings
from capscope.cli.output import print_json, print_line
from capscope.errors import CapscopeError
from capscope.problems import canonical_source, load_problem
from capscope.strategy import Settings
from capscope.strategy.registry import RANDOM, check_strategy
from capscope_experiments.plan import CASES, SEEDS, Case, cases_of
from capscope_experiments.progress import bench_progress
from capscope_experiments.results import SUITES, run_suite, write_results
from capscope_experiments.suite import Bench

_LEVELS = "0.5,0.91,0.99"
_NOT_REPEATED = ("--output", "--runs", "--write", "--workers", "--json")


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("bench")
@with_settings
def bench_suite(
    settings: Settings,
    suite: Annotated[
        str | None,
        typer.Argument(help=f"One of {', '.join(SUITES)}; all of them if left out."),
    ] = None,
    problem: Annotated[
        list[str] | None,
        typer.Option(
            "--problem", "--problems", help="Problems, separated by commas or one at a time."
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy", "--strategies", help="Strategies, separated by commas or one at a time."
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help=f"How many seeds, from 0 on; {SEEDS}, or fewer by the plan."),
    ] = None,
    levels: Annotated[
        str, typer.Option(help="Levels of agreement at which strategies are compared.")
    ] = _LEVELS,
    max_steps: Annotated[
        int | None, typer.Option(min=1, help="Most simulator steps of a run, instead of the plan.")
    ] = None,
    max_executions: Annotated[
        int | None, typer.Option(min=1, help="Most executions of a run, instead of the plan.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time; as many as there are cores.")
    ] = None,
    output: Annotated[str, typer.Option(metavar="DIR", help="Where to write.")] = "results",
    runs: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Where runs are kept and found again; DIR/runs in the output."
        ),
    ] = None,
    write: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Put all chapters in the output together in one file."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure, with runs that are kept: interrupted, the same command goes on where it was."""
    if suite is not None and suite not in SUITES:
        raise CapscopeError(f"no suite {suite!r}; choose one of {', '.join(SUITES)}")
    budget = Budget(simulator_steps=max_steps, executions=max_executions)
    problems = list(dict.fromkeys(canonical_source([name]) for name in _listed(problem)))
    for source in problems:
        load_problem(source)  # a wrong name is told before anything is written
    strategies = _listed(strategy)
    for name in strategies:
        check_strategy(name)
    folder = Path(output)
    written: list[str] = []
    bench = Bench(
        folder,
        Path(runs) if runs else folder / "runs",
        (),
        tuple(range(seeds or SEEDS)),
        settings,
        _levels(levels),
        workers or os.cpu_count() or 1,
    )
    for name in [suite] if suite else SUITES:
        cases = tuple(_bounded(case, strategies, budget) for case in _cases(name, problems))
        if seeds is not None:
            cases = tuple(replace(case, most_seeds={}) for case in cases)
        with bench_progress() as tell:
            section = run_suite(name, replace(bench, cases=cases, tell=tell), _command(name))
        written += [str(folder / file) for file in section.files]
        # Outside: a live display takes over standard output.
        if not json:
            print_line(section.text())
    if write:
        write_results(Path(write), folder)
        written.append(write)
    if json:
        print_json({"suite": suite or list(SUITES), "written": written})
    else:
        print_line(f"written: {', '.join(written)}")


def _listed(given: list[str] | None) -> list[str]:
    return list(dict.fromkeys(n for listed in given or () for n in listed.split(",") if n))


def _levels(text: str) -> tuple[float, ...]:
    try:
        levels = tuple(sorted(float(level) for level in text.split(",")))
        if levels and all(0 < level <= 1 for level in levels):
            return levels
    except ValueError:
        pass
    raise CapscopeError(f"--levels are shares between 0 and 1 with commas, not {text!r}")


def _cases(suite: str, problems: list[str]) -> Sequence[Case]:
    """Take from the plan what was asked for; what it does not know has every strategy, no bound."""
    planned = {case.problem: case for case in CASES}
    return [planned.get(source) or Case(source) for source in problems] or cases_of(suite)


def _bounded(case: Case, strategies: list[str], budget: Budget) -> Case:
    if strategies:
        case = replace(case, strategies=tuple(strategies))
    if budget == Budget():
        return case
    # Random Query goes by what the others needed, if there are any.
    others = [name for name in case.strategies if name != RANDOM]
    return replace(case, budgets=dict.fromkeys(others or [RANDOM], budget))


def _command(suite: str) -> str:
    """Return the command that makes a chapter, as it was given, without where it writes to."""
    given = iter(sys.argv[1:])
    kept = []
    for word in given:
        if word.startswith(_NOT_REPEATED):
            if "=" not in word and word != "--json":
                next(given, None)
        elif word not in ("bench", *SUITES):
            kept.append(word)
    return shlex.join(["capscope", "bench", suite, *kept])
