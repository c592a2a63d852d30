"""`capscope export DIR --to FORMAT`: the learned model, or the whole run, for other tools.

A format that is one text goes to standard output unless `--output` names a file. One of several
files goes into a directory: the one that `--output` names, or `export` in the run directory.
"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from capscope.assessment.reading import read_run
from capscope.cli.options import Json, RunArgument
from capscope.cli.output import print_json, print_line
from capscope.errors import CapscopeError, RunError
from capscope.export.conditions import Conditions
from capscope.export.csv_text import csv_text
from capscope.export.dot import MOST_STATES, dot_graph
from capscope.export.frames import parquet_bytes
from capscope.export.model_json import model_document
from capscope.export.ppddl import ppddl_files
from capscope.export.prism import prism_program
from capscope.export.tables import run_tables
from capscope.record.run_directory import write_atomically
from capscope.symbolic import Intent

FOLDER = "export"
_FORMATS = ("json", "ppddl", "prism", "csv", "parquet", "dot")
_BELONGS_TO = {"--conditions": "ppddl", "--goal": "ppddl", "--limit": "dot", "--loops": "dot"}


def export_run(
    run: RunArgument,
    to: Annotated[str, typer.Option(help=f"One of {', '.join(_FORMATS)}.")] = "json",
    output: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="json, prism, dot: the file to write; else standard output. "
            f"ppddl, csv, parquet: the directory to write into; else DIR/{FOLDER}.",
        ),
    ] = None,
    conditions: Annotated[
        str | None,
        typer.Option(
            help="ppddl: `observed` conditions are exact for the states seen, `readable` ones "
            "generalise to others.  [default: observed]",
            show_default=False,
        ),
    ] = None,
    goal: Annotated[
        str | None, typer.Option(help="ppddl: the goal of the problem, like 'on(a,b)'.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"dot: draw only the most visited states.  [default: {MOST_STATES}]",
            show_default=False,
        ),
    ] = None,
    loops: Annotated[
        bool, typer.Option("--loops", help="dot: draw also what changes nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Write the learned model in a format that other tools read."""
    given = {"--conditions": conditions, "--goal": goal, "--limit": limit, "--loops": loops}
    _check(to, [option for option, value in given.items() if value])
    folder = Path(run) / FOLDER if output is None else Path(output)
    if to == "ppddl":
        _write_all(to, folder, _ppddl(Path(run), conditions, goal), json)
    elif to in ("csv", "parquet"):
        _write_all(to, folder, _tables(Path(run), to), json)
    else:
        _write_text(to, output, _text(Path(run), to, limit, loops), json)


def _check(to: str, options: list[str]) -> None:
    if to not in _FORMATS:
        raise CapscopeError(f"no format {to!r}; choose one of {', '.join(_FORMATS)}")
    for option in options:
        if _BELONGS_TO[option] != to:
            raise CapscopeError(f"{option} is for --to {_BELONGS_TO[option]}, not for --to {to}")


def _text(run: Path, to: str, limit: int | None, loops: bool) -> str:
    reading = read_run(run)
    if to == "prism":
        return prism_program(reading.graph, reading.problem)
    if to == "dot":
        return dot_graph(reading.graph, reading.problem, limit or MOST_STATES, loops=loops)
    return jsonlib.dumps(model_document(reading.graph, reading.problem), indent=1) + "\n"


def _ppddl(run: Path, conditions: str | None, goal: str | None) -> dict[str, str]:
    kinds = [kind.value for kind in Conditions]
    if conditions is not None and conditions not in kinds:
        raise CapscopeError(f"no conditions {conditions!r}; choose one of {', '.join(kinds)}")
    reading = read_run(run)
    files = ppddl_files(
        reading.graph,
        reading.problem,
        Conditions(conditions or Conditions.OBSERVED),
        None if goal is None else Intent.parse(goal),
    )
    return {"domain.pddl": files.domain, "problem.pddl": files.problem}


def _tables(run: Path, to: str) -> dict[str, str | bytes]:
    with run_tables(run) as tables:
        made = parquet_bytes if to == "parquet" else csv_text
        return {f"{table.name}.{to}": made(table) for table in tables}


def _write_text(to: str, output: str | None, text: str, json: bool) -> None:
    if output is not None:
        write_atomically(Path(output), text)
        _tell(to, output, [output], json)
    elif not json:
        print_line(text.removesuffix("\n"))
    elif to == "json":
        print_json(jsonlib.loads(text))
    else:
        print_json({"format": to, "text": text})


def _write_all(to: str, folder: Path, files: Mapping[str, str | bytes], json: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make the directory {folder}: {error.strerror}") from error
    for name, content in files.items():
        write_atomically(folder / name, content)
    _tell(to, str(folder), [str(folder / name) for name in files], json)


def _tell(to: str, written: str, files: list[str], json: bool) -> None:
    if json:
        print_json({"written": written, "format": to, "files": files})
    else:
        for file in files:
            print_line(f"written: {file}")
