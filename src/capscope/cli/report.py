"""`capscope report DIR`: the run as a page, in one file that needs nothing else."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from capscope.cli.options import Json, RunArgument
from capscope.cli.output import print_json, print_line
from capscope.run import REPORT, load


def report_run(
    run: RunArgument,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help=f"Where to write.  [default: DIR/{REPORT}]", show_default=False
        ),
    ] = None,
    pictures: Annotated[
        bool | None,
        typer.Option(
            help="Draw states with the problem's simulator, which loads the problem.  [default: "
            "only for problems with a name, not for Python files]",
            show_default=False,
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    json: Json = False,
) -> None:
    """Write report.html: what the agent can do, what is surprising, what is unknown."""
    written = load(run).report(output, pictures=pictures)
    if json:
        print_json({"written": str(written), "bytes": written.stat().st_size})
    else:
        print_line(f"written: {written}")
    if show:
        webbrowser.open(written.resolve().as_uri())
