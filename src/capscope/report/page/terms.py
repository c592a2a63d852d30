"""Literals as they are shown: in words if the vocabulary has a phrase, with the formal name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from markupsafe import Markup

from capscope.logic import Phrasing
from capscope.sanitize import sanitize_text

_FORMAL = Markup('<span class="term">{}</span>')
_SAID = Markup('<span class="term said" title="{}">{}</span>')


def term_renderer(phrases: Iterable[tuple[str, str, str]]) -> Callable[[str], Markup]:
    """Return a function that renders a literal, an intent, or any other name as HTML.

    >>> term_renderer([("on", "{0} is on {1}", "")])("not on(a,b)")
    Markup('<span class="term said" title="not on(a,b)">a is not on b</span>')
    """
    phrasing = Phrasing({name: (phrase, opposite) for name, phrase, opposite in phrases})

    def term(text: str) -> Markup:
        shown = sanitize_text(text)
        said = sanitize_text(phrasing.literal(shown))
        return _FORMAL.format(_breakable(shown)) if said == shown else _SAID.format(shown, said)

    return term


def _breakable(text: str) -> Markup:
    """Let a line break after a parenthesis or a comma rather than anywhere."""
    return Markup("<wbr>").join(re.split(r"(?<=[(,])", text))
