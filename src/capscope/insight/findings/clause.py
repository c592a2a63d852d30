"""A condition as people read it: a conjunction of literals that holds, or that does not."""

from __future__ import annotations

from dataclasses import dataclass

from capscope.logic import Literal, State, Vocabulary
from capscope.logic.dnf import Term


@dataclass(frozen=True)
class Clause:
    """A conjunction of literals that holds, or that does not."""

    term: Term
    holds: bool = True

    @classmethod
    def of(cls, term: Term, *, holds: bool) -> Clause:
        """Make a clause; write that a single literal does not hold as its negation."""
        if not holds and len(term) == 1:
            return cls((Literal(term[0].atom, not term[0].positive),))
        return cls(term, holds)

    def covers(self, state: State, vocabulary: Vocabulary) -> bool:
        """Return whether a state satisfies the clause."""
        required, forbidden = vocabulary.literal_masks(self.term)
        return (state & required == required and not state & forbidden) is self.holds

    def __str__(self) -> str:
        inside = " and ".join(map(str, self.term))
        return f"when {inside}" if self.holds else f"unless {inside}"
