"""Words that every text needs: counted nouns, lists of names, wrapped lines."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from capscope.sanitize import sanitize

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


def first_few(texts: Sequence[str], most: int, more: str = "{:,} more") -> list[str]:
    """Return the first texts, and how many more there are if it is more than one.

    >>> first_few("abcd", 2), first_few("abc", 2)
    (['a', 'b', '2 more'], ['a', 'b', 'c'])
    """
    hidden = len(texts) - most
    return [*texts[:most], more.format(hidden)] if hidden > 1 else list(texts)


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
