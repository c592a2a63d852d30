"""Make text from agents and problems safe to show: in a terminal, a page, a notebook, a graph.

What an agent says and what a problem calls its objects may contain anything: control sequences that
move the cursor over earlier output, characters that reverse the direction of writing, markup. Every
character that is not printable is therefore replaced by its escape sequence before text is shown,
and each target escapes its own syntax on top of that.
"""

import html
import json
from collections.abc import Iterator, Mapping
from typing import Any

_HTML_IN_JSON = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


def sanitize(line: str) -> str:
    r"""Replace every character that is not printable by its escape sequence.

    >>> print(sanitize("gr\u00fcn \x1b[31mred\t\u202e"))
    grün \x1b[31mred\t\u202e
    """
    if line.isprintable():
        return line
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line
    )


def sanitize_lines(text: str) -> Iterator[str]:
    """Split a text into sanitized lines."""
    return (sanitize(line) for line in text.splitlines())


def sanitize_text(text: str) -> str:
    """Sanitize a text of several lines."""
    return "\n".join(sanitize_lines(text))


def escape_surrogates(text: str) -> str:
    """Escape lone surrogates, which no file can hold, and nothing else."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def html_text(line: str) -> str:
    r"""Sanitize and escape a line for HTML.

    >>> html_text("<b>\x1b")
    '&lt;b&gt;\\x1b'
    """
    return html.escape(sanitize(line))


def dot_string(*lines: str) -> str:
    r"""Quote lines for Graphviz, which interprets backslashes and HTML entities.

    >>> print(dot_string('a "b" &amp; \\N', "c\td"))
    "a \"b\" &amp;amp; \\N\nc\\td"
    """
    escaped = (html.escape(sanitize(line), quote=False).replace("\\", "\\\\") for line in lines)
    joined = r"\n".join(escaped).replace('"', '\\"')
    return f'"{joined}"'


def script_json(value: Any) -> str:
    """Return a value as JSON for a script element: texts sanitized, no angle brackets."""
    # NaN is not JSON: an error here is better than an empty page.
    text = json.dumps(_sanitized(value), separators=(",", ":"), allow_nan=False)
    return text.translate(_HTML_IN_JSON)


def _sanitized(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {sanitize_text(str(key)): _sanitized(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_sanitized(item) for item in value]
    return sanitize_text(str(value)) if isinstance(value, str) else value
