"""Options that several commands share; every setting becomes an option."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

import typer

from capscope.record.settings import Settings
from capscope.record.usage import Budget

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")
]
RunArgument = Annotated[str, typer.Argument(metavar="DIR", help="A run directory.")]
Seed = Annotated[int, typer.Option(help="Seeds all randomness.")]
Workers = Annotated[
    int, typer.Option(min=1, help="Draws made in parallel; for agents that wait, like LLMs.")
]
ProblemArguments = Annotated[
    list[str],
    typer.Argument(
        metavar="PROBLEM", help="A name, file.py:factory, or DOMAIN.pddl and PROBLEM.pddl."
    ),
]
MaxSteps = Annotated[int | None, typer.Option(help="Maximum number of simulator steps.")]
MaxExecutions = Annotated[int | None, typer.Option(help="Maximum number of executions.")]
MaxSeconds = Annotated[float | None, typer.Option(help="Maximum number of seconds.")]
MaxQueries = Annotated[int | None, typer.Option(help="Maximum number of queries.")]
MaxTokens = Annotated[int | None, typer.Option(help="Maximum number of LLM tokens.")]
MaxCost = Annotated[
    float | None, typer.Option(help="Maximum cost of LLM answers, in the currency of the prices.")
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

    def called(**given: Any) -> None:
        chosen = {name: given.pop(option) for option, (name, _) in _LIMITS.items()}
        limited = any(value is not None for value in chosen.values())
        command(**given, budget=Budget(**chosen) if limited else None)

    options = [keyword(option, kind, None) for option, (_, kind) in _LIMITS.items()]
    return _signed(called, command, "budget", options)


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of `Settings`; it receives `settings`."""
    hints = get_type_hints(Settings)
    names = [field.name for field in fields(Settings)]

    def called(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in names}
        command(**given, settings=Settings.from_dict(chosen))

    options = []
    for field in fields(Settings):
        several = field.name == "intents"
        kind = list[str] if several else hints[field.name]
        option = typer.Option(help=field.metadata["help"], rich_help_panel="Settings")
        default = [] if several else field.default
        options.append(keyword(field.name, Annotated[kind, option], default))
    return _signed(called, command, "settings", options)


def keyword(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """Return the parameter of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _signed(
    called: Callable[..., None],
    command: Callable[..., None],
    replaced: str,
    options: list[inspect.Parameter],
) -> Callable[..., None]:
    """Give `called` the signature of `command` with one parameter replaced by options."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    kept = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own if p.name != replaced]
    called.__signature__ = inspect.Signature([*kept, *options])  # type: ignore[attr-defined]
    called.__name__ = command.__name__
    called.__doc__ = command.__doc__
    called.__annotations__ = {p.name: p.annotation for p in [*kept, *options]}
    return called
