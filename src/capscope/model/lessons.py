"""What a model learned, without the objects it was learned on: the start in another instance.

Behaviors, families and preferences are learned from examples whose features are terms over
variables, so examples of a small world are examples of a larger one. A model that is given lessons
learns from them beside its own executions.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from capscope.errors import CapscopeError
from capscope.logic import Atom, Intent, Literal, Vocabulary
from capscope.model.terms import Binding, Term, TermSpace
from capscope.stats.arrays import Floats, Mask

if TYPE_CHECKING:
    from capscope.model.behaviors import Form
    from capscope.model.families import LiftedOutcome
    from capscope.model.outcome_trees import OutcomeLessons
    from capscope.model.outcome_types import Kind
    from capscope.model.parts import Part


@dataclass(frozen=True, eq=False)
class TermRows:
    """Rows of examples, a column for each term."""

    terms: tuple[object, ...]
    """Terms, or pairs of a role and an object that it is."""
    rows: Mask

    def for_columns(self, terms: Sequence[object]) -> Mask:
        """Return the rows with other columns; a term that is unknown here never held."""
        place = {term: i for i, term in enumerate(self.terms)}
        found: Mask = np.zeros((len(self.rows), len(terms)), dtype=bool)
        for column, term in enumerate(terms):
            if term in place:
                found[:, column] = self.rows[:, place[term]]
        return found


@dataclass(frozen=True, eq=False)
class BehaviorLessons:
    """What was seen of a behavior."""

    shown: TermRows
    """What held when it was seen."""
    compared: TermRows
    """What held where it made sense."""
    refused: TermRows
    """What held where it would have served and was not done."""
    served: int
    """The instances that were done where they served."""
    only_seen: bool
    contexts: frozenset[frozenset[Term]] = frozenset()
    """Terms that hold in all states, of the instances seen."""
    within: bool = False
    """Whether one of the contexts is required."""


@dataclass(frozen=True, eq=False)
class FamilyLessons:
    """What was seen of a family."""

    features: TermRows
    outcomes: tuple[LiftedOutcome, ...]
    pursued: tuple[bool, ...]
    """Whether each was the next step of a shortest path."""

    def only(self, kept: Sequence[bool]) -> FamilyLessons:
        """Return some of the examples."""
        return FamilyLessons(
            TermRows(self.features.terms, self.features.rows[np.array(kept, dtype=bool)]),
            tuple(itertools.compress(self.outcomes, kept)),
            tuple(itertools.compress(self.pursued, kept)),
        )


@dataclass(frozen=True, eq=False)
class Lessons:
    """All that carries over to another instance of the same predicates."""

    behaviors: dict[Form, BehaviorLessons] = field(default_factory=dict)
    families: dict[object, FamilyLessons] = field(default_factory=dict)
    scores: dict[object, Floats] = field(default_factory=dict)
    """How far each expert is believed for a family."""
    counts: dict[tuple[Kind, ...], Counter[Kind]] = field(default_factory=dict)
    """How often outcomes occurred, of types that change the same predicates."""
    games: tuple[tuple[tuple[Form, Binding], tuple[Form, Binding], float], ...] = ()
    """Steps that were preferred to others, with how often."""
    parts: tuple[Part, ...] = ()
    """The changes that occur by chance beside others."""
    trees: dict[object, OutcomeLessons] = field(default_factory=dict)
    """Examples of the families that are told by one tree."""

    def about(self, predicates: frozenset[str]) -> Lessons:
        """Return the lessons that mention no other predicates."""

        def known(form: Form | None) -> bool:
            return all(name in predicates for changes in form or () for _, name, _ in changes)

        return Lessons(
            {form: one for form, one in self.behaviors.items() if known(form)},
            {
                key: one.only([known(outcome.form) for outcome in one.outcomes])
                for key, one in self.families.items()
                if predicates_of(key) <= predicates
            },
            {key: one for key, one in self.scores.items() if predicates_of(key) <= predicates},
            self.counts,
            tuple(g for g in self.games if known(g[0][0]) and known(g[1][0])),
            tuple(part for part in self.parts if part.predicates <= predicates),
            {key: one for key, one in self.trees.items() if one.predicates <= predicates},
        )


@dataclass(frozen=True)
class SharedPredicates:
    """The predicates of two instances, by name."""

    shared: tuple[str, ...]
    only_there: tuple[str, ...]
    only_here: tuple[str, ...]

    @classmethod
    def of(cls, there: Vocabulary, here: Vocabulary) -> SharedPredicates:
        """Compare two vocabularies; raise if they mean different things by a name."""
        known, ours = ({p.name: p.types for p in words.predicates} for words in (there, here))
        for name in known:
            if known[name] != ours.get(name, known[name]):
                was, now = (f"{name}({', '.join(one[name])})" for one in (known, ours))
                raise CapscopeError(
                    f"nothing can be carried over: the predicate {was} is {now} in the new instance"
                )
        shared = tuple(name for name in known if name in ours)
        if not shared:
            raise CapscopeError(
                f"nothing can be carried over: the instances share no predicate (there: "
                f"{', '.join(known)}; here: {', '.join(ours)})"
            )
        return cls(
            shared,
            tuple(name for name in known if name not in ours),
            tuple(name for name in ours if name not in known),
        )


def predicates_of(key: object) -> frozenset[str]:
    """Return the names of the predicates of a family."""
    return frozenset(literal[0] for term in key for literal in term)  # type: ignore[attr-defined]


def all_intents(keys: Sequence[object], vocabulary: Vocabulary) -> Iterator[Intent]:
    """Yield the intents of some families for all objects of a vocabulary."""
    kinds = {p.name: p.types for p in vocabulary.predicates}
    for key in keys:
        literals = [literal for term in key for literal in term]  # type: ignore[attr-defined]
        roles = 1 + max((r for _, _, *args in literals for r in args), default=-1)
        domains = [frozenset(vocabulary.objects)] * roles
        for name, _, *arguments in literals:
            for role, kind in zip(arguments, kinds[name], strict=True):
                domains[role] &= frozenset(vocabulary.objects_of(kind))
        for binding in TermSpace.bindings(domains):
            yield Intent.of(
                *(
                    [
                        Literal(Atom(name, tuple(binding[r] for r in arguments)), positive)
                        for name, positive, *arguments in term
                    ]
                    for term in key  # type: ignore[attr-defined]
                )
            )


def named_terms(
    space: TermSpace, named: Sequence[tuple[int, str]]
) -> tuple[Term | tuple[int, str], ...]:
    """Return the columns of a family's features."""
    return (*space.terms, *named)
