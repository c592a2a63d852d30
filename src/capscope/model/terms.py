"""Terms: what may be said of some objects in a state, without naming any other object.

The objects are variables: those of a request (its *roles*), or those of a behavior. A term is an
atom about them (`on(X,Y)`), an atom about some further object (`on(·,X)`), or two atoms about the
same further object (`on(z,X) and clear(z)`). Terms are the features of lifted rules: they mean the
same in any instance of the predicates, with more objects too.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from capscope.logic import Atom, Vocabulary
from capscope.model.state_graph import StateMatrix
from capscope.stats.arrays import Integers, Mask

ANY = -1
"""An argument that is some object besides the variables."""
SAME = -2
"""An argument that is one further object in both atoms of a term."""
_MOST_TERMS = 600
Pattern = tuple[str, tuple[int, ...]]
"""A predicate and its arguments: variables by number, `ANY` or `SAME`."""
Binding = tuple[str, ...]
"""The object of each variable."""


class Term(NamedTuple):
    """An atom, or two atoms about the same further object."""

    atoms: tuple[Pattern, ...]

    @property
    def size(self) -> int:
        """How much a reader must take in; shorter terms are preferred."""
        further = sum(place < 0 for _, arguments in self.atoms for place in arguments)
        return len(self.atoms) + further


class TermSpace:
    """All terms over some variables."""

    def __init__(self, vocabulary: Vocabulary, domains: Sequence[frozenset[str]]) -> None:
        """Take the objects that each variable may stand for."""
        self._vocabulary = vocabulary
        self._domains = domains
        self._kinds = {p.name: p.types for p in vocabulary.predicates}
        kinds = {kind for types in self._kinds.values() for kind in types}
        self._objects = {kind: vocabulary.objects_of(kind) for kind in kinds}
        self.terms: tuple[Term, ...] = tuple(itertools.islice(self._all(), _MOST_TERMS))
        """The terms, short ones first."""
        self.place = {term: i for i, term in enumerate(self.terms)}
        """The number of each term."""
        self._columns: dict[Binding, list[Integers]] = {}

    def _all(self) -> Iterator[Term]:
        several: list[Term] = []
        open_atoms: list[tuple[str, tuple[int, ...], str]] = []
        for name, kinds in self._kinds.items():
            options = [self._variables_of(kind) for kind in kinds]
            for arguments in itertools.product(*options):
                named = [v for v in arguments if v != ANY]
                if len(set(named)) < len(named):
                    continue
                if ANY not in arguments:
                    yield Term(((name, arguments),))
                    continue
                several.append(Term(((name, arguments),)))
                if len(named) == len(arguments) - 1:
                    open_atoms.append((name, arguments, kinds[arguments.index(ANY)]))
        yield from several
        for (one, first, kind), (other, second, other_kind) in itertools.combinations(
            open_atoms, 2
        ):
            named_places = {v for v in (*first, *second) if v >= 0}
            if named_places and set(self._objects[kind]) & set(self._objects[other_kind]):
                yield Term(((one, _same(first)), (other, _same(second))))

    def _variables_of(self, kind: str) -> list[int]:
        known = set(self._objects[kind])
        return [v for v, domain in enumerate(self._domains) if domain & known] + [ANY]

    @staticmethod
    def bindings(domains: Sequence[Iterable[str]]) -> Iterator[Binding]:
        """Yield all ways to give distinct objects to variables."""
        for binding in itertools.product(*(sorted(domain) for domain in domains)):
            if len(set(binding)) == len(binding):
                yield binding

    def columns(self, term: int, binding: Binding) -> Integers:
        """Return a term as alternatives, one a row: atoms, by number, that hold together."""
        return self._all_columns(binding)[term]

    def _all_columns(self, binding: Binding) -> list[Integers]:
        known = self._columns.get(binding)
        if known is None:
            known = self._columns[binding] = [
                np.array(self._alternatives(t, binding), dtype=np.int64).reshape(-1, len(t.atoms))
                for t in self.terms
            ]
        return known

    def _alternatives(self, term: Term, binding: Binding) -> list[list[int]]:
        if len(term.atoms) == 1:
            return [[column] for column, _ in self.matching(term.atoms[0], binding)]
        sides: list[dict[str, list[int]]] = []
        for pattern in term.atoms:
            side: dict[str, list[int]] = defaultdict(list)
            for column, further in self.matching(pattern, binding):
                side[further].append(column)
            sides.append(side)
        one, other = sides
        return [[a, b] for name in one if name in other for a in one[name] for b in other[name]]

    def matching(self, pattern: Pattern, binding: Binding) -> Iterator[tuple[int, str]]:
        """Yield the numbers of the atoms of a pattern, each with the first further object."""
        name, arguments = pattern
        bit = self._vocabulary.bit
        open_places = [i for i, v in enumerate(arguments) if v < 0]
        choices = (self._objects[self._kinds[name][i]] for i in open_places)
        for others in itertools.product(*choices):
            if not set(others).isdisjoint(binding):
                continue
            filled = dict(zip(open_places, others, strict=True))
            atom = Atom(
                name, tuple(filled[i] if v < 0 else binding[v] for i, v in enumerate(arguments))
            )
            if atom in bit:
                yield bit[atom].bit_length() - 1, others[0] if others else ""

    def plain(self, term: int) -> bool:
        """Return whether a term is an atom about the variables alone."""
        atoms = self.terms[term].atoms
        return len(atoms) == 1 and all(v >= 0 for v in atoms[0][1])

    def values(
        self,
        matrix: StateMatrix,
        binding: Binding,
        rows: Integers,
        terms: Sequence[int] | None = None,
    ) -> Mask:
        """Return whether each term, or each of some, holds in each row."""
        known = self._all_columns(binding)
        columns = known if terms is None else [known[term] for term in terms]
        values: Mask = np.zeros((len(rows), len(columns)), dtype=bool)
        bits = matrix.bits[rows].astype(bool)
        single = [place for place, atoms in enumerate(columns) if atoms.size == 1]
        values[:, single] = bits[:, [columns[place].item() for place in single]]
        for place, atoms in enumerate(columns):
            if atoms.size > 1:
                values[:, place] = np.any(np.all(bits[:, atoms], axis=2), axis=1)
        return values

    def holding(
        self,
        matrix: StateMatrix,
        term: int,
        bindings: Sequence[Binding],
        which: Integers,
        rows: Integers,
    ) -> Mask:
        """Return whether a plain term holds in each row, for one of some bindings in each."""
        present, place = np.unique(which, return_inverse=True)
        columns = [self.columns(term, bindings[i]) for i in present.tolist()]
        column = np.array([one.item() if one.size else -1 for one in columns], dtype=np.int64)[
            place
        ]
        held: Mask = (matrix.bits[rows, column] > 0) & (column >= 0)
        return held


def _same(arguments: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(SAME if v == ANY else v for v in arguments)
