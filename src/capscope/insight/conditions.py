"""Under which condition does an event happen? The one search that all findings use.

The executions of all requests of one form are evidence together: `archived(x)` for each mail. A
condition is a conjunction of up to three literals over the variables of the request. The narrower
the scope of a literal, the higher its prior weight: atoms about the objects of the request (or
about none), a variable that is one certain object, further objects that a relation picks out, then
objects that have nothing to do with the request. What the executions cannot tell apart is one
choice, told by the literal with the narrowest scope. `stats.conjunctions` has the test.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import islice

import numpy as np

from capscope.logic import State, Vocabulary
from capscope.logic.footprint import variable_names
from capscope.model.lifted_rules import LiftedLiteral
from capscope.model.state_graph import StateMatrix
from capscope.model.terms import SAME, Binding, Term, TermSpace
from capscope.stats.arrays import Integers, Mask
from capscope.stats.conjunctions import Rows, Units, best_conjunction, striking_literals
from capscope.stats.error_budget import ERROR_RATE, Share

_EQUAL = "="
_MOST_NAMED = 12  # objects of a variable that are candidates for exceptions
_MOST_GROUND = 200
LEAST_DIFFERENCE = 0.1
"""Two rates closer than this count as equal for a reader."""


class TermScope(IntEnum):
    """How much of the state one must look at to see whether a literal holds."""

    REQUEST = 0
    """Atoms about the objects of the request, or about none."""
    CONSTANT = 1
    """A variable is a certain object."""
    RELATED = 2
    """Atoms about an object of the request and further ones."""
    BYSTANDER = 3
    """Atoms about other objects only."""
    PAIR = 4
    """Two atoms about the same further object."""


_SCOPE_WEIGHTS = (0.5, 0.15, 0.15, 0.1, 0.1)
"""The prior probability of each scope, shared by its literals."""


@dataclass(frozen=True)
class LiftedFeatures:
    """What held before each of some executions, in terms of their requests' variables."""

    variables: tuple[str, ...]
    literals: tuple[LiftedLiteral, ...]
    """All positive."""
    scopes: tuple[TermScope, ...]
    """Of each literal, in ascending order."""
    values: Mask
    """For each execution, whether each literal held."""
    states: Integers
    """For each execution, the number of its state."""
    objects: Integers
    """For each execution, the number of the object that each variable stands for."""

    @classmethod
    def of(
        cls,
        vocabulary: Vocabulary,
        states: Sequence[State],
        bindings: Sequence[Binding],
        numbers: Integers | None = None,
    ) -> LiftedFeatures:
        """Look up all literals over the variables of a form of request.

        Args:
            vocabulary: The vocabulary of the states.
            states: The state before each execution.
            bindings: The objects that the variables stand for in each, of the same types.
            numbers: The numbers of the states, to join several forms; their own unless given.

        Returns:
            The features, with a row for each execution.
        """
        matrix = StateMatrix(len(vocabulary.atoms))
        rows = np.array([matrix.add(state) for state in states], dtype=np.int64)
        place = {name: i for i, name in enumerate(vocabulary.objects)}
        objects = np.array([[place[o] for o in b] for b in bindings], dtype=np.int64)
        variables = tuple(islice(variable_names(vocabulary), len(bindings[0])))
        parts = [
            *_terms(vocabulary, matrix, rows, bindings, variables),
            *_constants(bindings, variables),
            *_ground(vocabulary, matrix, rows),
        ]
        parts = sorted(parts, key=lambda part: part[0])
        return cls(
            variables,
            tuple(literal for _, literal, _ in parts),
            tuple(scope for scope, *_ in parts),
            np.array([values for *_, values in parts], dtype=bool).reshape(-1, len(rows)).T,
            rows if numbers is None else numbers,
            objects.reshape(len(rows), -1),
        )

    @classmethod
    def joined(cls, parts: Sequence[LiftedFeatures]) -> LiftedFeatures:
        """Put executions of several forms together, with the literals that all of them have.

        No two forms may be open in one state for the same objects, as `p(x)` and `not p(x)`.
        """
        shared = set(parts[0].literals).intersection(*(part.literals for part in parts[1:]))
        kept = [i for i, one in enumerate(parts[0].literals) if one in shared]
        literals = tuple(parts[0].literals[i] for i in kept)
        columns = [[part.literals.index(one) for one in literals] for part in parts]
        return cls(
            parts[0].variables,
            literals,
            tuple(parts[0].scopes[i] for i in kept),
            np.concatenate([p.values[:, own] for p, own in zip(parts, columns, strict=True)]),
            np.concatenate([part.states for part in parts]),
            np.concatenate([part.objects for part in parts]),
        )

    def where(self, rows: Mask | Integers) -> LiftedFeatures:
        """Keep some of the executions."""
        return replace(
            self, values=self.values[rows], states=self.states[rows], objects=self.objects[rows]
        )

    def within(self, scope: TermScope) -> LiftedFeatures:
        """Keep the literals of one scope."""
        kept = [i for i, one in enumerate(self.scopes) if one is scope]
        literals = tuple(self.literals[i] for i in kept)
        scopes = tuple(self.scopes[i] for i in kept)
        return replace(self, literals=literals, scopes=scopes, values=self.values[:, kept])

    def holding(self, literals: Sequence[LiftedLiteral]) -> Mask:
        """Return the executions in which a conjunction held."""
        inside: Mask = np.ones(len(self.values), dtype=bool)
        for one in literals:
            column = self.literals.index(replace(one, positive=True))
            inside &= self.values[:, column] == one.positive
        return inside


