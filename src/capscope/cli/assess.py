"""`capscope assess PROBLEM`: find out what an agent can do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from capscope.cli.options import Json, ProblemArguments, Workers, with_budget, with_settings
from capscope.cli.output import print_json, print_line, progress
from capscope.present.text import counted
from capscope.problems import canonical_source, source_slug
from capscope.record.run_directory import JOURNAL
from capscope.record.settings import Settings
from capscope.record.usage import Budget
from capscope.run import REPORT, Run, assess
from capscope.strategy.registry import DEFAULT_STRATEGY, strategies


@with_settings
@with_budget
def assess_problem(
    problem: ProblemArguments,
    budget: Budget | None,
    settings: Settings,
    strategy: Annotated[
        str, typer.Option(help=f"One of {', '.join(strategies())}.")
    ] = DEFAULT_STRATEGY,
    seed: Annotated[int, typer.Option(help="Seeds all randomness.")] = 0,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Where to keep the run.  [default: runs/PROBLEM-STRATEGY-SEED]",
            show_default=False,
        ),
    ] = None,
    workers: Workers = 1,
    json: Json = False,
) -> None:
    """Assess an agent and keep everything that was observed in a run directory."""
    source = canonical_source(problem)
    directory = Path(run) if run else Path("runs") / f"{source_slug(source)}-{strategy}-{seed}"
    with interruptible(directory), progress(source_slug(source), budget) as listener:
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
    """Turn Ctrl-C into exit code 130 and the command that continues the run."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"everything observed is kept. Continue with: capscope resume {directory}"
        begun = (directory / JOURNAL).exists()
        sys.stderr.write(f"interrupted; {kept if begun else 'nothing was started'}\n")
        raise typer.Exit(130) from None


def report(run: Run, json: bool) -> None:
    """Print how a run ended."""
    document = run_document(run)
    if json:
        print_json(document)
        return
    usage = run.usage
    print_line(
        f"{run.problem}: {counted(usage.queries, 'query')}, "
        f"{counted(usage.executions, 'execution')}, "
        f"{counted(usage.simulator_steps, 'simulator step')} in "
        f"{usage.seconds:.1f} s; stopped: {document['stopped_because']}"
    )
    if usage.llm_tokens:
        print_line(f"{counted(usage.llm_tokens, 'LLM token')} used; {usage.llm_cost:,.4f} paid")
    print_line(
        f"{counted(document['capabilities'], 'capability')}, "
        f"{counted(document['states'], 'state')}, "
        f"{counted(document['transitions'], 'distinct transition')} seen"
    )
    print_line(str(run.verdict))
    for line in run.notes():
        print_line(line)
    print_line(f"run: {document['run']}")
    print_line(f"report: {document['report']}")
    print_line(f"read it with: capscope show {document['run']}")


def run_document(run: Run) -> dict[str, Any]:
    """Return how a run ended as JSON-ready values."""
    usage, identity = run.usage, run.identity
    return {
        "problem": run.problem,
        "strategy": identity.strategy,
        "seed": identity.seed,
        "run": str(run.path),
        "report": str(run.path / REPORT),
        "stopped_because": str(run.stop_reason),
        "verdict": run.verdict.as_dict(),
        "agent_failures": [failure.as_dict() for failure in run.agent_failures],
        "initial_positions": run.initial_positions.as_dict(),
        "aliasing": run.aliasing.as_dict(),
        "queries": usage.queries,
        "executions": usage.executions,
        "simulator_steps": usage.simulator_steps,
        "llm_tokens": usage.llm_tokens,
        "llm_cost": usage.llm_cost,
        "states": len(run.graph.nodes),
        "capabilities": len(run.capabilities),
        "transitions": run.graph.distinct_transitions,
        "seconds": usage.seconds,
    }
