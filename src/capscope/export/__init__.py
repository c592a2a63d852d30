"""Learned models and runs for other tools: the formats, and the command line's options for them.

Another package adds a format with an entry point in the group `capscope.export_formats` that is an
`ExportFormat`. What writes a format is imported when it is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capscope.errors import CapscopeError, RunError
from capscope.journal.run_directory import refuse_links, write_atomically
from capscope.registry import Registry

if TYPE_CHECKING:
    from capscope.run import Run

_MOST_STATES = 100
Content = str | dict[str, str | bytes]
"""One text, or the contents of several files by name."""


@dataclass(frozen=True)
class ExportOption:
    """An option of a format."""

    name: str
    type: type[str] | type[int] | type[bool]
    default: Any
    help: str
    minimum: int | None = None
    """The smallest value of a number."""


@dataclass(frozen=True)
class ExportFormat:
    """A format that runs can be exported to."""

    name: str
    description: str
    write: Callable[..., Content]
    """Takes a run, and the options by name."""
    options: tuple[ExportOption, ...] = ()
    several_files: bool = False
    """`write` returns files, not one text."""
    is_json: bool = False
    """The text is one JSON object."""

    def takes(self, option: str) -> bool:
        """Return whether it has an option of this name."""
        return any(option == known.name for known in self.options)


def _json(run: Run) -> str:
    from capscope.export.model_json import model_of_run

    return json.dumps(model_of_run(run), indent=1) + "\n"


def _ppddl(run: Run, goal: str | None = None, ground: bool = False) -> Content:
    from capscope.export.lifted_ppddl import lifted_files
    from capscope.export.ppddl import ppddl_files
    from capscope.logic import Intent

    wanted = None if goal is None else Intent.parse(goal)
    if ground:
        return ppddl_files(run.model, run.problem, wanted)
    return lifted_files(run.model, run.problem, wanted)


def _pddl(run: Run, goal: str | None = None) -> Content:
    from capscope.export.lifted_ppddl import lifted_files
    from capscope.logic import Intent

    wanted = None if goal is None else Intent.parse(goal)
    return lifted_files(run.model, run.problem, wanted, determinized=True)


def _prism(run: Run) -> str:
    from capscope.export.prism import prism_program

    return prism_program(run.model, run.problem)


def _csv(run: Run) -> Content:
    from capscope.export.tables import csv_text, run_tables

    return {f"{table.name}.csv": csv_text(table) for table in run_tables(run)}


def _parquet(run: Run) -> Content:
    from capscope.export.tables import parquet_bytes, run_tables

    return {f"{table.name}.parquet": parquet_bytes(table) for table in run_tables(run)}


def _inspect(run: Run) -> str:
    from capscope.export.inspect_log import inspect_log

    return inspect_log(run)


def _dot(run: Run, limit: int = _MOST_STATES, loops: bool = False) -> str:
    from capscope.export.dot import dot_graph

    return dot_graph(run.model, run.problem, limit, loops=loops)


_GOAL = ExportOption("goal", str, None, "the goal of the problem, like 'on(a,b)'")
_GROUND = ExportOption("ground", bool, False, "one action for each set of outcomes seen")
_DOT_OPTIONS = (
    ExportOption("limit", int, _MOST_STATES, "the number of states to draw, most visited first", 1),
    ExportOption("loops", bool, False, "also draw what changes nothing"),
)
_BUILT_IN = (
    ExportFormat("json", "the model as in model.json", _json, is_json=True),
    ExportFormat(
        "ppddl",
        "a domain for any objects, and a problem",
        _ppddl,
        (_GOAL, _GROUND),
        several_files=True,
    ),
    ExportFormat("pddl", "the same without probabilities", _pddl, (_GOAL,), several_files=True),
    ExportFormat("prism", "an MDP for PRISM and Storm", _prism),
    ExportFormat("csv", "tables for spreadsheets", _csv, several_files=True),
    ExportFormat("parquet", "tables for data frames", _parquet, several_files=True),
    ExportFormat("inspect", "an eval log that `inspect view` opens", _inspect),
    ExportFormat("dot", "the states seen, for Graphviz", _dot, _DOT_OPTIONS),
)
FORMATS = Registry("capscope.export_formats", "format", ExportFormat, _BUILT_IN)


def find_format(name: str, options: Collection[str] = ()) -> ExportFormat:
    """Return a format by name, or raise if it is unknown or does not take these options."""
    found = FORMATS.find(name)
    for option in (option for option in options if not found.takes(option)):
        takers = [f.name for f in FORMATS.all.values() if f.takes(option)] or ["no format"]
        flag = option.replace("_", "-")
        raise CapscopeError(f"--{flag} is for --to {' and '.join(takers)}, not for --to {name}")
    return found


def export_run(run: Run, name: str, to: str | Path | None = None, **options: Any) -> Content:
    """Export a run; with `to`, also write the file, or the files into that directory."""
    content = find_format(name, options).write(run, **options)
    if to is not None:
        write_content(content, Path(to))
    return content


def write_content(content: Content, to: Path) -> list[Path]:
    """Write one text to a file, or several files into a directory; return what was written."""
    if isinstance(content, str):
        write_atomically(to, content)
        return [to]
    try:
        refuse_links(to)
        to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make the directory {to}: {error.strerror}") from error
    for file, part in content.items():
        write_atomically(to / file, part)
    return [to / file for file in content]