_Feature = tuple[TermScope, LiftedLiteral, Mask]


def _terms(
    vocabulary: Vocabulary,
    matrix: StateMatrix,
    rows: Integers,
    bindings: Sequence[Binding],
    variables: Sequence[str],
) -> Iterator[_Feature]:
    """Yield the terms over the variables that hold in some executions only."""
    kinds = [{vocabulary.objects[o] for o in own} for own in zip(*bindings, strict=True)]
    domains = [frozenset(o for o, k in vocabulary.objects.items() if k in own) for own in kinds]
    space = TermSpace(vocabulary, domains)
    values: Mask = np.zeros((len(rows), len(space.terms)), dtype=bool)
    by_binding: dict[Binding, list[int]] = {}
    for place, binding in enumerate(bindings):
        by_binding.setdefault(binding, []).append(place)
    for binding, places in by_binding.items():
        values[places] = space.values(matrix, binding, rows[places])
    varying = np.flatnonzero(values.any(axis=0) & ~values.all(axis=0))
    asked = frozenset().union(*kinds)
    for column in varying.tolist():
        term = space.terms[column]
        named = any(v >= 0 for _, arguments in term.atoms for v in arguments)
        if len(term.atoms) > 1:
            scope = TermScope.PAIR
        elif space.plain(column):
            scope = TermScope.REQUEST
        else:
            scope = TermScope.RELATED if named else TermScope.BYSTANDER
        yield scope, _worded(term, vocabulary, variables, asked), values[:, column]


def _worded(
    term: Term, vocabulary: Vocabulary, variables: Sequence[str], asked: Set[str]
) -> LiftedLiteral:
    """Write a term with variables; `asked` has the types of the request's objects."""
    kinds = {p.name: p.types for p in vocabulary.predicates}
    *_, further = islice(variable_names(vocabulary), len(variables) + 1)

    def name(place: int, kind: str) -> str:
        if place >= 0:
            return variables[place]
        return further if place == SAME else f"{'another' if kind in asked else 'some'} {kind}"

    atoms = ((one, tuple(map(name, arguments, kinds[one]))) for one, arguments in term.atoms)
    return LiftedLiteral(tuple(atoms), shared=further)


