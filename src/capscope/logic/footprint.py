"""The footprint of an intent: the objects it mentions; what changes elsewhere was not asked for.

To compare requests about different objects, objects become variables: `archived(alice)` is one of
the requests `archived(x)`, and a change of another mail is `deleted(·)`, whichever it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from capscope.logic.condition import Intent
from capscope.logic.effect import Effect
from capscope.logic.vocabulary import Atom, Literal, State, Vocabulary

Shape = tuple[str, bool]
"""The predicate and the sign of a literal whose objects an intent does not mention."""

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

    @cached_property
    def form(self) -> object:
        """Equal for intents that differ only in objects of the same types."""
        place = {name: i for i, name in enumerate(self.objects)}
        alternatives = tuple(
            tuple((x.atom.predicate, x.positive, *map(place.get, x.atom.arguments)) for x in one)
            for one in self.intent.alternatives
        )
        return alternatives, tuple(self.vocabulary.objects[o] for o in self.objects)

    @cached_property
    def _outside(self) -> State:
        """The atoms that mention objects, and none of the intent.

        Those about stages or places are left out, if these are marked as distinct: which stage
        comes next does not depend on the object.
        """
        own = set(self.objects)
        alike = (
            predicate.name
            for predicate in self.vocabulary.predicates
            if predicate.types and self.vocabulary.distinct_types.isdisjoint(predicate.types)
        )
        return sum(
            self.vocabulary.bit[atom]
            for name in alike
            for atom in self.vocabulary.groundings(name)
            if own.isdisjoint(atom.arguments)
        )

    def outside(self, effect: Effect) -> Effect:
        """Return what an effect changes about other objects."""
        return Effect(effect.adds & self._outside, effect.deletes & self._outside)

    def shapes(self, effect: Effect) -> frozenset[Shape]:
        """Return the shapes of what an effect changes about other objects."""
        literals: tuple[Literal, ...] = self.outside(effect).literals(self.vocabulary)
        return frozenset((x.atom.predicate, x.positive) for x in literals)

    @cached_property
    def own_atoms(self) -> tuple[Atom, ...]:
        """The atoms about the intent's objects alone, in an order that all of a form share."""
        own = set(self.objects)
        place = {name: i for i, name in enumerate(self.objects)}
        found = [a for a in self.vocabulary.atoms if a.arguments and own.issuperset(a.arguments)]
        return tuple(sorted(found, key=lambda a: (a.predicate, [place[o] for o in a.arguments])))

    def own_state(self, state: State) -> tuple[bool, ...]:
        """Return which of the intent's own atoms hold."""
        return tuple(bool(state & self.vocabulary.bit[atom]) for atom in self.own_atoms)
