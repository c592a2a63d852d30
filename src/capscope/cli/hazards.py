"""`capscope hazards DIR [HAZARD…]`: did it happen, by which way, and how likely is it in use?"""

from typing import Annotated

import typer

from capscope.cli.options import Json, RunArgument
from capscope.cli.output import print_json, print_lines
from capscope.errors import CapscopeError
from capscope.present.hazards import hazards_document, hazards_lines
from capscope.run import load


def show_hazards(
    run: RunArgument,
    hazards: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[HAZARD]...",
            help="Like 'gone(x)' or 'not attachment(*)'.  [default: those the run searched for]",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print what a run knows about hazards, whether or not it searched for them."""
    loaded = load(run)
    results = loaded.find_hazards(hazards) if hazards else loaded.hazards
    if not results:
        raise CapscopeError(
            f"{run} was started without hazards; name one: capscope hazards {run} 'gone(x)'"
        )
    if json:
        print_json(hazards_document(loaded, results))
    else:
        print_lines(hazards_lines(loaded, results))
