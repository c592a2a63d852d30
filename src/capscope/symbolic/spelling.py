"""Help with a name that is not known: the ones that look most like it.

Wherever somebody writes the name of an atom or a capability the same help is given, from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 3
_ALIKE = 0.5
"""How alike two names must be, from 0 to 1: objects are often short, and one letter is a lot."""


def nearest(name: object, known: Iterable[object]) -> str:
    """Name those that look most like it, or else the first there are.

    >>> nearest("att(b)", ["on(a)", "at(a)", "at(b)", "at(c)"])
    'nearest: at(b), at(c), at(a)'
    >>> nearest("xyz", ["on(a)", "at(a)"])
    'for example on(a), at(a)'
    """
    names = [str(one) for one in known]
    near = get_close_matches(str(name), names, _MOST, _ALIKE)
    return f"nearest: {', '.join(near)}" if near else f"for example {', '.join(names[:_MOST])}"
