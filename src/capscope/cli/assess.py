"""`capscope assess PROBLEM`: find out what an agent can do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from capscope.api import REPORT, Result, assess
from capscope.assessment import Budget
from capscope.cli.options import Json, ProblemArguments, Workers, with_budget, with_settings
from capscope.cli.output import patience_of, print_json, print_line, progress
from capscope.present.text import counted
from capscope.problems import canonical_source, source_slug
from capscope.record.run_directory import JOURNAL
from capscope.strategy import STRATEGIES, Settings
from capscope.strategy.registry import DEFAULT_STRATEGY


@with_settings
@with_budget
def assess_problem(
    problem: ProblemArguments,
    budget: Budget | None,
    settings: Settings,
    strategy: Annotated[
        str, typer.Option(help=f"One of {', '.join(STRATEGIES)}.")
    ] = DEFAULT_STRATEGY,
    seed: Annotated[int, typer.Option(help="All chance in the run comes from it.")] = 0,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Where to keep the run; runs/PROBLEM-STRATEGY-SEED if left out.",
            show_default=False,
        ),
    ] = None,
    workers: Workers = 1,
    json: Json = False,
) -> None:
    """Assess an agent and keep everything that was seen in a run directory."""
    source = canonical_source(problem)
    directory = Path(run) if run else Path("runs") / f"{source_slug(source)}-{strategy}-{seed}"
    patience = patience_of(strategy, settings.patience)
    with interruptible(directory), progress(source_slug(source), budget, patience) as listener:
        result = assess(
            source,
            strategy=strategy,
            seed=seed,
            settings=settings,
            budget=budget,
            run=directory,
            listener=listener,
            workers=workers,
        )
    report(result, json)


@contextmanager
def interruptible(directory: Path) -> Iterator[None]:
    """Turn Ctrl-C into exit code 130 and the command that goes on with the run."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"everything seen is kept. Go on with: capscope resume {directory}"
        begun = (directory / JOURNAL).exists()
        sys.stderr.write(f"interrupted; {kept if begun else 'nothing was begun'}\n")
        raise typer.Exit(130) from None


def report(result: Result, json: bool) -> None:
    """Print how a run ended."""
    document = run_document(result)
    if json:
        print_json(document)
        return
    print_line(
        f"{document['problem']}: {counted(document['queries'], 'query')}, "
        f"{counted(document['executions'], 'execution')}, "
        f"{counted(document['simulator_steps'], 'simulator step')} in "
        f"{document['seconds']:.1f} s; stopped: {document['stopped_because']}"
    )
    if result.usage.llm_tokens:
        tokens = counted(document["llm_tokens"], "LLM token")
        print_line(f"{tokens} used; {document['llm_cost']:,.4f} paid for them")
    print_line(
        f"{counted(document['capabilities'], 'capability')}, "
        f"{counted(document['states'], 'state')}, "
        f"{counted(document['transitions'], 'distinct transition')} seen"
    )
    print_line(str(result.verdict))
    for line in result.notes():
        print_line(line)
    print_line(f"run: {document['run']}")
    print_line(f"report: {document['report']}")
    print_line(f"read it with: capscope show {document['run']}")


def run_document(result: Result) -> dict[str, Any]:
    """Return how a run ended as JSON-ready values."""
    usage = result.usage
    return {
        "problem": result.spec.problem.name,
        "strategy": result.spec.strategy,
        "seed": result.spec.seed,
        "run": str(result.run),
        "report": None if result.run is None else str(result.run / REPORT),
        "stopped_because": result.stopped_because,
        "verdict": result.verdict.as_dict(),
        "mishaps": [failure.as_dict() for failure in result.agent_failures],
        "beginnings": result.initial_positions.as_dict(),
        "left_out": result.aliasing.as_dict(),
        "queries": usage.queries,
        "executions": usage.executions,
        "simulator_steps": usage.simulator_steps,
        "llm_tokens": usage.llm_tokens,
        "llm_cost": usage.llm_cost,
        "states": result.states,
        "capabilities": len(result.graph.capabilities),
        "transitions": result.transitions,
        "seconds": usage.seconds,
    }
