"""`capscope export DIR --to FORMAT`: the learned model, or the whole run, for other tools.

A format that is one text goes to standard output unless `--output` names a file. A format of
several files goes into a directory: the one that `--output` names, or `export` in the run
directory. The formats and their options come from `capscope.export.formats`.
"""

from __future__ import annotations

import inspect
import json as jsonlib
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer

from capscope.cli.options import Json, RunArgument
from capscope.cli.output import print_json, print_line
from capscope.export.formats import (
    ExportFormat,
    ExportOption,
    export_formats,
    find_format,
    write_content,
)
from capscope.run import load

FOLDER = "export"


def export_run(run: str, to: str, output: str | None, json: bool, **options: Any) -> None:
    """Write the learned model in a format that other tools read."""
    given = {name: value for name, value in options.items() if value}
    chosen = find_format(to, given)
    content = load(run).export(to, **given)
    if isinstance(content, str) and output is None:
        _print_text(chosen, content, json)
        return
    target = Path(run) / FOLDER if output is None else Path(output)
    files = [str(file) for file in write_content(content, target)]
    if json:
        print_json({"written": str(target), "format": to, "files": files})
    else:
        for file in files:
            print_line(f"written: {file}")


def _print_text(chosen: ExportFormat, text: str, json: bool) -> None:
    if not json:
        print_line(text.removesuffix("\n"))
    elif chosen.is_json:
        print_json(jsonlib.loads(text))
    else:
        print_json({"format": chosen.name, "text": text})


def _options() -> dict[str, list[tuple[ExportFormat, ExportOption]]]:
    """Return the options of all formats by name, each with the formats that take it."""
    found = defaultdict(list)
    for known in export_formats().values():
        for option in known.options:
            found[option.name].append((known, option))
    return dict(found)


def _signature() -> inspect.Signature:
    """Declare the options of the command: the common ones and those of the formats."""
    known = export_formats().values()
    to_help = "; ".join(f"{f.name}: {f.description}" for f in known)
    text_names = ", ".join(f.name for f in known if not f.several_files)
    folder_names = ", ".join(f.name for f in known if f.several_files)
    output_help = (
        f"{text_names}: the file to write (default: standard output). "
        f"{folder_names}: the directory to write to (default: DIR/{FOLDER})."
    )
    to = Annotated[str, typer.Option(help=f"The format. {to_help}.")]
    output = Annotated[str | None, typer.Option(metavar="PATH", help=output_help)]
    return inspect.Signature(
        [
            _parameter("run", RunArgument),
            _parameter("to", to, "json"),
            _parameter("output", output, None),
            *(_format_option(name, takers) for name, takers in _options().items()),
            _parameter("json", Json, False),
        ]
    )


def _format_option(name: str, takers: list[tuple[ExportFormat, ExportOption]]) -> inspect.Parameter:
    """Declare an option; None or False means that it was not given."""
    formats, option = ", ".join(taker.name for taker, _ in takers), takers[0][1]
    flag = f"--{name.replace('_', '-')}"
    if option.type is bool:
        declared = typer.Option(flag, help=f"{formats}: {option.help}.")
        return _parameter(name, Annotated[bool, declared], False)
    default = "" if option.default is None else f"  [default: {option.default}]"
    declared = typer.Option(
        flag, min=option.minimum, help=f"{formats}: {option.help}.{default}", show_default=False
    )
    return _parameter(name, Annotated[option.type | None, declared], None)


def _parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


_SIGNATURE = _signature()
export_run.__signature__ = _SIGNATURE  # type: ignore[attr-defined]
export_run.__annotations__ = {p.name: p.annotation for p in _SIGNATURE.parameters.values()}
