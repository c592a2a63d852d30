"""`capscope show`, `explain`, `report` and `hazards`: what a run found out."""

import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from capscope.cli.options import (
    DrawPictures,
    Format,
    FormatOption,
    Json,
    OpenInBrowser,
    RunArgument,
)
from capscope.cli.output import phases, print_answer, print_with_page
from capscope.errors import CapscopeError
from capscope.export.model_json import model_of_run
from capscope.insight.first_screen import run_screen_lines
from capscope.insight.hazards.wording import hazards_document, hazards_lines
from capscope.journal.run_directory import REPORT, write_atomically
from capscope.logic import Intent
from capscope.report.draws import draw_lines, draws_document
from capscope.report.overview import (
    findings_document,
    findings_lines,
    model_lines,
    rule_lines,
)
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
    findings: Annotated[
        bool,
        typer.Option("--findings", help="Report the findings, the most harmful first."),
    ] = False,
    rules: Annotated[bool, typer.Option("--rules", help="Print the rules of the model.")] = False,
    draws: Annotated[
        bool,
        typer.Option("--draws", help="List the executions behind the rules of the capability."),
    ] = False,
    transcript: Annotated[
        bool,
        typer.Option("--transcript", help="List the executions, with what the agent said in them."),
    ] = False,
    format: FormatOption = Format.TEXT,
    json: Json = False,
) -> None:
    """Print what to watch out for, what the agent can do and how sure that is.

    Markdown, JUnit and SARIF list the findings, and the requests without any.
    """
    json = json or format is Format.JSON
    elsewhere = format not in (Format.TEXT, Format.JSON)
    if elsewhere and (json or rules or draws or transcript):
        raise CapscopeError(f"--format {format} lists findings only; for more use text or json")
    with phases("show"):
        loaded = load(run)
        wanted = None if capability is None else loaded.graph.match_capabilities(capability)
        if elsewhere:
            from capscope.report.formats import RENDERERS, findings_summary

            answer: Any = list(RENDERERS[format](findings_summary(loaded, wanted, limit)))
        elif draws or transcript:
            asked = loaded, _the_one(wanted, run), limit, transcript
            answer = draws_document(*asked) if json else draw_lines(*asked)
        elif findings:
            told: Callable[..., Any] = findings_document if json else findings_lines
            answer = told(loaded, wanted, limit)
        elif json:
            answer = model_of_run(loaded, wanted)
        elif rules:
            answer = rule_lines(loaded, limit)
        elif wanted is None:
            answer = run_screen_lines(loaded)
        else:
            answer = model_lines(loaded, wanted, limit)
        answer = answer if json else list(answer)  # computed while phases are shown
    print_answer(json, lambda: answer, lambda: answer)


def _the_one(wanted: Sequence[Intent] | None, run: str) -> Intent:
    if wanted is None:
        raise CapscopeError(
            f"whose executions? Name a capability: capscope show {run} CAPABILITY --draws"
        )
    if len(wanted) > 1:
        names = ", ".join(first_few([str(intent) for intent in wanted], _MOST_NAMED))
        raise CapscopeError(
            f"whose executions? The pattern matches {len(wanted)} capabilities: {names}; name one"
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
    print_answer(json, explanation.as_dict, lambda: explanation.lines)


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
    """Write report.html: what the agent can do, what it changes besides, what is unknown."""
    with phases("report"):
        written = load(run).report(output, pictures=pictures)
    print_answer(
        json,
        lambda: {"written": str(written), "bytes": written.stat().st_size},
        lambda: [f"written: {written}"],
    )
    if show:
        webbrowser.open(written.resolve().as_uri())


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
        from capscope.report.page.report import hazards_page

        write_atomically(Path(html), hazards_page(loaded, results))
    print_with_page(json, hazards_document(loaded, results), hazards_lines(loaded, results), html)
