"""`capscope report DIR`: the run as a page to look at, in one file that needs nothing else."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from capscope.api import REPORT, report_on
from capscope.cli.options import Json, RunArgument
from capscope.cli.output import print_json, print_line


def report_run(
    run: RunArgument,
    output: Annotated[
        str | None,
        typer.Option(metavar="FILE", help=f"Where to write; DIR/{REPORT} if left out."),
    ] = None,
    pictures: Annotated[
        bool | None,
        typer.Option(
            help="Draw states by the problem's simulator; this loads the problem. Left out, that "
            "is done for problems that are named, not for files of Python.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    json: Json = False,
) -> None:
    """Write report.html: what the agent can do, what surprised, what is unknown; with evidence."""
    written = report_on(Path(run), None if output is None else Path(output), pictures=pictures)
    if json:
        print_json({"written": str(written), "bytes": written.stat().st_size})
    else:
        print_line(f"written: {written}")
    if show:
        webbrowser.open(written.resolve().as_uri())
