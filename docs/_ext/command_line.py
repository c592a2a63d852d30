"""The reference of the command line, read off the commands themselves so that it cannot drift.

`command-line` in a page stands for a section for each command: how it is called, what it does,
and a table of its arguments and options.
"""

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from capscope.cli.main import app as capscope_app

Command = Any
"""A command as Typer makes it: Click's, or its own kind of it, by the version."""


def commands(
    command: Command | None = None, name: str = "capscope"
) -> Iterator[tuple[str, Command]]:
    """Yield every command that can be called, with its full name."""
    command = command or typer.main.get_command(capscope_app)
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, inner in command.commands.items():
        yield from commands(inner, f"{name} {word}")


def section(name: str, command: Command) -> str:
    """Write a command's section in Markdown."""
    context = command.context_class(command, info_name=name)
    usage = command.get_usage(context).removeprefix("Usage: ")
    records = (parameter.get_help_record(context) for parameter in command.params)
    rows = [f"| `{_plain(called)}` | {_plain(text)} |" for called, text in filter(None, records)]
    table = "\n".join(["| given | means |", "|---|---|", *rows])
    return f"## {name}\n\n{command.help}\n\n```text\n{usage}\n```\n\n{table}\n\n"


def _plain(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


class CommandLine(SphinxDirective):
    """Stand for a section for each command."""

    def run(self) -> list[nodes.Node]:
        """Write the sections and let the page's own parser read them."""
        text = "".join(section(name, command) for name, command in commands())
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
