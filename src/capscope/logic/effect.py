"""What an execution changed: the atoms that became true and those that became false."""

from __future__ import annotations

from typing import NamedTuple

from capscope.logic.vocabulary import Literal, State, Vocabulary


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

    def is_part_of(self, whole: Effect) -> bool:
        """Return whether another effect changes all of this, and more."""
        return self != whole and self.without(whole) == Effect(0, 0)

    def literals(self, vocabulary: Vocabulary) -> tuple[Literal, ...]:
        """List additions, then deletions."""
        added = (Literal(atom) for atom in vocabulary.holding(self.adds))
        deleted = (Literal(atom, positive=False) for atom in vocabulary.holding(self.deletes))
        return (*added, *deleted)


def changes_text(before: State, after: State, vocabulary: Vocabulary) -> str:
    """List the literals that are true in one state and not in another."""
    literals = Effect.between(before, after).literals(vocabulary)
    return ", ".join(map(str, literals)) or "nothing changes"
