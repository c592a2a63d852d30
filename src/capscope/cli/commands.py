"""Gather the commands and turn errors into one line and an exit code.

0: done. 1: the command worked and its answer is no. 2: an error to fix. 3: undecided.
130: interrupted.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import capscope
from capscope.cli.options import VIEWER, GroupedCommand
from capscope.cli.output import answering
from capscope.errors import CapscopeError
from capscope.registry import load_entry_point, unusable
from capscope.sanitize import sanitize
from capscope.version import __version__

_COMMANDS = {
    "list": "problems:list_problems",
    "assess": "assess:assess_problem",
    "resume": "assess:resume_run",
    "settings": "problems:list_settings",
    "show": "show:show_run",
    "explain": "show:explain_run",
    "report": "show:report_run",
    "hazards": "show:show_hazards",
    "repro": "repro:write_tests",
    "compare": "compare:compare_versions",
    "diff": "diff:diff_runs",
    "evaluate": "evaluate:evaluate_run",
    "plan": "plan:plan_run",
    "export": "export:export_run",
    "check": "problems:check_source",
    "suggest": "problems:suggest_vocabulary",
    "bench": "",
}
"""Where the function of each command is: module and name; `bench` is among the experiments."""
EXPERIMENTS = Path(capscope.__file__).parents[2] / "experiments"
"""Next to the sources of an editable installation; nowhere else."""
ENTRY_POINTS = "capscope.commands"
"""Functions of other packages, each a command, and Typer applications, each a group of them."""


def make_app(arguments: Sequence[str] = ()) -> typer.Typer:
    """Make the command line.

    Args:
        arguments: What was typed. If it begins with a command, only that one is imported.

    Returns:
        The command line with that command, or with all of them.

    Raises:
        CapscopeError: A command of another package cannot be used, or its package is missing.
    """
    app = typer.Typer(
        name="capscope", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
    )
    app.callback()(options)
    typed = next(iter(arguments), "")
    known: dict[str, str | metadata.EntryPoint] = dict(_COMMANDS)
    if typed not in _COMMANDS:  # finding entry points takes long
        for entry in metadata.entry_points(group=ENTRY_POINTS):
            if entry.name in known:
                raise unusable(entry, "command", f"the name {entry.name!r} is taken")
            known[entry.name] = entry
    for name in [typed] if typed in known else known:
        _add_command(app, name, known[name])
    if typed == "view" and typed not in known:
        raise CapscopeError(f"`capscope view` needs {VIEWER}")
    return app


def _add_command(app: typer.Typer, name: str, place: str | metadata.EntryPoint) -> None:
    if isinstance(place, metadata.EntryPoint):
        command = load_entry_point(place, "command", Callable)
    elif name == "bench":
        _add_bench(app)
        return
    else:
        module, _, attribute = place.partition(":")
        command = getattr(import_module(f"capscope.cli.{module}"), attribute)
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name, cls=GroupedCommand)(answering(command))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"capscope {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Find out what an AI agent can do, when, and with what side effects."""


def run_command(arguments: Sequence[str]) -> None:
    """Run what was typed, and end with its exit code."""
    try:
        make_app(arguments)(arguments)
    except CapscopeError as error:
        message = sanitize(str(error).replace("\n", " "))
        Console(stderr=True).print(
            f"capscope: {message}", style="red", markup=False, soft_wrap=True
        )
        sys.exit(2)
    except BrokenPipeError:
        # The reader of the pipe is gone; discard the rest of the buffer.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def bench_suite(arguments: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
    """Run the experiments; needs a clone of the repository.

    The experiments are not part of the installed package. In a clone of the repository, run
    `pip install --editable '.[all,experiments]'` and then `capscope bench`.
    """
    raise CapscopeError(
        "the experiments are in capscope's repository, not in the installed package; in a clone, "
        "run: pip install --editable '.[all,experiments]' && capscope bench"
    )


def _add_bench(app: typer.Typer) -> None:
    """Add the command of the experiments, or one that says where they are."""
    if not (EXPERIMENTS / "capscope_experiments").is_dir():
        app.command("bench", context_settings={"ignore_unknown_options": True})(bench_suite)
        return
    if str(EXPERIMENTS) not in sys.path:
        sys.path.append(str(EXPERIMENTS))
    from capscope_experiments import command

    app.command("bench", cls=GroupedCommand)(command.bench_suite)
