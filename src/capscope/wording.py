"""Words that every text needs: counted nouns, lists of names, wrapped lines, texts in notebooks."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import singledispatch

from capscope.sanitize import html_text, sanitize

WIDTH = 96
NO_BREAK_SPACE = "\u00a0"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed.

    >>> counted(1200, "draw"), counted(1, "new pair"), counted(2, "query"), counted(0, "day")
    ('1,200 draws', '1 new pair', '2 queries', '0 days')
    """
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun[-1] == "y" and noun[-2] not in "aeou" else f"{noun}s"
    return f"{number:,} {plural}"


def share(value: float) -> str:
    """Format a fraction in percent that is 0 % or 100 % only if it is exactly that.

    >>> share(0.801), share(0.9987), share(0.99999), share(1), share(0)
    ('80 %', '99.9 %', '>99.9 %', '100 %', '0 %')
    """
    percent = Decimal(100 * value)
    if 0 < percent < Decimal("0.1"):
        return "<0.1 %"
    if Decimal("99.9") < percent < 100:
        return ">99.9 %"
    whole = percent in (0, 100) or 1 <= percent <= 99
    # Halves round up, as in the scripts, so that a share looks the same everywhere.
    return f"{percent.quantize(Decimal(1 if whole else '0.1'), ROUND_HALF_UP)} %"


def first_few(texts: Sequence[str], most: int, more: str = "{:,} more") -> list[str]:
    """Return the first texts, and how many more there are if it is more than one.

    >>> first_few("abcd", 2), first_few("abc", 2)
    (['a', 'b', '2 more'], ['a', 'b', 'c'])
    """
    hidden = len(texts) - most
    return [*texts[:most], more.format(hidden)] if hidden > 1 else list(texts)


def cropped(text: str, most: int) -> str:
    """Leave out the end of a line that is too long.

    >>> cropped("abcdef", 6), cropped("abcdef", 5)
    ('abcdef', 'abcd…')
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def joined(names: Iterable[object], word: str = "and") -> str:
    """Join names by commas and a last word.

    >>> joined("abc", "or")
    'a, b or c'
    """
    *before, last = [*map(str, names)] or [""]
    return f"{', '.join(before)} {word} {last}" if before else last


def was(number: int) -> str:
    """Return the verb for a number of things."""
    return "was" if number == 1 else "were"


def as_sentence(note: str) -> str:
    """Return a note as a sentence."""
    return f"{note[0].upper()}{note[1:].removesuffix('.')}."


def unbroken(text: str) -> str:
    """Return a text that `wrapped` keeps on one line."""
    return text.replace(" ", NO_BREAK_SPACE)


def wrapped(
    text: str, first: str = "", rest: str | None = None, width: int = WIDTH
) -> Iterator[str]:
    """Sanitize and wrap a text; words joined by no-break spaces stay on one line.

    The first line is indented by `first`, the others by `rest` or two more.
    """
    safe = NO_BREAK_SPACE.join(map(sanitize, text.split(NO_BREAK_SPACE)))
    wrapper = textwrap.TextWrapper(
        width,
        initial_indent=first,
        subsequent_indent=f"{first}  " if rest is None else rest,
        break_on_hyphens=False,
    )
    for line in wrapper.wrap(safe):
        yield line.replace(NO_BREAK_SPACE, " ")


class PreformattedText(str):
    """A text of several lines that notebooks and consoles show unchanged."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        lines = "\n".join(map(html_text, self.splitlines()))
        return f'<pre style="text-align:left">{lines}</pre>'


def html_table(rows: Iterable[Sequence[str]]) -> str:
    """Return a table for a notebook.

    Args:
        rows: The texts of each row, which are escaped.

    Returns:
        The table.
    """
    cell = '<td style="text-align:left">{}</td>'.format
    lines = (f"<tr>{''.join(cell(html_text(text)) for text in row)}</tr>" for row in rows)
    return "\n".join(["<table>", *lines, "</table>"])


@singledispatch
def lines_of(value: object) -> Iterable[str]:
    """Return what consoles and notebooks show of a value; its wording registers a function."""
    return [object.__repr__(value)]


class ShownInWords:
    """Shows itself as the lines that are registered for its class."""

    def __repr__(self) -> str:
        return "\n".join(lines_of(self))

    def _repr_html_(self) -> str:
        return PreformattedText(repr(self))._repr_html_()
