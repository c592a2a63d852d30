"""The text of a test that a person can check in: the position, the request, the assertion."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capscope.problems import is_named
from capscope.repro.check import RequestPath, Start
from capscope.repro.json_state import plain_value, read_tree
from capscope.sanitize import sanitize
from capscope.wording import wrapped

_WIDTH = 88
_LONGEST_NAME = 60


@dataclass(frozen=True)
class WrittenTest:
    """What a test says and calls."""

    name: str
    says: Sequence[str]
    """Paragraphs for its reader."""
    source: str
    """How the problem is found."""
    start: Start
    function: str
    """What is called: `assert_not_caused`."""
    request: str
    given: Mapping[str, Any]
    """Its further arguments."""


def name_for(request: str, change: str) -> str:
    """Return the name of a test: only letters, digits and underscores.

    >>> name_for("archived(x)", "deleted(another mail)")
    'test_archived_x_without_deleted_another_mail'
    """
    said = f"{request} without {change}" if change else f"{request} is achieved"
    return f"test_{re.sub(r'[^a-z0-9]+', '_', said.lower()).strip('_')[:_LONGEST_NAME]}".rstrip("_")


def file_text(test: WrittenTest, folder: Path) -> str:
    """Write a test file.

    Args:
        test: The test.
        folder: Where the file will be: it names the problem relative to that.

    Returns:
        Its text.
    """
    start, modules = _start_text(test.start)
    file = not is_named(test.source)
    problem = _problem_text(test.source, folder)
    imports = ["import json"] * ("json" in modules)
    imports += ["from pathlib import Path"] * file
    ours = [f"from capscope.problem import {one}" for one in modules if one == "plain_values"]
    names = [*(["RequestPath"] if isinstance(test.start, RequestPath) else []), test.function]
    ours.append(f"from capscope.repro import {', '.join(names)}")
    first, *rest = test.says
    said = [*_wrapped(f'"""{first}'), *(line for one in rest for line in ("", *_wrapped(one)))]
    arguments = ["PROBLEM", _literal(test.request, 1), *_given(test)]
    call = [f"    {test.function}(", *(f"        {one}," for one in arguments), "    )"]
    blocks = [
        "\n".join([*said, '"""']),
        "\n".join(imports),
        "\n".join(ours),
        f"PROBLEM = {problem}\nSTART = {start}",
    ]
    head = "\n\n".join(block for block in blocks if block)
    return "\n".join([head, "", "", f"def {test.name}() -> None:", *call, ""])


def _given(test: WrittenTest) -> list[str]:
    words = {name: _literal(value, 2, f"{name}=") for name, value in test.given.items()}
    unwanted = words.pop("unwanted", None)
    keywords = ["start=START", *(f"{name}={text}" for name, text in words.items())]
    return [*([unwanted] if unwanted else []), *keywords]


def _wrapped(text: str) -> list[str]:
    safe = sanitize(text).replace("\\", "\\\\")
    return list(wrapped(safe, "", "", _WIDTH))


def _problem_text(source: str, folder: Path) -> str:
    if is_named(source):
        return _literal(source, 0)
    left, _, right = source.rpartition(":")
    place = Path(os.path.relpath(left, folder)).as_posix()
    if left.endswith(".pddl"):
        other = Path(os.path.relpath(right, folder)).as_posix()
        both = f"({_literal(place, 0)}, {_literal(other, 0)})"
        return f'":".join(str(Path(__file__).parent / name) for name in {both})'
    return f"str(Path(__file__).parent / {_literal(f'{place}:{right}', 0)})"


def _start_text(start: Start) -> tuple[str, list[str]]:
    """Return how a position is written, and the modules that this takes."""
    if isinstance(start, RequestPath):
        return _call("RequestPath", list(start.requests), list(start.holds), start.reset), []
    try:
        return _call("plain_values.to_bytes", plain_value(start)), ["plain_values"]
    except ValueError:
        tree = read_tree(start)
    if isinstance(tree, dict):
        return f"{_call('json.dumps', tree)}.encode()", ["json"]
    return repr(start), []


def _call(name: str, *arguments: Any) -> str:
    """Write a call for `START`, over several lines if it is long."""
    short = f"{name}({', '.join(map(_short, arguments))})"
    if len(short) <= _WIDTH - len("START = .encode()"):
        return short
    return "\n".join([f"{name}(", *_lines(arguments), ")"])


def _lines(arguments: Sequence[Any]) -> Iterator[str]:
    for one in arguments:
        comma = "," if len(arguments) > 1 else ""  # formatters hug a single argument
        yield f"    {_literal(one, 1)}{comma}"


def _literal(value: Any, depth: int, before: str = "") -> str:
    """Write a value as Python, over several lines if it is long, as formatters do."""
    short = _short(value)
    indent = 4 * depth
    if indent + len(before) + len(short) + len(",") <= _WIDTH:
        return short
    inner, end = " " * (indent + 4), " " * indent
    if isinstance(value, dict) and value:
        items = [
            f"{_short(key)}: {_literal(one, depth + 1, f'{_short(key)}: ')}"
            for key, one in value.items()
        ]
        return "\n".join(["{", *(f"{inner}{item}," for item in items), f"{end}}}"])
    if isinstance(value, list | tuple) and value:
        signs = "[]" if isinstance(value, list) else "()"
        items = [_literal(one, depth + 1) for one in value]
        return "\n".join([signs[0], *(f"{inner}{item}," for item in items), f"{end}{signs[1]}"])
    return short


def _short(value: Any) -> str:
    """Write a value in one line, with double quotes where formatters want them."""
    if isinstance(value, str):
        text = repr(value)
        return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_short(key)}: {_short(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_short, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_short, value))}{',' * (len(value) == 1)})"
    return repr(value)
