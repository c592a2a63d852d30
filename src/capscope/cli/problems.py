"""`capscope list`, `settings`, `check` and `suggest`: what can be assessed, and how."""

from dataclasses import asdict, replace
from functools import partial
from typing import Annotated

import typer

from capscope.assessment.workers import WorkerSettings
from capscope.cli.options import Json, ProblemArguments, Seed, settings_lines, with_workers
from capscope.cli.output import print_answer, print_json, print_line, print_lines
from capscope.journal.settings import Settings
from capscope.logic import to_json
from capscope.problem.checks import check_problem, notes_on
from capscope.problems import (
    ELSEWHERE,
    canonical_source,
    load_object,
    load_problem,
    registered_problems,
    restore_elsewhere,
)


def list_problems(json: Json = False) -> None:
    """List the problems that can be assessed by name."""
    problems = list(registered_problems().values())
    if json:
        names = ("name", "summary", "extra", "installed", "options")
        print_json({"problems": [{n: getattr(p, n) for n in names} for p in problems]})
        return
    width = max(len(problem.name) for problem in problems)
    for problem in problems:
        missing = "" if problem.installed else f"  ({problem.install_hint})"
        print_line(f"{problem.name:<{width}}  {problem.summary}{missing}")
    print_line()
    for problem in problems:
        if problem.options:
            options = ",".join(f"{option.replace('_', '-')}=…" for option in problem.options)
            print_line(f"With options, any of them: {problem.name}:{options}")
    print_line("Your own: capscope assess file.py:factory, or DOMAIN.pddl PROBLEM.pddl")


def list_settings(json: Json = False) -> None:
    """List the settings for --set, with their defaults."""
    print_answer(json, lambda: {"settings": to_json(Settings())}, settings_lines)


@with_workers
def check_source(
    problem: ProblemArguments, workers: WorkerSettings, seed: Seed = 0, json: Json = False
) -> None:
    """Exercise a problem's simulator, agent and abstraction; exit with 1 if something is wrong.

    Snapshots are also restored in another process, or in the workers of --backend ray.
    """
    source = canonical_source(problem)
    loaded = load_problem(source)
    if workers.backend == "threads":  # which would not be elsewhere
        workers = replace(workers, backend=ELSEWHERE.backend)
    workers = replace(workers, draw_timeout=workers.draw_timeout or ELSEWHERE.draw_timeout)
    elsewhere = partial(restore_elsewhere, source, workers=workers)
    findings = check_problem(loaded, seed, elsewhere=elsewhere)
    notes = [] if findings else notes_on(loaded, seed)
    if json:
        found = [asdict(finding) for finding in findings]
        print_json({"problem": loaded.name, "ok": not findings, "findings": found, "notes": notes})
    elif findings:
        print_lines(map(str, findings))
    else:
        print_line(f"{loaded.name}: nothing wrong found")
        print_lines(f"note: {note}" for note in notes)
    raise typer.Exit(1 if findings else 0)


def suggest_vocabulary(
    world: Annotated[str, typer.Argument(help="A tool world, or a problem with one: FILE.py:NAME")],
    calls: Annotated[int, typer.Option(min=1, help="Random calls to make.")] = 400,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print predicates for a tool world, from the paths of the state that random calls change."""
    # Imported here: tool worlds need the clients of MCP servers and language models.
    from capscope.adapters.tools.suggestion import changed_paths, suggested_lines, world_of

    found = world_of(load_object(world), world)
    if not json:
        print_lines(suggested_lines(found, calls, seed))
        return
    paths = [
        {
            "path": ".".join(one.pattern),
            "predicate": one.predicate,
            "objects": list(one.objects),
            "values": list(one.values),
        }
        for one in changed_paths(found, calls, seed)
    ]
    print_json({"paths": paths})