def _constants(bindings: Sequence[Binding], variables: Sequence[str]) -> Iterator[_Feature]:
    """Yield which object each variable is, unless there are many."""
    for variable, own in zip(variables, zip(*bindings, strict=True), strict=True):
        names = sorted(set(own))
        if 1 < len(names) <= _MOST_NAMED:
            for name in names:
                literal = LiftedLiteral(((_EQUAL, (variable, name)),))
                yield TermScope.CONSTANT, literal, np.array([o == name for o in own])


def _ground(vocabulary: Vocabulary, matrix: StateMatrix, rows: Integers) -> Iterator[_Feature]:
    """Yield the atoms about certain objects that hold in some executions only."""
    bits = matrix.bits[rows].astype(bool)
    varying = np.flatnonzero(bits.any(axis=0) & ~bits.all(axis=0))
    atoms = [(vocabulary.atoms[column], column) for column in varying.tolist()]
    for atom, column in [one for one in atoms if one[0].arguments][:_MOST_GROUND]:
        yield (
            TermScope.BYSTANDER,
            LiftedLiteral(((atom.predicate, atom.arguments),)),
            bits[:, column],
        )


@dataclass(frozen=True)
class FoundCondition:
    """A condition under which an event is more frequent; without literals: it always happens."""

    when: tuple[LiftedLiteral, ...]
    inside: Mask
    """The executions for which it holds."""
    counts: tuple[int, int]
    """The executions inside in which the event happened, and all inside."""
    counts_outside: tuple[int, int] = (0, 0)
    """The same outside."""
    evidence: float = math.inf
    """The log score, less the price of the search."""
    equivalents: tuple[tuple[LiftedLiteral, ...], ...] = ()
    """For each literal, others that the executions cannot tell from it."""


def find_condition(
    features: LiftedFeatures,
    hits: Mask | Integers,
    error_rate: float = ERROR_RATE,
    *,
    draws: Integers | None = None,
    difference: float = LEAST_DIFFERENCE,
) -> FoundCondition | None:
    """Return the condition under which an event is more frequent.

    Args:
        features: What held before each execution; or before several that began alike.
        hits: Whether the event happened in each; or in how many.
        error_rate: How often a condition may be returned although none matters.
        draws: The number of executions in each row; one unless given.
        difference: Rates that differ by less are not worth separating.

    Returns:
        The condition; one without literals if the event always happened, None if none is sure.
    """
    draws = np.ones(len(hits), dtype=np.int64) if draws is None else draws
    if not hits.any():
        return None
    if (hits == draws).all():
        every = np.ones(len(hits), dtype=bool)
        return FoundCondition((), every, (int(hits.sum()), int(draws.sum())))
    members = _distinct(features)
    if not members:
        return None
    rows, of_row = _rows(features, hits, draws, members)
    found = best_conjunction(rows, -math.log(error_rate), difference)
    if found is None:
        return None
    when = [_told(features, members[column], sign) for column, sign in found.literals]
    inside = found.inside[of_row]
    counts, others = ((int(hits[side].sum()), int(draws[side].sum())) for side in (inside, ~inside))
    equivalents = tuple(_equivalents(features, when, inside))
    return FoundCondition(tuple(when), inside, counts, others, found.evidence, equivalents)


def striking_condition(features: LiftedFeatures, hits: Mask) -> tuple[LiftedLiteral, ...]:
    """Return the literal that held whenever an event happened, if chance alone would not do that.

    That states differ without a reason would explain it as well, so it is no condition yet.

    Args:
        features: What held before each execution.
        hits: Whether the event happened in each.

    Returns:
        The literal; none if there is no such literal.
    """
    members = _distinct(features) if hits.any() else []
    if not members:
        return ()
    rows, _ = _rows(features, hits, np.ones(len(hits), dtype=np.int64), members)
    for column, sign in striking_literals(rows, ERROR_RATE):
        told = _told(features, members[column], sign)
        # That one object differs from all others is too easily found.
        if told.positive or told.atoms[0][0] != _EQUAL:
            return (told,)
    return ()


