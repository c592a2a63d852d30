"""A request seen from its objects: requests that differ only in their objects have one form.

`archived(alice)` is one of the requests `archived(x)`. So do changes have forms, seen from the
request: `deleted(x)` is about an object that it names, `deleted(another mail)` about any other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from capscope.logic.condition import Intent
from capscope.logic.effect import Effect, ExactlyOne
from capscope.logic.vocabulary import Atom, Literal, State, Vocabulary

_LETTERS = "xyzuvw"
SOME = "some "
"""Begins the name of an object of a type that the request does not name."""
_NOTHING = Effect(0, 0)


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


class RequestForm:
    """A request with variables for its objects, and the forms of changes beyond it."""

    def __init__(self, intent: Intent, groups: ExactlyOne, vocabulary: Vocabulary) -> None:
        """Lift a request.

        Args:
            intent: The request.
            groups: The exactly-one groups, and what is expected of each intent.
            vocabulary: The vocabulary of the states.
        """
        self._intent, self._groups, self._vocabulary = intent, groups, vocabulary
        self.holds = intent.test(vocabulary)
        self._variables = Footprint(intent, vocabulary).variables
        self._types = {vocabulary.objects[name] for name in intent.objects}
        self.text = str(intent.renamed(self.lifted))
        self._atoms: dict[Atom, State] = {}
        for atom, bit in vocabulary.bit.items():
            lifted = self.lifted(atom)
            self._atoms[lifted] = self._atoms.get(lifted, 0) | bit
        asked = Effect(*vocabulary.literal_masks(intent.mentioned))
        expected = _NOTHING if groups.expected is None else groups.expected.of(intent)
        self._asked = asked.joined(expected)
        named = set(intent.objects)
        about = (atom for atom in vocabulary.atoms if named.issuperset(atom.arguments or [""]))
        self.own: State = vocabulary.state(about) | self._asked.adds | self._asked.deletes
        """The atoms that are about objects of the request only, and what was asked for."""

    def lifted(self, atom: Atom) -> Atom:
        """Return an atom as seen from the request: `deleted(another mail)`."""
        return Atom(atom.predicate, tuple(map(self._named, atom.arguments)))

    def with_variables(self, atom: Atom) -> Atom:
        """Return an atom with variables for the objects of the request, and other objects as is."""
        return Atom(atom.predicate, tuple(self._variables.get(o, o) for o in atom.arguments))

    @property
    def objects(self) -> dict[str, str]:
        """The object that each variable stands for."""
        return {variable: name for name, variable in self._variables.items()}

    @property
    def shapes(self) -> frozenset[Atom]:
        """All forms of atoms, seen from the request."""
        return frozenset(self._atoms)

    def _named(self, name: str) -> str:
        kind = self._vocabulary.objects[name]
        other = f"another {kind}" if kind in self._types else f"{SOME}{kind}"
        return self._variables.get(name, other)

    def names(self, form: Literal) -> bool:
        """Return whether a form of change is about an object of the request."""
        return not set(self._variables.values()).isdisjoint(form.atom.arguments)

    def beyond(self, effect: Effect) -> dict[Literal, Effect]:
        """Return what an effect changes beyond the request, by its form."""
        rest = self._groups.beyond(effect, self._intent, self._vocabulary)
        found: dict[Literal, Effect] = {}
        for literal in self._groups.without_implied(rest).literals(self._vocabulary):
            form = Literal(self.lifted(literal.atom), literal.positive)
            own = Effect(*self._vocabulary.literal_masks([literal]))
            found[form] = found.get(form, _NOTHING).joined(own)
        return found

    def _matching(self, form: Atom) -> State:
        """Return the atoms of a form in which some objects are named."""
        found = 0
        for atom in self._vocabulary.groundings(form.predicate):
            lifted = self.lifted(atom).arguments
            arguments = zip(form.arguments, atom.arguments, lifted, strict=True)
            if all(shown in own for shown, *own in arguments):
                found |= self._vocabulary.bit[atom]
        return found

    def changes(self, form: Literal) -> Effect:
        """Return all changes of a form that were not asked for."""
        atoms = self._atoms.get(form.atom)
        if atoms is None:
            atoms = self._atoms[form.atom] = self._matching(form.atom)
        every = Effect(atoms, 0) if form.positive else Effect(0, atoms)
        return every.without(self._asked)

    def may_change(self, form: Literal, state: State) -> bool:
        """Return whether a literal of a form that was not asked for is false in a state."""
        every = self.changes(form)
        return bool(every.adds & ~state or every.deletes & state)
