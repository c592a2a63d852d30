"""The pages of the documentation, and the commands that they may name."""

import pytest
import typer

from capscope.cli.commands import make_app
from support.shown_sessions import PAGES, ROOT

WRITTEN = [p for p in sorted(PAGES.rglob("*.md")) if not p.is_relative_to(PAGES / "results")]
READ_FIRST = [
    ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
]


def named(page):
    return str(page.relative_to(ROOT))


def every(pages):
    return pytest.mark.parametrize("page", pages, ids=named)


def _commands(command, name):
    inner = getattr(command, "commands", {})
    found = {}
    if command.params or not inner:
        # `bench` is a placeholder that its context replaces by the command of the experiments.
        command = command.make_context(name, [], resilient_parsing=True).command
        options = [p for p in command.params if p.param_type_name == "option"]
        found[name] = {"--help", *(o for p in options for o in (*p.opts, *p.secondary_opts))}
    for word, command in inner.items():
        found |= _commands(command, f"{name} {word}")
    return found


COMMANDS = _commands(typer.main.get_command(make_app()), "capscope")