def sure_conditions(
    questions: Sequence[Callable[[float], FoundCondition | None]], share: Share
) -> list[FoundCondition | None]:
    """Look for several conditions, and keep those with enough evidence.

    Args:
        questions: Functions from an error rate to a condition.
        share: The share of the error budget that they spend together.

    Returns:
        The condition for each; None if none is sure. That an event always happened needs no test.
    """
    found = [ask(share.rate) for ask in questions]
    tested = [i for i, one in enumerate(found) if one is None or one.when]
    scores = [one.evidence if (one := found[i]) else -math.inf for i in tested]
    for place, sure in zip(tested, share.reached(scores), strict=True):
        found[place] = found[place] if sure else None
    return found


def _distinct(features: LiftedFeatures) -> list[list[int]]:
    """Return the columns that vary, those together that agree or disagree in each execution."""
    values = features.values
    keys = np.packbits(values ^ values[:1], axis=0).T
    known: dict[bytes, list[int]] = {}
    for column in np.flatnonzero(keys.any(axis=1)).tolist():
        known.setdefault(keys[column].tobytes(), []).append(column)
    return list(known.values())


def _rows(
    features: LiftedFeatures,
    hits: Mask | Integers,
    draws: Integers,
    members: Sequence[Sequence[int]],
) -> tuple[Rows, Integers]:
    """Put the executions of a pair together; return also the row of each execution."""
    pairs = np.concatenate([features.states[:, None], features.objects], axis=1)
    _, first, of_row = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    of_row = of_row.reshape(-1)
    objects = features.objects[first]
    units = [Units(np.arange(len(first))), Units(features.states[first])]
    units += [Units(own, role) for role, own in enumerate(objects.T)]
    varying = [column for own in members for column in own]
    numbers = Counter(features.scopes[column] for column in varying)
    whole = sum(_SCOPE_WEIGHTS[scope] for scope in numbers)
    weight = {scope: _SCOPE_WEIGHTS[scope] / whole / n for scope, n in numbers.items()}
    rows = Rows(
        np.bincount(of_row, hits).astype(np.int64),
        np.bincount(of_row, draws).astype(np.int64),
        features.values[first][:, [own[0] for own in members]],
        np.array([sum(weight[features.scopes[c]] for c in own) for own in members]),
        units,
        [frozenset(_roles(features, own)) for own in members],
    )
    return rows, of_row


def _roles(features: LiftedFeatures, columns: Sequence[int]) -> Iterator[int]:
    """Yield the variables that some literals say to be a certain object."""
    for column in columns:
        predicate, arguments = features.literals[column].atoms[0]
        if predicate == _EQUAL:
            yield features.variables.index(arguments[0])


def _told(features: LiftedFeatures, columns: Sequence[int], sign: bool) -> LiftedLiteral:
    """Return a literal for columns that agree or disagree: of narrow scope, rather positive."""
    first, values = columns[0], features.values

    def signed(column: int) -> bool:
        return sign is bool(values[0, column] == values[0, first])

    best = min(columns, key=lambda c: (features.scopes[c], not signed(c), c))
    return replace(features.literals[best], positive=signed(best))


def _equivalents(
    features: LiftedFeatures, when: Sequence[LiftedLiteral], inside: Mask
) -> Iterator[tuple[LiftedLiteral, ...]]:
    """Yield, for each literal, those that select the same executions beside the others."""
    for one in when:
        rest = features.holding([other for other in when if other != one])
        values, wanted = features.values[rest], inside[rest][:, None]
        same = [
            replace(features.literals[column], positive=sign)
            for sign in (True, False)
            for column in np.flatnonzero((values == (wanted == sign)).all(axis=0)).tolist()
        ]
        yield tuple(other for other in same if other != one)
