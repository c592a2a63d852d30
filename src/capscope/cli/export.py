"""`capscope export DIR --to FORMAT`: the learned model, or the whole run, for other tools.

The formats and their options come from `capscope.export`; other packages may add some.
"""

import inspect
import json as jsonlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from capscope.cli.options import Json, RunArgument, keyword, with_options
from capscope.cli.output import phases, print_json, print_line, print_lines
from capscope.export import FORMATS, ExportOption, find_format, write_content
from capscope.run import load

FOLDER = "export"
_ALL = FORMATS.all.values()
_TO = "; ".join(f"{known.name}: {known.description}" for known in _ALL)
_OUTPUT = (
    f"{', '.join(known.name for known in _ALL if not known.several_files)}: the file to write "
    f"(default: standard output). {', '.join(known.name for known in _ALL if known.several_files)}"
    f": the directory to write to (default: DIR/{FOLDER})."
)


def _format_option(option: ExportOption) -> inspect.Parameter:
    """Declare an option; None or False means that it was not given."""
    flag = f"--{option.name.replace('_', '-')}"
    text = f"{', '.join(known.name for known in _ALL if known.takes(option.name))}: {option.help}."
    if option.type is bool:
        return keyword(option.name, Annotated[bool, typer.Option(flag, help=text)], False)
    default = "" if option.default is None else f"  [default: {option.default}]"
    declared = typer.Option(flag, min=option.minimum, help=f"{text}{default}", show_default=False)
    return keyword(option.name, Annotated[option.type | None, declared], None)


def _with_format_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of all formats; it receives those that were given."""
    options: dict[str, ExportOption] = {}
    for option in (option for known in _ALL for option in known.options):
        options.setdefault(option.name, option)
    return with_options(
        command,
        "options",
        [_format_option(option) for option in options.values()],
        lambda chosen: {name: value for name, value in chosen.items() if value},
    )


@_with_format_options
def export_run(
    run: RunArgument,
    options: dict[str, Any],
    to: Annotated[str, typer.Option(help=f"The format. {_TO}.")] = "json",
    output: Annotated[str | None, typer.Option(metavar="PATH", help=_OUTPUT)] = None,
    json: Json = False,
) -> None:
    """Write the learned model in a format that other tools read."""
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
