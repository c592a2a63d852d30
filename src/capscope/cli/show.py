"""`capscope show`, `explain` and `report`: what a run found out, as text or as a page."""

import webbrowser
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from capscope.cli.options import DrawPictures, Json, OpenInBrowser, RunArgument
from capscope.cli.output import phases, print_json, print_line, print_lines
from capscope.errors import CapscopeError
from capscope.export.model_json import model_of_run
from capscope.journal.run_directory import REPORT
from capscope.logic import Intent
from capscope.report.draws import capability_draws, draw_lines, draws_document
from capscope.report.overview import findings_document, findings_lines, model_lines
from capscope.run import load
from capscope.wording import first_few

_MOST_NAMED = 10


def show_run(
    run: RunArgument,
    capability: Annotated[
        str | None,
        typer.Argument(
            help="Only this one, like 'on(a,b)', or those that match, like 'on(*,b)'.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Show only the first N.")] = None,
    surprises: Annotated[
        bool,
        typer.Option("--surprises", help="Report what is surprising, the most striking first."),
    ] = False,
    draws: Annotated[
        bool, typer.Option("--draws", help="List the draws behind the rules of the capability.")
    ] = False,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="List the draws, with what the agent said in them.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the learned model, the most interesting capabilities first."""
    with phases("show"):
        loaded = load(run)
        wanted = None if capability is None else loaded.graph.match_capabilities(capability)
        if draws or transcript:
            found = capability_draws(loaded, _the_one(wanted, run), limit, transcript)
            answer: dict[str, Any] | list[str] = (
                draws_document(found) if json else list(draw_lines(found))
            )
        elif surprises and json:
            answer = findings_document(loaded, wanted, limit)
        elif surprises:
            answer = list(findings_lines(loaded, wanted, limit))
        elif json:
            answer = model_of_run(loaded, wanted)
        else:
            answer = list(model_lines(loaded, wanted, limit))
    if isinstance(answer, dict):
        print_json(answer)
    else:
        print_lines(answer)


def _the_one(wanted: Sequence[Intent] | None, run: str) -> Intent:
    if wanted is None:
        raise CapscopeError(
            f"whose draws? Name a capability: capscope show {run} CAPABILITY --draws"
        )
    if len(wanted) > 1:
        names = ", ".join(first_few([str(intent) for intent in wanted], _MOST_NAMED))
        raise CapscopeError(
            f"whose draws? The pattern matches {len(wanted)} capabilities: {names}; name one"
        )
    return wanted[0]


def explain_run(
    run: RunArgument,
    query: Annotated[
        int | None, typer.Argument(help="Its number, from 0.  [default: the last one]")
    ] = None,
    json: Json = False,
) -> None:
    """Explain a query: what it asked, what it was expected to show, what was observed."""
    with phases("explain"):
        explanation = load(run).explain(query)
    if json:
        print_json(explanation.as_dict())
    else:
        print_lines(explanation.lines)


def report_run(
    run: RunArgument,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help=f"Where to write.  [default: DIR/{REPORT}]", show_default=False
        ),
    ] = None,
    pictures: DrawPictures = None,
    show: OpenInBrowser = False,
    json: Json = False,
) -> None:
    """Write report.html: what the agent can do, what is surprising, what is unknown."""
    with phases("report"):
        written = load(run).report(output, pictures=pictures)
    if json:
        print_json({"written": str(written), "bytes": written.stat().st_size})
    else:
        print_line(f"written: {written}")
    if show:
        webbrowser.open(written.resolve().as_uri())
