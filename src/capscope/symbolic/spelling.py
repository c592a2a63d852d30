"""Suggest names for an unknown one, in the same way for atoms, capabilities and options."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 3
_SIMILARITY = 0.5  # from 0 to 1; names of objects are short, so one letter counts much


def nearest(name: object, known: Iterable[object]) -> str:
    """Return the most similar names, or else the first ones.

    >>> nearest("att(b)", ["on(a)", "at(a)", "at(b)", "at(c)"])
    'nearest: at(b), at(c), at(a)'
    >>> nearest("xyz", ["on(a)", "at(a)"])
    'for example on(a), at(a)'
    """
    names = [str(one) for one in known]
    near = get_close_matches(str(name), names, _MOST, _SIMILARITY)
    return f"nearest: {', '.join(near)}" if near else f"for example {', '.join(names[:_MOST])}"
