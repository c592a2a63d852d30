"""`capscope explain DIR [QUERY]`: what was asked and why."""

from __future__ import annotations

from typing import Annotated

import typer

from capscope.cli.options import Json, RunArgument
from capscope.cli.output import print_json, print_line
from capscope.run import load


def explain_run(
    run: RunArgument,
    query: Annotated[
        int | None, typer.Argument(help="Its number, from 0.  [default: the last one]")
    ] = None,
    json: Json = False,
) -> None:
    """Explain a query: what it asked, what it was expected to show, what came back."""
    explanation = load(run).explain(query)
    if json:
        print_json(explanation.as_dict())
        return
    for line in explanation.lines:
        print_line(line)
