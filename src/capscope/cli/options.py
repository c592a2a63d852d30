"""Options that several commands share, and how settings become options."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from capscope.assessment.workers import WorkerSettings
from capscope.errors import CapscopeError
from capscope.journal.run_meta import Budget
from capscope.journal.settings import PAPER, OptionGroup, Settings, named


def grouped(group: OptionGroup, text: str, *flags: str, **given: Any) -> Any:
    """Return an option of a command that its help lists in a group."""
    return typer.Option(*flags, help=text, rich_help_panel=group, **given)


Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")
]


class Format(StrEnum):
    """The forms in which commands print a summary."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    SARIF = "sarif"


FormatOption = Annotated[
    Format,
    typer.Option(
        "--format",
        help="How to print it; JSON, JUnit and SARIF for programs.",
    ),
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
_LIVE = (
    "Show the run in a local page while it goes on, and print the page's address; needs the extra "
    "view."
)
Live = Annotated[bool, grouped(OptionGroup.WHERE, _LIVE, "--live")]
Seed = Annotated[int, grouped(OptionGroup.WHAT, "Seeds all randomness.")]
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
_CLUSTER = "Address of a Ray cluster, or 'auto'.  [default: a cluster on this machine]"
Address = Annotated[str | None, grouped(OptionGroup.WHERE, _CLUSTER, show_default=False)]
_BACKEND = (
    "Where: 'threads' for agents that wait, like LLMs; 'processes' for agents and simulators that "
    "compute; 'ray' for a cluster."
)
_TIMEOUT = (
    "Give up a draw that takes longer; processes and actors are ended, and the draw is made once "
    "more."
)
_PAPER = "Depart from the paper only by what --set says (mcqs-s, mcqs-e, random)."
_SET = "Change a setting of the strategies; `capscope settings` lists them; repeatable."
_LIMITS: dict[str, tuple[str, type, str]] = {
    "max_steps": ("simulator_steps", int, "Maximum number of simulator steps."),
    "max_executions": ("executions", int, "Maximum number of executions."),
    "max_seconds": ("seconds", float, "Maximum number of seconds, with the report."),
    "max_queries": ("queries", int, "Maximum number of queries."),
    "max_tokens": ("llm_tokens", int, "Maximum number of LLM tokens."),
    "max_cost": ("llm_cost", float, "Maximum cost of LLM answers, in the currency of the prices."),
}


def with_budget(
    command: Callable[..., None], limits: Iterable[str] = tuple(_LIMITS)
) -> Callable[..., None]:
    """Give a command the options of a budget; it receives `budget`, None if none was given."""

    def budget(chosen: Mapping[str, Any]) -> Budget | None:
        given = {_LIMITS[option][0]: value for option, value in chosen.items()}
        return None if set(given.values()) == {None} else Budget(**given)

    options = [
        keyword(option, Annotated[kind | None, grouped(OptionGroup.BUDGET, text)], None)
        for option, (_, kind, text) in _LIMITS.items()
        if option in limits
    ]
    return with_options(command, "budget", options, budget)


def with_workers(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of workers; it receives `workers`."""
    where = OptionGroup.WHERE
    timeout = grouped(where, _TIMEOUT, metavar="SECONDS", show_default=False)
    options = [
        keyword("workers", Annotated[int, grouped(where, "Draws made in parallel.")], 1),
        keyword("backend", Annotated[str, grouped(where, _BACKEND)], "threads"),
        keyword("address", Address, None),
        keyword("draw_timeout", Annotated[float | None, timeout], None),
    ]
    return with_options(
        command, "workers", options, lambda chosen: WorkerSettings(*chosen.values())
    )


class GroupedCommand(TyperCommand):
    """A command whose help lists its options by group."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section for the arguments and one for each group of options."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                other = "Arguments" if parameter.param_type_name == "argument" else "Options"
                group = getattr(parameter, "rich_help_panel", None) or other
                groups.setdefault(group, []).append(record)
        order = dict.fromkeys(("Arguments", "Options", *OptionGroup, *groups))
        for title in filter(groups.get, order):
            with formatter.section(title):
                formatter.write_dl(groups[title])


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options for `Settings`; it receives `settings`."""
    hints = get_type_hints(Settings)
    options = []
    for field in fields(Settings):
        if field.metadata["group"] is None:
            continue
        repeatable = "option" in field.metadata
        option = grouped(field.metadata["group"], field.metadata["help"], named(field))
        kind, default = (list[str], []) if repeatable else (hints[field.name], field.default)
        options.append(keyword(field.name, Annotated[kind, option], default))
    paper = grouped(OptionGroup.WHAT, _PAPER, "--paper")
    set_ = grouped(OptionGroup.WHAT, _SET, "--set", metavar="NAME=VALUE", show_default=False)
    options += [
        keyword("paper", Annotated[bool, paper], False),
        keyword("set_", Annotated[list[str], set_], []),
    ]
    return with_options(command, "settings", options, _chosen)


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


def keyword(name: str, kind: Any, default: Any) -> inspect.Parameter:
    """Return the parameter of a command."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def with_options(
    command: Callable[..., None],
    replaced: str,
    options: Sequence[inspect.Parameter],
    value: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """Replace a parameter of a command by options, from which its value is made."""

    @functools.wraps(command)
    def called(**given: Any) -> None:
        chosen = {option.name: given.pop(option.name) for option in options}
        command(**given, **{replaced: value(chosen)})

    own = inspect.signature(command, eval_str=True).parameters.values()
    kept = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own if p.name != replaced]
    called.__signature__ = inspect.Signature([*kept, *options])  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in (*kept, *options)}
    return called
