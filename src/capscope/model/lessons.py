"""What a model learned, without the objects it was learned on: the start in another instance.

Behaviors, families and preferences are learned from examples whose features are terms over
variables, so examples of a small world are examples of a larger one. A model that is given lessons
learns from them beside its own executions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from capscope.logic import Atom, Intent, Literal, Vocabulary
from capscope.model.terms import Binding, Term, TermSpace
from capscope.stats.arrays import Floats, Mask

if TYPE_CHECKING:
    from capscope.model.behaviors import Form
    from capscope.model.families import LiftedOutcome
    from capscope.model.outcome_types import Kind


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
