"""Gather the commands and turn errors into one line and an exit code.

0: done. 1: the command worked and its answer is no. 2: an error to fix. 130: interrupted.
"""

import os
import sys
from typing import Annotated

import typer
from rich.console import Console

from capscope import __version__
from capscope.cli import (
    assess,
    bench,
    diff,
    evaluate,
    export,
    hazards,
    llm,
    plan,
    problems,
    show,
    suggest,
    view,
)
from capscope.cli.streams import answering
from capscope.errors import CapscopeError
from capscope.sanitize import sanitize

app = typer.Typer(
    name="capscope", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)
app.command("list")(answering(problems.list_problems))
app.command("assess")(answering(assess.assess_problem))
app.command("resume")(answering(assess.resume_run))
app.command("show")(answering(show.show_run))
app.command("explain")(answering(show.explain_run))
app.command("report")(answering(show.report_run))
app.command("view")(answering(view.view_runs))
app.command("hazards")(answering(hazards.show_hazards))
app.command("diff")(answering(diff.diff_runs))
app.command("evaluate")(answering(evaluate.evaluate_run))
app.command("plan")(answering(plan.plan_run))
app.command("export", cls=export.ExportCommand)(answering(export.export_run))
app.command("check")(answering(problems.check_source))
app.command("suggest")(answering(suggest.suggest_vocabulary))
app.command("bench", cls=bench.BenchCommand, context_settings=bench.ANY_ARGUMENTS)(
    bench.bench_suite
)
app.add_typer(llm.app, name="llm")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"capscope {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Find out what an AI agent can do, when, and with what side effects."""


def main() -> None:
    """Run the command line."""
    try:
        app()
    except CapscopeError as error:
        message = sanitize(str(error).replace("\n", " "))
        Console(stderr=True).print(
            f"capscope: {message}", style="red", markup=False, soft_wrap=True
        )
        sys.exit(2)
    except BrokenPipeError:
        # The reader of the pipe is gone; discard the rest of the buffer.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
