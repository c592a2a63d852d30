"""Names that another language takes, made from names that it would not.

Names of predicates, objects and types come from the user and may hold anything: brackets, spaces,
capital letters that a tool folds, words that the language keeps for itself. Leaving out what is not
allowed is not enough, for two names may then become one. So each name gets an identifier of its
own: a name that is legal as it stands keeps it, whoever comes first, and of the others the later
ones are numbered. What became of which name is written into the export, as JSON strings, so that
no name can break out of the comment it stands in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Spelling:
    """What a language takes for a name: ASCII letters, digits, some signs, and no word of its own.

    Identifiers are in small letters and differ by more than case, since languages that fold case
    would mix them up otherwise.
    """

    signs: str
    """The signs allowed behind the first letter; the first of them stands for all others."""
    reserved: str
    """The words that the language keeps for itself, in small letters."""

    def identifiers(self, names: Iterable[str], besides: Iterable[str] = ()) -> dict[str, str]:
        """Return an identifier for each name, no two alike and none of those given already.

        >>> Spelling("-_", "and or").identifiers(["on", "On", "and", "on(a,b)"])
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
    """Say of each name that could not be kept what it is called now.

    >>> list(name_lines("object", {"a": "a", "B": "b"}))
    ['object b is "B"']
    """
    for name, identifier in identifiers.items():
        if name != identifier:
            yield f"{kind} {identifier} is {json.dumps(name)}"
