"""`capscope show DIR [CAPABILITY]`: what the agent can do, when, and with what side effects.

`--surprises` reports what is worth knowing about that and omits what is as expected. `--draws` lists
the draws found the rules of a capability, `--transcript` also what the agent said in them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from capscope.cli.options import Json, RunArgument
from capscope.cli.output import print_json, print_line
from capscope.errors import CapscopeError
from capscope.export.model_json import model_document
from capscope.present.draws import capability_draws, draw_lines, draws_document
from capscope.present.text import capability_lines, capability_views, counted, finding_lines
from capscope.run import Run, load
from capscope.symbolic import Intent


def show_run(
    run: RunArgument,
    capability: Annotated[
        str | None, typer.Argument(help="Only this one, like 'on(a,b)'.", show_default=False)
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Show only the first N.")] = None,
    surprises: Annotated[
        bool,
        typer.Option("--surprises", help="Report what is surprising, the most striking first."),
    ] = False,
    draws: Annotated[
        bool, typer.Option("--draws", help="List the draws found the capability's rules.")
    ] = False,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="List the draws, with what the agent said in them.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the learned model, the most interesting capabilities first."""
    loaded = load(run)
    wanted = None if capability is None else loaded.graph.resolve_capability(capability)
    if draws or transcript:
        _show_draws(loaded, wanted, limit, transcript, json)
    elif surprises:
        _show_findings(loaded, wanted, limit, json)
    elif json:
        print_json(model_document(loaded.graph, loaded.problem))
    else:
        _show_model(loaded, wanted, limit)


def _show_model(run: Run, wanted: Intent | None, limit: int | None) -> None:
    views = [v for v in capability_views(run.graph) if wanted in (None, v.intent)]
    _print_heading(run)
    print_line(
        "+ the intent holds   ! something else changed   - nothing changed   [95 % interval]"
    )
    for view in views[:limit]:
        print_line()
        for line in capability_lines(view, run.graph.vocabulary):
            print_line(line)
    _print_rest(len(views), limit, f"capscope show {run.path}")


def _show_findings(run: Run, wanted: Intent | None, limit: int | None, json: bool) -> None:
    findings = [f for f in run.findings() if wanted is None or wanted in f.intents]
    if json:
        print_json(
            {
                "problem": run.problem,
                "findings": [finding.as_dict() for finding in findings[:limit]],
                "agent_failures": [failure.as_dict() for failure in run.agent_failures],
                "aliasing": run.aliasing.as_dict(),
            }
        )
        return
    _print_heading(run)
    if not findings:
        print_line("nothing surprising was found; what was never tried is unknown")
    constant = run.graph.always
    for finding in findings[:limit]:
        print_line()
        for line in finding_lines(finding, constant):
            print_line(line)
    _print_rest(len(findings), limit, f"capscope show {run.path} --surprises")


def _show_draws(
    run: Run, wanted: Intent | None, limit: int | None, transcript: bool, json: bool
) -> None:
    if wanted is None:
        raise CapscopeError(
            f"whose draws? Name a capability: capscope show {run.path} CAPABILITY --draws"
        )
    found = capability_draws(run, wanted, limit, transcript)
    if json:
        print_json(draws_document(found, transcript))
        return
    for line in draw_lines(found):
        print_line(line)
    if transcript and not any(made.attempt.transcript for made in found.executions):
        print_line("there is no transcript of these draws")


def _print_heading(run: Run) -> None:
    print_line(
        f"{run.problem}: {counted(len(run.capabilities), 'capability')}, "
        f"{counted(len(run.graph.nodes), 'state')} seen, "
        f"{counted(run.usage.executions, 'execution')}"
    )
    print_line(str(run.verdict))
    for line in run.notes():
        print_line(line)


def _print_rest(number: int, limit: int | None, command: str) -> None:
    if limit is not None and limit < number:
        print_line()
        print_line(f"{number - limit} more: {command}")
