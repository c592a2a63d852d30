"""`capscope explain DIR [QUERY]`: what was asked and why."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from capscope.cli.options import Json, RunArgument
from capscope.cli.output import print_json, print_line
from capscope.present.explanation import explained, explanation


def explain_run(
    run: RunArgument,
    query: Annotated[
        int | None, typer.Argument(help="Its number, from 0; the last one if left out.")
    ] = None,
    json: Json = False,
) -> None:
    """Say what a query asked, what it was expected to tell, what came back and what it taught."""
    chosen = explained(Path(run), query)
    lines = list(explanation(chosen))
    if json:
        record = chosen.record
        print_json(
            {
                "query": chosen.number,
                "predicted": record.predicted,
                "informative": record.informative,
                "xi": record.xi,
                "start": hex(record.start),
                "policy": jsonlib.loads(record.policy) if record.policy else None,
                "draws": len(chosen.draws),
                "explanation": lines,
            }
        )
        return
    for line in lines:
        print_line(line)
