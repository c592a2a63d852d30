"""`capscope list`: the problems there are, what each needs, and whether it is installed."""

from __future__ import annotations

from capscope.cli.options import Json
from capscope.cli.output import print_json, print_line
from capscope.errors import install_hint
from capscope.problems import registered_problems


def list_problems(json: Json = False) -> None:
    """List the problems that can be assessed by name."""
    problems = list(registered_problems().values())
    if json:
        print_json(
            {
                "problems": [
                    {
                        "name": problem.name,
                        "summary": problem.summary,
                        "extra": problem.extra,
                        "installed": problem.installed,
                        "options": list(problem.options),
                    }
                    for problem in problems
                ]
            }
        )
        return
    width = max(len(problem.name) for problem in problems)
    for problem in problems:
        missing = "" if problem.installed else f"  ({install_hint(problem.extra or 'all')})"
        print_line(f"{problem.name:<{width}}  {problem.summary}{missing}")
    print_line()
    for problem in problems:
        if problem.options:
            options = ",".join(f"{option.replace('_', '-')}=…" for option in problem.options)
            print_line(f"With options, any of them: {problem.name}:{options}")
    print_line("Your own: capscope assess file.py:factory, or DOMAIN.pddl PROBLEM.pddl")
