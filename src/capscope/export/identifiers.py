"""Identifiers for languages that do not allow arbitrary names.

Names of predicates, objects and types come from the user and may contain anything. Each gets a
distinct identifier: a legal name keeps its own, others lose what is not allowed and are numbered if
needed. The export lists the names that changed, as JSON strings that cannot break out of a comment.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class IdentifierSyntax:
    """The identifiers of a language: ASCII letters, digits, some signs, and no reserved word.

    Identifiers are lower case, because some languages ignore case.
    """

    signs: str
    """The signs allowed after the first letter; the first of them replaces all others."""
    reserved: str
    """The reserved words, in lower case."""

    def identifiers(self, names: Iterable[str], besides: Iterable[str] = ()) -> dict[str, str]:
        """Return distinct identifiers for names, different from those in `besides`.

        >>> IdentifierSyntax("-_", "and or").identifiers(["on", "On", "and", "on(a,b)"])
        {'on': 'on', 'On': 'on-2', 'and': 'and-2', 'on(a,b)': 'on-a-b'}
        """
        asked = list(dict.fromkeys(names))
        taken = {*self.reserved.split(), *besides}
        given = {name: name for name in asked if self._legal(name) == name and name not in taken}
        taken |= set(given)
        for name in asked:
            if name not in given:
                given[name] = self._unused(self._legal(name), taken)
                taken.add(given[name])
        return {name: given[name] for name in asked}

    def _legal(self, name: str) -> str:
        kept = re.sub(f"[^a-z0-9{re.escape(self.signs)}]+", self.signs[0], name.lower())
        kept = kept.strip(self.signs)
        return kept if re.match("[a-z]", kept) else f"x{self.signs[0]}{kept}".rstrip(self.signs)

    def _unused(self, wish: str, taken: set[str]) -> str:
        identifier, number = wish, 1
        while identifier in taken:
            number += 1
            identifier = f"{wish}{self.signs[0]}{number}"
        return identifier


def name_lines(kind: str, identifiers: Mapping[str, str]) -> Iterator[str]:
    """Describe each name that was changed.

    >>> list(name_lines("object", {"a": "a", "B": "b"}))
    ['object b is "B"']
    """
    for name, identifier in identifiers.items():
        if name != identifier:
            yield f"{kind} {identifier} is {json.dumps(name)}"
