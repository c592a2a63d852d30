"""`capscope show DIR [CAPABILITY]`: what the agent can do, when, and with what side effects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from capscope.assessment.reading import read_run
from capscope.cli.options import Json, RunDirectory
from capscope.cli.output import print_json, print_line
from capscope.errors import CapscopeError
from capscope.export.model_json import model_document
from capscope.report.text import capability_lines, capability_views
from capscope.symbolic import Intent


def show_run(
    run: RunDirectory,
    capability: Annotated[
        str | None, typer.Argument(help="Only this one, like 'on(a,b)'.", show_default=False)
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Show only the first so many.")] = None,
    json: Json = False,
) -> None:
    """Print the learned model, the most interesting capabilities first."""
    reading = read_run(Path(run))
    if json:
        print_json(model_document(reading.models, reading.problem))
        return
    views = capability_views(reading.models)
    if capability is not None:
        wanted = Intent.parse(capability)
        views = [view for view in views if view.intent == wanted]
        if not views:
            known = ", ".join(str(intent) for intent in reading.models.capabilities[:5])
            raise CapscopeError(f"the run has no capability {wanted}; it has {known}, …")
    usage = reading.usage
    print_line(
        f"{reading.problem}: {len(reading.models.capabilities)} capabilities, "
        f"{len(reading.dataset.states)} states seen, {usage.executions:,} executions"
    )
    print_line(str(reading.verdict))
    print_line(
        "+ the intent holds   ! something else changed   - nothing changed   [95 % interval]"
    )
    for view in views[:limit]:
        print_line()
        for line in capability_lines(view, reading.models.vocabulary):
            print_line(line)
    if limit is not None and limit < len(views):
        print_line()
        print_line(f"{len(views) - limit} more: capscope show {run}")
