"""Options that several commands share; every setting becomes an option."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

import typer

from capscope.assessment.workers import WorkerSettings
from capscope.record.settings import Settings
from capscope.record.usage import Budget

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")
]
RunArgument = Annotated[str, typer.Argument(metavar="DIR", help="A run directory.")]
DrawPictures = Annotated[
    bool | None,
    typer.Option(
        "--pictures/--no-pictures",
        help="Draw states with the problem's simulator, which runs the problem's code.  [default: "
        "only for problems with a name, not for Python files]",
        show_default=False,
    ),
]
OpenInBrowser = Annotated[bool, typer.Option("--open", help="Open it in the browser.")]
Seed = Annotated[int, typer.Option(help="Seeds all randomness.")]
_Workers = Annotated[int, typer.Option(help="Draws made in parallel.")]
_Backend = Annotated[
    str,
    typer.Option(
        help="Where: 'threads' for agents that wait, like LLMs; 'processes' for agents and "
        "simulators that compute; 'ray' for a cluster."
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Address of a Ray cluster, or 'auto'.  [default: a cluster on this machine]",
        show_default=False,
    ),
]
_DrawTimeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Give up a draw that takes longer; processes and actors are ended, and the draw is "
        "made once more.",
        show_default=False,
    ),
]
ProblemArguments = Annotated[
    list[str],
    typer.Argument(
        metavar="PROBLEM", help="A name, file.py:factory, or DOMAIN.pddl and PROBLEM.pddl."
    ),
]
RecordedProblem = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PROBLEM]",
        help="The problem, as for assess, instead of the one that the run directory names.",
        show_default=False,
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Run the Python file that the run directory names. Needed for such a problem, unless "
        "you name it: the directory may come from somebody else.",
    ),
]
MaxSteps = Annotated[int | None, typer.Option(help="Maximum number of simulator steps.")]
MaxExecutions = Annotated[int | None, typer.Option(help="Maximum number of executions.")]
MaxSeconds = Annotated[
    float | None, typer.Option(help="Maximum number of seconds, with the report.")
]
MaxQueries = Annotated[int | None, typer.Option(help="Maximum number of queries.")]
MaxTokens = Annotated[int | None, typer.Option(help="Maximum number of LLM tokens.")]
MaxCost = Annotated[
    float | None, typer.Option(help="Maximum cost of LLM answers, in the currency of the prices.")
]

_Paper = Annotated[
    bool,
    typer.Option(
        "--paper",
        help="Switch off every departure from the paper (mcqs-s, mcqs-e).",
        rich_help_panel="Settings",
    ),
]
_LIMITS = {
    "max_steps": ("simulator_steps", MaxSteps),
    "max_executions": ("executions", MaxExecutions),
    "max_seconds": ("seconds", MaxSeconds),
    "max_queries": ("queries", MaxQueries),
    "max_tokens": ("llm_tokens", MaxTokens),
    "max_cost": ("llm_cost", MaxCost),
}


def with_budget(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a budget; it receives `budget`, None if none was given."""

    def budget(chosen: Mapping[str, Any]) -> Budget | None:
        limits = {name: chosen[option] for option, (name, _) in _LIMITS.items()}
        return None if set(limits.values()) == {None} else Budget(**limits)

    options = [keyword(option, kind, None) for option, (_, kind) in _LIMITS.items()]
    return _with_options(command, "budget", options, budget)


def with_workers(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of workers; it receives `workers`."""
    options = [
        keyword("workers", _Workers, 1),
        keyword("backend", _Backend, "threads"),
        keyword("address", Address, None),
        keyword("draw_timeout", _DrawTimeout, None),
    ]

    def settings(chosen: Mapping[str, Any]) -> WorkerSettings:
        return WorkerSettings(*chosen.values())

    return _with_options(command, "workers", options, settings)


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of `Settings`; it receives `settings`."""
    hints = get_type_hints(Settings)
    options = []
    for field in fields(Settings):
        repeatable = "option" in field.metadata
        names = [field.metadata["option"]] if repeatable else []
        option = typer.Option(*names, help=field.metadata["help"], rich_help_panel="Settings")
        kind, default = (list[str], []) if repeatable else (hints[field.name], field.default)
        options.append(keyword(field.name, Annotated[kind, option], default))
    return _with_options(command, "settings", [*options, keyword("paper", _Paper, False)], _chosen)


def _chosen(chosen: Mapping[str, Any]) -> Settings:
    settings = Settings.from_dict({name: chosen[name] for name in chosen if name != "paper"})
    return settings.as_in_paper() if chosen["paper"] else settings


def keyword(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return the parameter of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _with_options(
    command: Callable[..., None],
    replaced: str,
    options: list[inspect.Parameter],
    value: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """Replace a parameter of a command by options, from which its value is made."""

    def called(**given: Any) -> None:
        chosen = {option.name: given.pop(option.name) for option in options}
        command(**given, **{replaced: value(chosen)})

    own = inspect.signature(command, eval_str=True).parameters.values()
    kept = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own if p.name != replaced]
    return with_signature(called, command, [*kept, *options])


def with_signature(
    called: Callable[..., None], command: Callable[..., None], parameters: list[inspect.Parameter]
) -> Callable[..., None]:
    """Give `called` these parameters, and name and help of `command`."""
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__name__ = command.__name__
    called.__doc__ = command.__doc__
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called
