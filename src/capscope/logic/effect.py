"""What an execution changed, and which of the changes were asked for, implied or expected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import or_
from typing import NamedTuple

from capscope.errors import VocabularyError
from capscope.logic.condition import Intent, matching
from capscope.logic.vocabulary import Atom, Literal, State, Vocabulary


class Effect(NamedTuple):
    """Bits that become set and bits that become clear; it happens as a whole or not at all.

    >>> Effect(adds=0b01, deletes=0b10).apply(0b10)
    1
    """

    adds: int
    deletes: int

    @classmethod
    def between(cls, before: State, after: State) -> Effect:
        """Return the change from one state to another."""
        return cls(after & ~before, before & ~after)

    def apply(self, state: State) -> State:
        """Return the state after the effect: deletions first, then additions."""
        return (state & ~self.deletes) | self.adds

    def without(self, other: Effect) -> Effect:
        """Return what this effect changes and another does not."""
        return Effect(self.adds & ~other.adds, self.deletes & ~other.deletes)

    def joined(self, other: Effect) -> Effect:
        """Return everything that one of two effects changes."""
        return Effect(self.adds | other.adds, self.deletes | other.deletes)

    def literals(self, vocabulary: Vocabulary) -> tuple[Literal, ...]:
        """List additions, then deletions."""
        added = (Literal(atom) for atom in vocabulary.holding(self.adds))
        deleted = (Literal(atom, positive=False) for atom in vocabulary.holding(self.deletes))
        return (*added, *deleted)


def changes_text(before: State, after: State, vocabulary: Vocabulary) -> str:
    """List the literals that are true in one state and not in another."""
    literals = Effect.between(before, after).literals(vocabulary)
    return ", ".join(map(str, literals)) or "nothing changes"


class ExpectedEffects:
    """The consequences of each intent that the user declared as expected.

    Deleting a mail also takes it out of the archive. That is what deleting means, but nothing in a
    vocabulary says so. So the user may: `deleted(lunch): not archived(lunch)`. Both parts may have
    wildcards, `deleted(*): read(*)`; the literals join with `and`. What is expected of one
    alternative of an intent is expected of the intent.

    >>> vocabulary = Vocabulary.of_atoms(["deleted", "archived"])
    >>> expected = ExpectedEffects(["deleted(): not archived()"], vocabulary)
    >>> expected.of(Intent.parse("deleted"))
    Effect(adds=0, deletes=2)
    """

    def __init__(self, texts: Sequence[str], vocabulary: Vocabulary) -> None:
        every = [Literal(atom, sign) for atom in vocabulary.atoms for sign in (True, False)]
        known = [Intent.of([literal]) for literal in every]
        self._rules: list[tuple[str, Effect]] = []
        for text in texts:
            intent, colon, consequences = text.partition(":")
            if not colon:
                raise VocabularyError(
                    f"{text!r} does not say what is expected; write it like "
                    "'deleted(x): not archived(x)'"
                )
            adds = deletes = 0
            for part in consequences.split(" and "):
                found = matching(part.strip(), known)
                if not found:
                    raise VocabularyError(
                        f"{part.strip()!r}, which is expected of {intent}, matches no atom of the "
                        "vocabulary"
                    )
                for one in found:
                    required, forbidden = vocabulary.literal_masks(one.literals)
                    adds, deletes = adds | required, deletes | forbidden
            self._rules.append((intent.strip(), Effect(adds, deletes)))
        self.of = cache(self._of)
        """Returns what an intent may change."""

    def _of(self, intent: Intent) -> Effect:
        adds = deletes = 0
        for pattern, effect in self._rules:
            if matching(pattern, [intent, *map(Intent.of, intent.alternatives)]):
                adds, deletes = adds | effect.adds, deletes | effect.deletes
        return Effect(adds, deletes)


@dataclass(frozen=True)
class ExactlyOne:
    """Groups of atoms, each as bits, of which exactly one holds in every state seen.

    A vocabulary does not say that `at(r0c0)`, `at(r0c1)`, … exclude each other, so each move would
    have the redundant side effect `not at(r0c0)`. The states seen show it. Candidates are the
    groundings of a predicate that agree in all arguments but one: `at(·)`, `in(lift1,·)`. A
    candidate is a group if exactly one of its atoms held in every state seen, and not always the
    same one. If all sets of atoms were candidates, a few states would show many groups by accident.
    """

    groups: tuple[int, ...] = ()
    expected: ExpectedEffects | None = field(default=None, compare=False)
    """What belongs to an intent because the user said so."""

    @classmethod
    def seen_in(
        cls,
        states: Collection[State],
        vocabulary: Vocabulary,
        expected: ExpectedEffects | None = None,
    ) -> ExactlyOne:
        """Find the groups that the states show.

        >>> from capscope.logic import Predicate
        >>> vocabulary = Vocabulary([Predicate("at", ("cell",))], {"a": "cell", "b": "cell"})
        >>> groups = ExactlyOne.seen_in([0b01, 0b10], vocabulary)
        >>> groups.without_implied(Effect(adds=0b10, deletes=0b01))
        Effect(adds=2, deletes=0)
        """
        ever = reduce(or_, states, 0)
        return cls(
            tuple(
                group
                for group in _candidates(vocabulary)
                if (group & ever).bit_count() > 1
                and all((group & state).bit_count() == 1 for state in states)
            ),
            expected,
        )

    def without_implied(self, effect: Effect) -> Effect:
        """Remove the deletions that additions of the same effect imply."""
        return Effect(effect.adds, effect.deletes & ~self.rivals(effect.adds))

    def beyond(self, effect: Effect, intent: Intent, vocabulary: Vocabulary) -> Effect:
        """Return what an effect changes beyond the intent, what it implies and what is expected.

        Asking for one atom of a group implies that the others end, and the other way around. What
        belongs to any alternative of the intent was asked for.
        """
        required, forbidden = vocabulary.literal_masks(intent.mentioned)
        needed = self.rivals(effect.deletes & forbidden)
        implied = self.rivals(effect.adds | required)
        rest = Effect(effect.adds & ~required & ~needed, effect.deletes & ~forbidden & ~implied)
        return rest if self.expected is None else rest.without(self.expected.of(intent))

    def names(self, vocabulary: Vocabulary) -> Iterator[str]:
        """Name each group by its predicate, with `…` for the argument that differs."""
        for group in self.groups:
            atoms = vocabulary.holding(group)
            columns = zip(*(atom.arguments for atom in atoms), strict=True)
            open_ended = (c[0] if len(set(c)) == 1 else "…" for c in columns)
            yield str(Atom(atoms[0].predicate, tuple(open_ended)))

    def rivals(self, atoms: int) -> int:
        """Return all atoms of the groups that these atoms belong to."""
        return reduce(or_, (group for group in self.groups if group & atoms), 0)


def _candidates(vocabulary: Vocabulary) -> Iterable[int]:
    """Return the sets of atoms of one predicate that differ in one argument only."""
    found: defaultdict[tuple[str, int, tuple[str, ...]], int] = defaultdict(int)
    for atom, bit in vocabulary.bit.items():
        for i in range(len(atom.arguments)):
            others = atom.arguments[:i] + atom.arguments[i + 1 :]
            found[atom.predicate, i, others] |= bit
    return found.values()
