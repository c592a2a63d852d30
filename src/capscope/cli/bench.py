"""`capscope bench SUITE`: measure, in one run with the baseline."""

from __future__ import annotations

import json as jsonlib
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from capscope import __version__
from capscope.assessment import Budget
from capscope.cli.options import Json, with_settings
from capscope.cli.output import print_json, print_line
from capscope.errors import CapscopeError
from capscope.evaluation.experiments import Curve, Experiment
from capscope.evaluation.speed import measure_speed
from capscope.problems import load_problem
from capscope.query import STRATEGIES, Settings
from capscope.query.strategies import ADAPTIVE, check_strategy
from capscope.report.efficiency import draw, markdown, write_csv

_PROBLEMS = "blocksworld, tireworld, first-responders"
_SUITES = ("efficiency", "ablation", "speed")


@with_settings
def bench_suite(
    suite: Annotated[str, typer.Argument(help=f"One of {', '.join(_SUITES)}.")],
    settings: Settings,
    problem: Annotated[
        list[str] | None,
        typer.Option(help=f"A problem that knows its truth; repeat for more. [{_PROBLEMS}]"),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "--strategies",
            help="Strategies to measure, separated by commas or one at a time. [all]",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0 on.")] = 5,
    max_steps: Annotated[
        int | None,
        typer.Option(
            help="Most simulator steps of a run; Random Query may take --cut times as many."
        ),
    ] = None,
    cut: Annotated[
        int, typer.Option(min=1, help="End Random Query at this multiple of the better run.")
    ] = 25,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at a time; as many as there are cores.")
    ] = None,
    output: Annotated[str, typer.Option(metavar="DIR", help="Where to write.")] = "results",
    json: Json = False,
) -> None:
    """Measure learning efficiency against Random Query, without ξ (ablation), or speed."""
    if suite not in _SUITES:
        raise CapscopeError(f"no suite {suite!r}; choose one of {', '.join(_SUITES)}")
    if suite == "speed":
        numbers = measure_speed(load_problem("first-responders"), settings)
        if json:
            print_json(numbers)
        else:
            for name, value in numbers.items():
                print_line(f"{name:<60} {value:10.3f}")
        return
    strategies = [name for listed in strategy or STRATEGIES for name in listed.split(",")]
    for name in strategies:
        check_strategy(name)
    if suite == "ablation":
        settings = replace(settings, xi=0.0)
        strategies = [name for name in strategies if name not in ("random", ADAPTIVE)]
        if not strategies:
            raise CapscopeError("the ablation is of ξ; name mcqs-s or mcqs-e, which have it")
    experiment = Experiment(
        load_problem,
        problem or _PROBLEMS.split(", "),
        strategies,
        range(seeds),
        settings,
        Budget(simulator_steps=max_steps),
        workers or os.cpu_count() or 1,
        cut,
    )
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    identity = {**settings.as_dict(), "max_steps": max_steps, "version": __version__}
    kept = KeptCurves(folder / f"{suite}.jsonl", identity)

    def finished(curve: Curve) -> None:
        kept.add(curve)
        _report(curve)

    curves = experiment.run(finished, kept.read())
    write_csv(curves, folder / f"{suite}.csv")
    table = markdown(curves)
    (folder / f"{suite}.md").write_text(table, encoding="utf-8")
    draw(curves, folder / f"{suite}.png")
    if json:
        endings = ("csv", "md", "png")
        print_json({"suite": suite, "written": [f"{folder}/{suite}.{end}" for end in endings]})
    else:
        print_line(table)
        print_line(f"written: {folder}/{suite}.csv, .md, .png")


class KeptCurves:
    """Finished runs, a line each, so that a bench that was interrupted goes on where it was."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self._path = path
        self._settings = settings
        self._defaults = Settings().as_dict()

    def read(self) -> list[Curve]:
        """Return the runs made with the same settings by the same version."""
        curves = []
        for line in self._path.read_text("utf-8").splitlines() if self._path.exists() else ():
            try:
                row = jsonlib.loads(line)
            except ValueError:
                continue  # the line a kill left half written: that run is made again
            # A setting that there was not yet had its default.
            if self._defaults | row["settings"] == self._settings:
                curves.append(Curve.from_dict(row["curve"]))
        return curves

    def add(self, curve: Curve) -> None:
        """Keep a run."""
        with self._path.open("a", encoding="utf-8") as file:
            row = {"settings": self._settings, "curve": curve.as_dict()}
            file.write(jsonlib.dumps(row) + "\n")


def _report(curve: Curve) -> None:
    last = curve.last
    sys.stderr.write(
        f"{curve.problem} {curve.strategy} seed {curve.seed}: {last.agreement:.4f} after "
        f"{last.executions:,} executions, {last.simulator_steps:,} steps, {last.seconds:.0f} s "
        f"({curve.stopped_because})\n"
    )
    sys.stderr.flush()
