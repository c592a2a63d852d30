"""`capscope assess PROBLEM` and `capscope resume DIR`: find out what an agent can do."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from capscope.assessment.workers import WorkerSettings
from capscope.cli.options import (
    VIEWER,
    GroupedCommand,
    Json,
    Live,
    ProblemArguments,
    RecordedProblem,
    RunArgument,
    Seed,
    Trust,
    with_budget,
    with_settings,
    with_workers,
)
from capscope.cli.output import interruptible, print_json, print_lines, progress, write_message
from capscope.errors import CapscopeError
from capscope.journal.run_directory import JOURNAL, RunDirectory
from capscope.journal.run_meta import Budget
from capscope.journal.settings import OptionGroup, Settings
from capscope.problems import canonical_source, resume_command, source_slug
from capscope.registry import load_entry_point
from capscope.report.overview import run_document, run_lines
from capscope.run import Run, assess, resume
from capscope.strategy.registry import DEFAULT_STRATEGY, STRATEGIES, Claim

COMMAND_CLASS = GroupedCommand
LIVE_PAGES = "capscope.live_pages"
"""Functions of other packages that show a run while it goes on; the first one is used."""
_STOPS_AT = {known.claim: known.name for known in STRATEGIES.built_in.values() if known.claim}
_CLAIMS = ", ".join(f"'{claim}' (--strategy {name})" for claim, name in _STOPS_AT.items())


@with_settings
@with_budget
@with_workers
def assess_problem(
    problem: ProblemArguments,
    budget: Budget | None,
    settings: Settings,
    workers: WorkerSettings,
    strategy: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(STRATEGIES.built_in)}, or a strategy of another package.",
            rich_help_panel=OptionGroup.WHAT,
        ),
    ] = DEFAULT_STRATEGY,
    seed: Seed = 0,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Where to keep the run.  [default: runs/PROBLEM-STRATEGY-SEED]",
            show_default=False,
            rich_help_panel=OptionGroup.WHERE,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            help=f"What to stop at: {_CLAIMS}.",
            rich_help_panel=OptionGroup.CLAIM,
        ),
    ] = None,
    live: Live = False,
    json: Json = False,
) -> None:
    """Assess an agent and keep everything that was observed in a run directory."""
    strategy = _strategy_until(until, strategy)
    source = canonical_source(problem)
    slug = source_slug(source)
    directory = Path(run) if run else Path("runs") / f"{slug}-{strategy}-{seed}"
    with (
        _interruptible(directory, source),
        _live_page(directory, live, budget),
        progress(slug, budget) as listener,
    ):
        result = assess(
            source,
            strategy=strategy,
            seed=seed,
            settings=settings,
            budget=budget,
            run=directory,
            listener=listener,
            workers=replace(workers, ends_program=True),
        )
    _print_result(result, json)


def _strategy_until(until: str | None, strategy: str) -> str:
    """Return the strategy that stops at what was asked for."""
    if until is None:
        return strategy
    if until not in _STOPS_AT:
        names = " or ".join(f"{claim.value!r}" for claim in _STOPS_AT)
        raise CapscopeError(f"--until takes {names}, not {until!r}")
    named = _STOPS_AT[Claim(until)]
    if strategy not in (DEFAULT_STRATEGY, named):
        raise CapscopeError(f"--until {until} is what --strategy {named} stops at")
    return named


@with_budget
@with_workers
def resume_run(
    run: RunArgument,
    budget: Budget | None,
    workers: WorkerSettings,
    problem: RecordedProblem = None,
    trust: Trust = False,
    live: Live = False,
    json: Json = False,
) -> None:
    """Continue a run; a budget given here replaces the one it was started with."""
    path = Path(run)
    source = canonical_source(problem) if problem else None
    with RunDirectory.open(path, read_only=True) as opened:
        before = opened.journal.read_meta()
    with (
        _interruptible(path, before.identity.source),
        _live_page(path, live, budget or before.budget),
        progress(path.name, budget or before.budget) as listener,
    ):
        resumed = resume(
            path,
            problem=source,
            trust=trust,
            budget=budget,
            listener=listener,
            workers=replace(workers, ends_program=True),
        )
    digests = before.file_digests
    if digests and resumed.meta.file_digests != digests:
        write_message(
            f"warning: {before.identity.source} has changed since the run was started; assess "
            "another agent in a run of its own: --run DIR"
        )
    _print_result(resumed, json)


def _interruptible(directory: Path, source: str) -> AbstractContextManager[None]:
    def kept() -> str:
        if not (directory / JOURNAL).exists():
            return "nothing was started"
        return f"everything observed is kept. Continue with: {resume_command(directory, source)}"

    return interruptible(kept)


def _live_page(
    directory: Path, wanted: bool, budget: Budget | None
) -> AbstractContextManager[None]:
    """Serve the run while it goes on, if that is wanted."""
    if not wanted:
        return nullcontext()
    entry = next(iter(metadata.entry_points(group=LIVE_PAGES)), None)
    if entry is None:
        raise CapscopeError(f"--live needs {VIEWER}")
    page: AbstractContextManager[None] = load_entry_point(entry, "live page", Callable)(
        directory, budget
    )
    return page


def _print_result(run: Run, json: bool) -> None:
    if json:
        print_json(run_document(run))
    else:
        print_lines(run_lines(run))
