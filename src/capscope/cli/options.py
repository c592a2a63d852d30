"""Options that several commands share, and how settings become options."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from capscope.assessment.workers import WorkerSettings
from capscope.errors import CapscopeError
from capscope.journal.run_meta import Budget
from capscope.journal.settings import PAPER, OptionGroup, Settings, named

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")
]
RunArgument = Annotated[str, typer.Argument(metavar="DIR", help="A run directory.")]
DrawPictures = Annotated[
    bool | None,
    typer.Option(
        "--pictures/--no-pictures",
        help="Draw states with the problem's simulator, which runs the problem's code.  [default: "
        "only for problems with a name, not for files that the run directory names]",
        show_default=False,
    ),
]
OpenInBrowser = Annotated[bool, typer.Option("--open", help="Open it in the browser.")]
VIEWER = "the package capscope-view: pip install 'capscope[view]', or ./viewer in a clone"
Live = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Show the run in a local page while it goes on, and print the page's address; needs "
        "the extra view.",
        rich_help_panel=OptionGroup.WHERE,
    ),
]
Seed = Annotated[int, typer.Option(help="Seeds all randomness.", rich_help_panel=OptionGroup.WHAT)]
_Workers = Annotated[
    int, typer.Option(help="Draws made in parallel.", rich_help_panel=OptionGroup.WHERE)
]
_Backend = Annotated[
    str,
    typer.Option(
        help="Where: 'threads' for agents that wait, like LLMs; 'processes' for agents and "
        "simulators that compute; 'ray' for a cluster.",
        rich_help_panel=OptionGroup.WHERE,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Address of a Ray cluster, or 'auto'.  [default: a cluster on this machine]",
        show_default=False,
        rich_help_panel=OptionGroup.WHERE,
    ),
]
_DrawTimeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Give up a draw that takes longer; processes and actors are ended, and the draw is "
        "made once more.",
        show_default=False,
        rich_help_panel=OptionGroup.WHERE,
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
        help="Load the problem although the run directory names a file for it, which is run if it "
        "is a Python file. Needed for such a problem, unless you name it: the directory may come "
        "from somebody else.",
    ),
]


def _limit(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel=OptionGroup.BUDGET)


MaxSteps = Annotated[int | None, _limit("Maximum number of simulator steps.")]
MaxExecutions = Annotated[int | None, _limit("Maximum number of executions.")]
MaxSeconds = Annotated[float | None, _limit("Maximum number of seconds, with the report.")]
MaxQueries = Annotated[int | None, _limit("Maximum number of queries.")]
MaxTokens = Annotated[int | None, _limit("Maximum number of LLM tokens.")]
MaxCost = Annotated[
    float | None, _limit("Maximum cost of LLM answers, in the currency of the prices.")
]

_Paper = Annotated[
    bool,
    typer.Option(
        "--paper",
        help="Depart from the paper only by what --set says (mcqs-s, mcqs-e, random).",
        rich_help_panel=OptionGroup.WHAT,
    ),
]
_Set = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting of the strategies; `capscope settings` lists them; repeatable.",
        rich_help_panel=OptionGroup.WHAT,
        show_default=False,
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


class GroupedCommand(TyperCommand):
    """A command whose help lists its options by group."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section for the arguments and one for each group of options."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                other = "Arguments" if parameter.param_type_name == "argument" else "Other"
                group = getattr(parameter, "rich_help_panel", None) or other
                groups.setdefault(group, []).append(record)
        for title in sorted(groups, key=list(_ORDER).index):
            with formatter.section(title):
                formatter.write_dl(groups[title])


_ORDER = ("Arguments", *OptionGroup, "Other")


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options for `Settings`; it receives `settings`."""
    hints = get_type_hints(Settings)
    options = []
    for field in fields(Settings):
        if field.metadata["group"] is None:
            continue
        repeatable = "option" in field.metadata
        panel = field.metadata["group"]
        option = typer.Option(named(field), help=field.metadata["help"], rich_help_panel=panel)
        kind, default = (list[str], []) if repeatable else (hints[field.name], field.default)
        options.append(keyword(field.name, Annotated[kind, option], default))
    options += [keyword("paper", _Paper, False), keyword("set_", _Set, [])]
    return _with_options(command, "settings", options, _chosen)


def _chosen(chosen: Mapping[str, Any]) -> Settings:
    given = {name: value for name, value in chosen.items() if name not in ("paper", "set_")}
    given |= {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    printed = PAPER if chosen["paper"] else {}
    return Settings(**{**given, **printed, **dict(map(_assigned, chosen["set_"]))})


def _assigned(text: str) -> tuple[str, Any]:
    """Read `name=value` of `--set`."""
    known = {field.name: field for field in fields(Settings) if field.metadata["group"] is None}
    name, equals, value = text.partition("=")
    field = known.get(name.strip().replace("-", "_"))
    if field is None or not equals:
        raise CapscopeError(f"--set takes name=value, not {text!r}; `capscope settings` lists them")
    value = value.strip()
    kind: type[Any] = type(field.default)
    try:
        return field.name, kind(value)
    except ValueError:
        meant = "a whole number" if kind is int else "a number"
        raise CapscopeError(f"--set {name} takes {meant}, not {value!r}") from None


def settings_lines() -> Iterator[str]:
    """Yield each setting for `--set` with its default and meaning."""
    for field in fields(Settings):
        if field.metadata["group"] is None:
            yield f"{field.name.replace('_', '-')}={field.default:g}"
            yield f"  {field.metadata['help']}"


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
