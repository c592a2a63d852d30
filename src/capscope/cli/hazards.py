"""`capscope hazards DIR [HAZARD…]`: did it happen, by which way, and how likely is it in use?"""

from pathlib import Path
from typing import Annotated

import typer

from capscope.cli.options import Json, RunArgument
from capscope.cli.output import print_json, print_line, print_lines
from capscope.errors import CapscopeError
from capscope.journal.run_directory import write_atomically
from capscope.report.hazards import hazards_document, hazards_lines
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
    html: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write the hazards as a page.")
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
    if html is not None:
        from capscope.report.page.hazards import hazards_page

        write_atomically(Path(html), hazards_page(loaded, results))
    if json:
        print_json({**hazards_document(loaded, results), "html": html})
    else:
        print_lines(hazards_lines(loaded, results))
        if html is not None:
            print_line(f"written: {html}")
