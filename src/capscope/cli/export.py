"""`capscope export DIR --to json`: the learned model for other tools."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from capscope.assessment.reading import read_run
from capscope.assessment.run import write_atomically
from capscope.cli.options import Json, RunDirectory
from capscope.cli.output import print_json, print_line
from capscope.errors import CapscopeError
from capscope.export.model_json import model_document

_FORMATS = ("json",)


def export_run(
    run: RunDirectory,
    to: Annotated[str, typer.Option(help=f"One of {', '.join(_FORMATS)}.")] = "json",
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where to write; else standard output.")
    ] = None,
    json: Json = False,
) -> None:
    """Write the learned model in a format that other tools read."""
    if to not in _FORMATS:
        raise CapscopeError(f"no format {to!r}; choose one of {', '.join(_FORMATS)}")
    reading = read_run(Path(run))
    document = model_document(reading.models, reading.problem)
    if output is None:
        print_json(document)
        return
    write_atomically(Path(output), jsonlib.dumps(document, indent=1) + "\n")
    if json:
        print_json({"written": output, "format": to})
    else:
        print_line(f"written: {output}")
