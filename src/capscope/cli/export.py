"""`capscope export DIR --to FORMAT`: the learned model, or the whole run, for other tools.

The formats and their options come from `capscope.export`. Other packages may add formats,
and looking for them takes time, so the options are declared only when the command is used.
"""

import inspect
import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from capscope.cli.options import Json, RunArgument, keyword, with_signature
from capscope.cli.output import phases, print_json, print_line, print_lines
from capscope.export import FORMATS, ExportOption, find_format, write_content
from capscope.run import load

FOLDER = "export"


class ExportCommand(TyperCommand):
    """Becomes the command with the options of all formats when its arguments are parsed."""

    def make_context(self, *given: Any, **extra: Any) -> Any:
        """Parse the arguments; the context belongs to the complete command."""
        app = typer.Typer(add_completion=False, rich_markup_mode=None)

        def complete(run: str, to: str, output: str | None, json: bool, **options: Any) -> None:
            _export(run, to, output, json, {n: value for n, value in options.items() if value})

        app.command("export")(with_signature(complete, export_run, _parameters()))
        return typer.main.get_command(app).make_context(*given, **extra)


COMMAND_CLASS = ExportCommand


def export_run() -> None:
    """Write the learned model in a format that other tools read."""


def _export(run: str, to: str, output: str | None, json: bool, options: dict[str, Any]) -> None:
    chosen = find_format(to, options)
    with phases("export"):
        content = load(run).export(to, **options)
    if output is None and isinstance(content, str):
        if not json:
            print_line(content.removesuffix("\n"))
        elif chosen.is_json:
            print_json(jsonlib.loads(content))
        else:
            print_json({"format": to, "text": content})
        return
    target = Path(run) / FOLDER if output is None else Path(output)
    files = [str(file) for file in write_content(content, target)]
    if json:
        print_json({"written": str(target), "format": to, "files": files})
    else:
        print_lines(f"written: {file}" for file in files)


def _parameters() -> list[inspect.Parameter]:
    """Declare the options of the command: the common ones and those of the formats."""
    known = FORMATS.all.values()
    to_help = "; ".join(f"{f.name}: {f.description}" for f in known)
    text_names = ", ".join(f.name for f in known if not f.several_files)
    folder_names = ", ".join(f.name for f in known if f.several_files)
    output_help = (
        f"{text_names}: the file to write (default: standard output). "
        f"{folder_names}: the directory to write to (default: DIR/{FOLDER})."
    )
    options: dict[str, ExportOption] = {}
    for option in (option for f in known for option in f.options):
        options.setdefault(option.name, option)
    takers = {name: [f.name for f in known if f.takes(name)] for name in options}
    return [
        keyword("run", RunArgument),
        keyword("to", Annotated[str, typer.Option(help=f"The format. {to_help}.")], "json"),
        keyword(
            "output", Annotated[str | None, typer.Option(metavar="PATH", help=output_help)], None
        ),
        *(_format_option(option, ", ".join(takers[name])) for name, option in options.items()),
        keyword("json", Json, False),
    ]


def _format_option(option: ExportOption, formats: str) -> inspect.Parameter:
    """Declare an option; None or False means that it was not given."""
    flag = f"--{option.name.replace('_', '-')}"
    if option.type is bool:
        declared = typer.Option(flag, help=f"{formats}: {option.help}.")
        return keyword(option.name, Annotated[bool, declared], False)
    default = "" if option.default is None else f"  [default: {option.default}]"
    declared = typer.Option(
        flag, min=option.minimum, help=f"{formats}: {option.help}.{default}", show_default=False
    )
    return keyword(option.name, Annotated[option.type | None, declared], None)
