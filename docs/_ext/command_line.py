"""Generate the command line reference from the commands, so that it cannot go out of date.

The directive `command-line` becomes one section for each command: its usage, its help and a table
of its arguments and options.
"""

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from capscope.cli.commands import make_app

Command = Any
"""A command as Typer makes it; its class depends on the version of Typer."""


def commands(
    command: Command | None = None, name: str = "capscope"
) -> Iterator[tuple[str, Command]]:
    """Yield every command with its full name, and each group that has options of its own."""
    command = command or typer.main.get_command(make_app())
    inner_commands = getattr(command, "commands", {})
    if command.params or not inner_commands:
        yield name, command
    for word, inner in inner_commands.items():
        yield from commands(inner, f"{name} {word}")


def section(name: str, command: Command) -> str:
    """Return a command's section in Markdown."""
    context = command.context_class(command, info_name=name)
    usage = command.get_usage(context).removeprefix("Usage: ")
    records = (parameter.get_help_record(context) for parameter in command.params)
    rows = [f"| `{_plain(called)}` | {_plain(text)} |" for called, text in filter(None, records)]
    table = "\n".join(["| argument or option | meaning |", "|---|---|", *rows])
    return f"## {name}\n\n{command.help}\n\n```text\n{usage}\n```\n\n{table}\n\n"


def _plain(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


class CommandLine(SphinxDirective):
    """Insert one section for each command."""

    def run(self) -> list[nodes.Node]:
        """Write the sections as Markdown and parse them as part of the page."""
        text = "".join(section(name, command) for name, command in commands())
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
