"""Text that others wrote, made fit to be shown.

What a language model says, or an agent that failed, may hold anything: a sequence that moves the
cursor over what was printed before, hides a line or sets the title of the window. Printed raw it
would speak to the terminal and not to the reader. So everything that is not plainly visible is
spelled out.
"""

from __future__ import annotations

from collections.abc import Iterator


def sanitize(line: str) -> str:
    r"""Spell out every character that does not show.

    >>> print(sanitize("gr\u00fcn \x1b[31mred\t\u202e"))
    grün \x1b[31mred\t\u202e
    """
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else _spelled(c) for c in line)


def sanitize_lines(text: str) -> Iterator[str]:
    """Divide a text into lines that can be shown."""
    return (sanitize(line) for line in text.splitlines())


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
