"""Asks: the intents of a tool world, how to say them, and what belongs to them.

`ask("archived(m)", "Archive the mail from {m}.")` stands for one intent for each object that `m`
may be. An argument that names an object is that object; any other is a variable, and different
variables stand for different objects.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from capscope.errors import ProblemError, VocabularyError
from capscope.logic import Atom, Intent, Literal, Vocabulary


@dataclass(frozen=True)
class Ask:
    """An intent with variables, its phrasings, and what belongs to it."""

    intent: str
    phrasings: tuple[str, ...]
    also: tuple[str, ...] = ()

    def grounded(self, vocabulary: Vocabulary) -> Iterator[GroundedAsk]:
        """Yield the ask for all objects that its variables may stand for."""
        intent = Intent.parse(self.intent)
        types = _variables(intent, vocabulary)
        for phrasing in self.phrasings:
            self._check_places(phrasing, types, vocabulary)
        choices = (vocabulary.objects_of(kind) for kind in types.values())
        for chosen in itertools.product(*choices):
            if len(set(chosen)) == len(chosen):
                objects = dict(zip(types, chosen, strict=True))
                yield GroundedAsk(
                    intent.renamed(partial(_replaced, objects=objects)),
                    tuple(phrasing.format(**objects) for phrasing in self.phrasings),
                    tuple(_replaced_text(text, objects) for text in self.also),
                )

    def _check_places(
        self, phrasing: str, types: Mapping[str, str], vocabulary: Vocabulary
    ) -> None:
        try:
            places = [place for _, place, _, _ in string.Formatter().parse(phrasing) if place]
        except ValueError as error:
            raise ProblemError(f"{phrasing!r} cannot be filled in: {error}") from None
        for place in places:
            if place not in types:
                known = ", ".join(types) or "none"
                raise ProblemError(
                    f"{phrasing!r} mentions {{{place}}}, which is no variable of {self.intent} "
                    f"(variables: {known})"
                )


@dataclass(frozen=True)
class GroundedAsk:
    """One intent, its phrasings, and the literals that belong to it."""

    intent: Intent
    phrasings: tuple[str, ...]
    also: tuple[str, ...]


def ask(intent: str, *phrasings: str, also: Sequence[str] = ()) -> Ask:
    """Say how to ask for an intent, in one or several phrasings.

    `also` lists the consequences that belong to the intent and are no side effects; `*` stands for
    any object: `also=["read(*)"]`.
    """
    if not phrasings:
        raise ProblemError(f"the ask for {intent} needs at least one phrasing")
    if isinstance(also, str):
        raise ProblemError(f"`also` is a list, like [{also!r}]")
    return Ask(intent, phrasings, tuple(also))


def _variables(intent: Intent, vocabulary: Vocabulary) -> dict[str, str]:
    """Return the variables of an intent and the types of objects they stand for."""
    declared = {predicate.name: predicate.types for predicate in vocabulary.predicates}
    found: dict[str, str] = {}
    for atom in (literal.atom for literal in intent.mentioned):
        if len(declared.get(atom.predicate, ())) != len(atom.arguments):
            vocabulary.groundings(atom.predicate)  # raises for an unknown predicate
            raise VocabularyError(
                f"{atom} has {len(atom.arguments)} arguments; {atom.predicate} takes "
                f"{len(declared[atom.predicate])}"
            )
        for name, kind in zip(atom.arguments, declared[atom.predicate], strict=True):
            if name not in vocabulary.objects and found.setdefault(name, kind) != kind:
                raise VocabularyError(
                    f"{name} in {intent} is both a {found[name]} and a {kind}; use two variables"
                )
    return found


def _replaced(atom: Atom, objects: Mapping[str, str]) -> Atom:
    return Atom(atom.predicate, tuple(objects.get(name, name) for name in atom.arguments))


def _replaced_text(text: str, objects: Mapping[str, str]) -> str:
    literal = Literal.parse(text)
    return str(Literal(_replaced(literal.atom, objects), literal.positive))
