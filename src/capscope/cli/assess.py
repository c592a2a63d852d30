"""`capscope assess PROBLEM` and `capscope resume DIR`: find out what an agent can do."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Annotated

from capscope.assessment import Listener
from capscope.assessment.workers import WorkerSettings
from capscope.cli.options import (
    VIEWER,
    Json,
    Live,
    ProblemArguments,
    RecordedProblem,
    RunArgument,
    Seed,
    Trust,
    grouped,
    with_budget,
    with_settings,
    with_workers,
)
from capscope.cli.output import interruptible, print_answer, progress, write_message
from capscope.errors import CapscopeError
from capscope.journal.run_directory import JOURNAL, RunDirectory
from capscope.journal.run_meta import Budget
from capscope.journal.settings import OptionGroup, Settings
from capscope.problems import canonical_source, resume_command, source_slug
from capscope.registry import load_entry_point
from capscope.report.overview import run_document, run_lines
from capscope.run import assess, resume
from capscope.strategy.registry import DEFAULT_STRATEGY, STRATEGIES, Claim

LIVE_PAGES = "capscope.live_pages"
"""Functions of other packages that show a run while it goes on; the first one is used."""
_STOPS_AT = {known.claim: known.name for known in STRATEGIES.built_in.values() if known.claim}
_STRATEGIES = f"One of {', '.join(STRATEGIES.built_in)}, or a strategy of another package."
_RUN = "Where to keep the run.  [default: runs/PROBLEM-STRATEGY-SEED]"
_FROM = "Start from the rules of a run in another instance of the same predicates (adaptive)."
_CLAIMS = ", ".join(f"'{claim}' (--strategy {name})" for claim, name in _STOPS_AT.items())


@with_settings
@with_budget
@with_workers
def assess_problem(
    problem: ProblemArguments,
    budget: Budget | None,
    settings: Settings,
    workers: WorkerSettings,
    strategy: Annotated[str, grouped(OptionGroup.WHAT, _STRATEGIES)] = DEFAULT_STRATEGY,
    seed: Seed = 0,
    run: Annotated[
        str | None, grouped(OptionGroup.WHERE, _RUN, metavar="DIR", show_default=False)
    ] = None,
    start_from: Annotated[
        str | None,
        grouped(OptionGroup.WHAT, _FROM, "--from", metavar="DIR", show_default=False),
    ] = None,
    until: Annotated[str | None, grouped(OptionGroup.CLAIM, f"What to stop at: {_CLAIMS}.")] = None,
    live: Live = False,
    json: Json = False,
) -> None:
    """Assess an agent and keep everything that was observed in a run directory."""
    strategy = _strategy_until(until, strategy)
    source = canonical_source(problem)
    slug = source_slug(source)
    directory = Path(run) if run else Path("runs") / f"{slug}-{strategy}-{seed}"
    with under_way(directory, source, slug, live, budget) as listener:
        result = assess(
            source,
            strategy=strategy,
            seed=seed,
            settings=settings,
            budget=budget,
            run=directory,
            start_from=start_from,
            listener=listener,
            workers=replace(workers, ends_program=True),
        )
    print_answer(json, lambda: run_document(result), lambda: run_lines(result))


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
    limits = budget or before.budget
    with under_way(path, before.identity.source, path.name, live, limits) as listener:
        resumed = resume(
            path,
            problem=source,
            trust=trust,
            budget=budget,
            listener=listener,
            workers=replace(workers, ends_program=True),
        )
    if before.file_digests and resumed.meta.file_digests != before.file_digests:
        write_message(
            f"warning: {before.identity.source} has changed since the run was started; assess "
            "another agent in a run of its own: --run DIR"
        )
    print_answer(json, lambda: run_document(resumed), lambda: run_lines(resumed))


@contextmanager
def under_way(
    directory: Path, source: str, title: str, live: bool, budget: Budget | None
) -> Iterator[Listener]:
    """Show a run while it goes on; after Ctrl-C, say how to continue it."""

    def kept() -> str:
        if not (directory / JOURNAL).exists():
            return "nothing was started"
        return f"everything observed is kept. Continue with: {resume_command(directory, source)}"

    page = _live_page(directory, budget) if live else nullcontext()
    with interruptible(kept), page, progress(title, budget) as listener:
        yield listener


def _live_page(directory: Path, budget: Budget | None) -> AbstractContextManager[None]:
    entry = next(iter(metadata.entry_points(group=LIVE_PAGES)), None)
    if entry is None:
        raise CapscopeError(f"--live needs {VIEWER}")
    page: AbstractContextManager[None] = load_entry_point(entry, "live page", Callable)(
        directory, budget
    )
    return page
