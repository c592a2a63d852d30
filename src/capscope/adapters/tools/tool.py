"""A tool: a function of the state, with a schema of its arguments for the agent.

The first parameter of the function is the state, which it may modify. Other parameters are
arguments of the tool; a parameter annotated `random.Random` is given the world's generator. The
JSON schema comes from the annotations (by pydantic), the descriptions from the docstring.
"""

from __future__ import annotations

import inspect
import random
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capscope.errors import ProblemError, install_hint
from capscope.problem.tool_calls import Tool

_ARGUMENT = re.compile(r"^\s*(?::param\s+)?(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")
_SECTION = re.compile(r"^\s*(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?)\s*:?\s*$")


class RefusedCall(Exception):  # noqa: N818 - it says what happened to the call
    """A call with arguments that the tool does not take."""


def tool_of(function: Callable[..., Any]) -> Tool:
    """Make a tool of a typed function whose first parameter is the state."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        parameters = list(inspect.signature(function).parameters.values())
    except (NameError, TypeError, ValueError) as error:
        raise ProblemError(f"the signature of tool {name} cannot be read: {error}") from error
    if not parameters or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise ProblemError(
            f"tool {name} must take the state as its first parameter and name all others"
        )
    generators = [p.name for p in parameters[1:] if hints.get(p.name) is random.Random]
    arguments = [p for p in parameters[1:] if p.name not in generators]
    for parameter in arguments:
        if parameter.name not in hints:
            raise ProblemError(f"parameter {parameter.name} of tool {name} needs a type annotation")
    model = _arguments_model(name, arguments, hints, parameter_descriptions(function))

    def run(state: Any, given: Mapping[str, Any], rng: random.Random) -> Any:
        try:
            checked = model.model_validate(dict(given))
        except ValueError as error:
            raise RefusedCall(_problems(error)) from None
        values = {p.name: getattr(checked, f"argument_{i}") for i, p in enumerate(arguments)}
        return function(state, **values, **dict.fromkeys(generators, rng))

    schema = _without_titles(model.model_json_schema(by_alias=True))
    return Tool(name, _summary(function), schema, run, function)


def _arguments_model(
    name: str,
    arguments: Sequence[inspect.Parameter],
    hints: Mapping[str, Any],
    descriptions: Mapping[str, str],
) -> Any:
    pydantic = _pydantic()
    # Under an alias, since some names (`copy`, `json`) are methods of every model.
    fields = {
        f"argument_{i}": (
            hints[p.name],
            pydantic.Field(
                **({} if p.default is p.empty else {"default": p.default}),
                alias=p.name,
                description=descriptions.get(p.name),
            ),
        )
        for i, p in enumerate(arguments)
    }
    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    try:
        return pydantic.create_model(name, __config__=config, **fields)
    except pydantic.errors.PydanticSchemaGenerationError as error:
        reason = str(error).split("\n")[0]
        raise ProblemError(f"an annotation of tool {name} has no JSON schema: {reason}") from error


def _pydantic() -> Any:
    try:
        import pydantic
    except ModuleNotFoundError:
        raise ProblemError(f"tools need pydantic: {install_hint('tools')}") from None
    return pydantic


def result_text(value: Any) -> str:
    """Return what a tool returned as the text that the agent reads."""
    if isinstance(value, str):
        return value
    if value is None:
        return "done"
    _pydantic()
    from pydantic_core import to_json

    return to_json(value, fallback=str).decode()


def _problems(error: Any) -> str:
    """Return the messages of a validation error in one line."""
    found = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()]
    return "; ".join(found)


def _summary(function: Callable[..., Any]) -> str:
    lines: list[str] = []
    for line in (inspect.getdoc(function) or "").splitlines():
        if _SECTION.match(line) or line.lstrip().startswith(":"):
            break
        lines.append(line)
    return "\n".join(lines).strip()


def parameter_descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Read what a docstring says about parameters, in the style of Google or Sphinx.

    >>> def move(box, to: str): '''Move it.\\n\\n    Args:\\n        to: the folder\\n    '''
    >>> parameter_descriptions(move)
    {'to': 'the folder'}
    """
    found: dict[str, str] = {}
    inside = False
    for line in (inspect.getdoc(function) or "").splitlines():
        section = _SECTION.match(line)
        if section:
            inside = section[1] in ("Args", "Arguments", "Parameters")
        elif (inside or line.lstrip().startswith(":param")) and (match := _ARGUMENT.match(line)):
            found[match[1]] = match[2].strip()
    return found


def _without_titles(schema: Any) -> Any:
    """Remove the titles that pydantic adds; they repeat the names."""
    if isinstance(schema, dict):
        return {
            key: {name: _without_titles(one) for name, one in value.items()}
            if key in ("properties", "$defs")
            else _without_titles(value)
            for key, value in schema.items()
            if key != "title"
        }
    return [_without_titles(one) for one in schema] if isinstance(schema, list) else schema
