"""`capscope check PROBLEM`: check that a problem keeps its contracts."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from capscope.cli.options import Json, ProblemArguments
from capscope.cli.output import print_json, print_line
from capscope.problems import canonical_source, load_problem, restore_elsewhere
from capscope.world import check_problem, notes_on


def check_source(
    problem: ProblemArguments,
    seed: Annotated[int, typer.Option(help="Seeds all randomness.")] = 0,
    json: Json = False,
) -> None:
    """Exercise a problem's simulator, agent and abstraction; exit with 1 if something is wrong."""
    source = canonical_source(problem)
    loaded = load_problem(source)
    findings = check_problem(loaded, seed, elsewhere=partial(restore_elsewhere, source))
    notes = [] if findings else notes_on(loaded, seed)
    if json:
        found = [{"check": f.check, "message": f.message} for f in findings]
        print_json({"problem": loaded.name, "ok": not findings, "findings": found, "notes": notes})
    elif findings:
        for finding in findings:
            print_line(f"{finding}")
    else:
        print_line(f"{loaded.name}: nothing wrong found")
        for note in notes:
            print_line(f"note: {note}")
    raise typer.Exit(1 if findings else 0)
