"""Groups of atoms of which exactly one holds: a robot is at one place, a switch in one position.

A vocabulary does not say that `at(r0c0)`, `at(r0c1)`, … exclude each other, so each move would have
the redundant side effect `not at(r0c0)`. The states seen show it. Candidates are the groundings of
a predicate that agree in all arguments but one: `at(·)`, `in(lift1,·)`. A candidate is a group if
exactly one of its atoms held in every state seen, and not always the same one. If all sets of atoms
were candidates, a few states would show many groups by accident.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from capscope.logic.effect import Effect
from capscope.logic.expected import ExpectedEffects
from capscope.logic.intent import Intent
from capscope.logic.vocabulary import Atom, State, Vocabulary


@dataclass(frozen=True)
class ExactlyOne:
    """Groups of atoms, each as bits, of which exactly one holds in every state seen."""

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
