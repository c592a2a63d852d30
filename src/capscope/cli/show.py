"""`capscope show DIR [CAPABILITY]`: what the agent can do, when, and with what side effects.

`--surprises` says what is worth knowing about that, and leaves out what is as expected. `--draws`
lists the draws behind the rules of a capability, `--transcript` also what the agent said in them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from capscope.analysis.findings import find_surprises
from capscope.assessment.reading import Reading
from capscope.cli.options import Json, RunArgument
from capscope.cli.output import print_json, print_line
from capscope.errors import CapscopeError
from capscope.export.model_json import model_document
from capscope.present.digest.record import Record, opened_record
from capscope.present.draws import draw_lines, draws_behind, draws_document
from capscope.present.findings import finding_lines
from capscope.present.run_notes import run_notes
from capscope.present.text import capability_lines, capability_views, counted
from capscope.symbolic import Intent


def show_run(
    run: RunArgument,
    capability: Annotated[
        str | None, typer.Argument(help="Only this one, like 'on(a,b)'.", show_default=False)
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Show only the first so many.")] = None,
    surprises: Annotated[
        bool,
        typer.Option("--surprises", help="Say what is surprising, the most striking first."),
    ] = False,
    draws: Annotated[
        bool, typer.Option("--draws", help="List the draws behind the capability's rules.")
    ] = False,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="The draws, and what the agent said in them.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the learned model, the most interesting capabilities first."""
    with opened_record(Path(run)) as record:
        reading = record.reading
    wanted = None if capability is None else reading.graph.resolve_capability(capability)
    if draws or transcript:
        _show_draws(reading, wanted, limit, transcript, json)
    elif surprises:
        _show_surprises(record, wanted, limit, json)
    elif json:
        print_json(model_document(reading.graph, reading.problem))
    else:
        _show_model(record, wanted, limit)


def _show_model(record: Record, wanted: Intent | None, limit: int | None) -> None:
    reading = record.reading
    views = [v for v in capability_views(reading.graph) if wanted in (None, v.intent)]
    _print_heading(record)
    print_line(
        "+ the intent holds   ! something else changed   - nothing changed   [95 % interval]"
    )
    for view in views[:limit]:
        print_line()
        for line in capability_lines(view, reading.graph.vocabulary):
            print_line(line)
    _print_rest(len(views), limit, f"capscope show {reading.path}")


def _show_surprises(record: Record, wanted: Intent | None, limit: int | None, json: bool) -> None:
    reading = record.reading
    length = reading.meta["identity"]["temporal length"]
    found = find_surprises(reading.graph, temporal_length=length)
    findings = [f for f in found if wanted is None or wanted in f.intents]
    if json:
        told = [finding.as_dict() for finding in findings[:limit]]
        agent_failures = [failure.as_dict() for failure in reading.agent_failures]
        print_json(
            {
                "problem": reading.problem,
                "findings": told,
                "mishaps": agent_failures,
                "left_out": record.aliasing.as_dict(),
            }
        )
        return
    _print_heading(record)
    if not findings:
        print_line("nothing surprising was found; what was never tried is unknown")
    constant = reading.graph.always
    for finding in findings[:limit]:
        print_line()
        for line in finding_lines(finding, constant):
            print_line(line)
    _print_rest(len(findings), limit, f"capscope show {reading.path} --surprises")


def _show_draws(
    reading: Reading, wanted: Intent | None, limit: int | None, transcript: bool, json: bool
) -> None:
    if wanted is None:
        raise CapscopeError(
            f"whose draws? Name a capability: capscope show {reading.path} CAPABILITY --draws"
        )
    behind = draws_behind(reading, wanted, limit, transcript)
    if json:
        print_json(draws_document(behind, transcript))
        return
    for line in draw_lines(behind):
        print_line(line)
    if transcript and not any(made.attempt.transcript for made in behind.executions):
        print_line("the agent wrote nothing down of these")


def _print_heading(record: Record) -> None:
    reading = record.reading
    print_line(
        f"{reading.problem}: {counted(len(reading.graph.capabilities), 'capability')}, "
        f"{counted(len(reading.dataset.states), 'state')} seen, "
        f"{counted(reading.usage.executions, 'execution')}"
    )
    print_line(str(reading.verdict))
    told = reading.agent_failures, reading.initial_positions, record.aliasing
    for line in run_notes(*told, record.graph.always, reading.path):
        print_line(line)


def _print_rest(number: int, limit: int | None, command: str) -> None:
    if limit is not None and limit < number:
        print_line()
        print_line(f"{number - limit} more: {command}")
