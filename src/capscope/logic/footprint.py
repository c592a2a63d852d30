"""Variables for the objects of an intent: `archived(alice)` is a request `archived(x)`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from capscope.logic.condition import Intent
from capscope.logic.vocabulary import Atom, Vocabulary

_LETTERS = "xyzuvw"


def variable_names(vocabulary: Vocabulary) -> Iterator[str]:
    """Yield names for variables that no object has: x, y, z, u, v, w, x1, …"""
    for number in itertools.count():
        for letter in _LETTERS:
            name = letter + (str(number) if number else "")
            if name not in vocabulary.objects:
                yield name


@dataclass(frozen=True)
class Footprint:
    """An intent, seen from the objects that it mentions."""

    intent: Intent
    vocabulary: Vocabulary

    @cached_property
    def objects(self) -> tuple[str, ...]:
        """The objects that the intent mentions, in their order."""
        return self.intent.objects

    @cached_property
    def variables(self) -> dict[str, str]:
        """A variable for each of the objects."""
        return dict(zip(self.objects, variable_names(self.vocabulary), strict=False))

    def lift(self, atom: Atom) -> Atom:
        """Replace the objects of the intent by variables."""
        return Atom(atom.predicate, tuple(self.variables.get(o, o) for o in atom.arguments))
