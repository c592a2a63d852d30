"""`capscope bench [SUITE]`: run the experiments and show their progress."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from capscope.assessment.worker_links import Link
from capscope.assessment.workers import WorkerSettings
from capscope.cli.options import Address, Json, with_settings
from capscope.cli.output import print_json, print_line
from capscope.errors import CapscopeError
from capscope.journal.run_meta import Budget
from capscope.journal.settings import Settings
from capscope.problems import canonical_source, load_problem, source_files
from capscope_experiments.bench import Bench
from capscope_experiments.cluster_jobs import connected_cluster
from capscope_experiments.jobs import BenchProgress, ShowProgress
from capscope_experiments.plan import BASELINES, SEEDS, BenchCase, cases_of
from capscope_experiments.results import SUITES, run_suite, write_results
from capscope_experiments.variant import Variant

_LEVELS = "0.5,0.91,0.99"
_NOT_REPEATED = ("--output", "--runs", "--write", "--workers", "--backend", "--address")
_FLAGS_NOT_REPEATED = ("--json", "--keep")
_SECONDS_BETWEEN_LINES = 5.0


@with_settings
def bench_suite(
    settings: Settings,
    suite: Annotated[
        str | None,
        typer.Argument(help=f"One of {', '.join(SUITES)}; all of them by default."),
    ] = None,
    problem: Annotated[
        list[str] | None,
        typer.Option("--problem", "--problems", help="Problems, separated by commas or repeated."),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "--strategies",
            help="Strategies, separated by commas or repeated; options after the name of one, as "
            "in 'mcqs-s --paper,random --draws 1', change its settings.",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Number of seeds, from 0; by default {SEEDS}, or fewer for long runs."
        ),
    ] = None,
    levels: Annotated[
        str, typer.Option(help="Levels of agreement at which strategies are compared.")
    ] = _LEVELS,
    max_steps: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum simulator steps of a run, instead of the default."),
    ] = None,
    max_executions: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum executions of a run, instead of the default."),
    ] = None,
    sequences: Annotated[
        int | None,
        typer.Option(
            min=1, help="Random sequences in the evaluation data, instead of the default."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time; by default the number of cores.")
    ] = None,
    backend: Annotated[
        str,
        typer.Option(help="Where: 'processes' of this machine, or 'ray' for a cluster."),
    ] = "processes",
    address: Address = None,
    output: Annotated[str, typer.Option(metavar="DIR", help="Where to write.")] = "results",
    runs: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Where runs are saved and reused; by default OUTPUT/runs."
        ),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep", help="Keep the rows in the output folder of what is not measured now."
        ),
    ] = False,
    render: Annotated[
        bool,
        typer.Option(
            "--render", help="Measure nothing; make the sections again from their CSV files."
        ),
    ] = False,
    write: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write all sections in the output folder to one file."),
    ] = None,
    json: Json = False,
) -> None:
    """Run the experiments.

    Runs are saved and reused; repeat an interrupted command to continue it.
    """
    if suite is not None and suite not in SUITES:
        raise CapscopeError(f"no suite {suite!r}; choose one of {', '.join(SUITES)}")
    if render and (problem or strategy):
        raise CapscopeError("--render measures nothing; use it without --problem and --strategy")
    budget = Budget(simulator_steps=max_steps, executions=max_executions)
    problems = list(dict.fromkeys(canonical_source([name]) for name in _listed(problem)))
    for source in problems:
        load_problem(source)  # a wrong name is reported before anything is written
    strategies = [Variant.parse(text).check().label for text in _listed(strategy)]
    where = _where(workers or os.cpu_count() or 1, backend, address)
    folder = Path(output)
    written: list[str] = []
    bench = Bench(
        folder,
        (Path(runs) if runs else folder / "runs").resolve(),
        (),
        tuple(range(seeds or SEEDS)),
        settings,
        _levels(levels),
        workers or os.cpu_count() or 1,
        sampling=where,
        keep=keep or render,
    )
    with _connecting(where, bench.runs, problems) as connect:
        for name in _measured_suites(suite, folder) if render else [suite] if suite else SUITES:
            planned = () if render else cases_of(name, problems, strategies)
            cases = tuple(_bounded(case, budget) for case in planned)
            if seeds is not None:
                cases = tuple(replace(case, max_seeds={}) for case in cases)
            if sequences is not None:
                cases = tuple(replace(case, sequences=sequences) for case in cases)
            with progress_display() as show:
                chosen = replace(bench, cases=cases, show=show, connect=connect)
                section = run_suite(name, chosen, _command(name))
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


def _where(workers: int, backend: str, address: str | None) -> WorkerSettings:
    if backend not in ("processes", "ray"):
        raise CapscopeError(
            f"each run of a bench needs a process of its own; --backend is processes or ray, not "
            f"{backend}"
        )
    if workers == 1 and backend == "processes" and address is None:
        return WorkerSettings()  # nothing runs at the same time: this process does everything
    return WorkerSettings(workers, backend, address)


@contextmanager
def _connecting(
    where: WorkerSettings, runs: Path, problems: Sequence[str]
) -> Iterator[Callable[[], Link] | None]:
    """Connect to the cluster that is asked for, if one is; yield what starts its workers."""
    if where.backend != "ray":
        yield None
        return
    files = [file for source in problems for file in source_files(source)]
    with connected_cluster(where.address, where.number, runs, files) as cluster:
        yield cluster.link


def _listed(given: list[str] | None) -> list[str]:
    return list(dict.fromkeys(n for listed in given or () for n in listed.split(",") if n))


def _levels(text: str) -> tuple[float, ...]:
    try:
        levels = tuple(sorted(float(level) for level in text.split(",")))
        if levels and all(0 < level <= 1 for level in levels):
            return levels
    except ValueError:
        pass
    raise CapscopeError(
        f"--levels must be numbers between 0 and 1, separated by commas, not {text!r}"
    )


def _measured_suites(suite: str | None, folder: Path) -> list[str]:
    """Return the suite, or all suites, that a folder has the rows of."""
    found = [name for name in ([suite] if suite else SUITES) if (folder / f"{name}.csv").exists()]
    if not found:
        raise CapscopeError(
            f"{folder} has no rows of {suite or 'any suite'}; measure something first"
        )
    return found


def _bounded(case: BenchCase, budget: Budget) -> BenchCase:
    if budget == Budget():
        return case
    # The budget of the baselines depends on what the others needed, if there are any.
    others = [label for label in case.strategies if label not in BASELINES]
    return replace(case, budgets=dict.fromkeys(others or case.strategies, budget))


def _command(suite: str) -> str:
    """Return the command that makes a section, without the options that say where it writes."""
    given = iter(sys.argv[1:])
    repeated = []
    for word in given:
        if word.startswith(_NOT_REPEATED):
            if "=" not in word:
                next(given, None)
        elif word not in ("bench", *SUITES, *_FLAGS_NOT_REPEATED):
            repeated.append(word)
    return shlex.join(["capscope", "bench", suite, *repeated])


@contextmanager
def progress_display() -> Iterator[ShowProgress]:
    """Show the progress of jobs: live in a terminal, otherwise a line every few seconds."""
    console = Console(stderr=True)
    last = time.perf_counter()

    def print_sometimes(progress: BenchProgress) -> None:
        nonlocal last
        if time.perf_counter() - last >= _SECONDS_BETWEEN_LINES:
            last = time.perf_counter()
            text = "; ".join(_progress_lines(progress))
            console.print(text, soft_wrap=True, markup=False, highlight=False)

    try:
        if not console.is_terminal:
            yield print_sometimes
            return
        with Live(Text(""), console=console, transient=True) as live:
            yield lambda progress: live.update(Text("\n".join(_progress_lines(progress))))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; all runs are saved, repeat the command to continue\n")
        raise typer.Exit(130) from None


def _progress_lines(progress: BenchProgress) -> Iterator[str]:
    left = progress.seconds_left
    time_left = "" if left is None else f", about {_duration(left)} left"
    yield f"{progress.done} of {progress.total} done{time_left}"
    for name, status in progress.running.items():
        yield f"{name}: {status}"


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
