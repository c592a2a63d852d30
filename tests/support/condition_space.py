"""Boolean conditions over the atoms of a vocabulary, compared by meaning.

A learned condition is a disjunction of thousands of complete states, or the complement of one. As a
formula it cannot be compared or negated in reasonable time; as a reduced ordered binary decision
diagram, equal conditions are equal nodes. The library (oxidd) is used in this module only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oxidd.bdd import BDDFunction, BDDManager

from capscope.logic.vocabulary import Literal, State, Vocabulary

_INNER_NODES = 1 << 24
_APPLY_CACHE = 1 << 18


class Condition:
    """A set of states, given by a Boolean formula; immutable, comparable by meaning."""

    __slots__ = ("_diagram", "_space")

    def __init__(self, diagram: BDDFunction, space: ConditionSpace) -> None:
        self._diagram = diagram
        self._space = space

    def holds(self, state: State) -> bool:
        """Return whether a state satisfies the condition."""
        return self._diagram.eval([(i, bool(state >> i & 1)) for i in range(self._space.width)])

    def implies(self, other: Condition) -> bool:
        """Return whether every state of this condition satisfies the other."""
        return self._diagram.imp(self._checked(other)._diagram).valid()

    def count(self) -> int:
        """Count the satisfying states among all 2^n bit vectors."""
        return self._diagram.sat_count(self._space.width)

    def __and__(self, other: Condition) -> Condition:
        return Condition(self._diagram & self._checked(other)._diagram, self._space)

    def __or__(self, other: Condition) -> Condition:
        return Condition(self._diagram | self._checked(other)._diagram, self._space)

    def __invert__(self) -> Condition:
        return Condition(~self._diagram, self._space)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self._diagram == self._checked(other)._diagram

    def __hash__(self) -> int:
        return hash(self._diagram)

    def _checked(self, other: Condition) -> Condition:
        if other._space is not self._space:
            raise ValueError("conditions of different spaces cannot be combined; make both in one")
        return other


class ConditionSpace:
    """Makes conditions over one vocabulary.

    >>> space = ConditionSpace(Vocabulary.of_atoms(["p", "q"]))
    >>> (space.of_states([0b00, 0b01]) | space.of_states([0b10, 0b11])) == space.anything
    True
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.width = len(vocabulary.atoms)
        self._vocabulary = vocabulary
        self._manager = BDDManager(_INNER_NODES, _APPLY_CACHE, 1)
        self._manager.add_vars(self.width)
        self._true = [self._manager.var(i) for i in range(self.width)]
        self._false = [self._manager.not_var(i) for i in range(self.width)]

    @property
    def anything(self) -> Condition:
        """The condition that every state satisfies."""
        return Condition(self._manager.true(), self)

    @property
    def nothing(self) -> Condition:
        """The condition that no state satisfies."""
        return Condition(self._manager.false(), self)

    def of_states(self, states: Iterable[State]) -> Condition:
        """Return the disjunction of complete states."""
        return Condition(self._split(sorted(set(states)), 0), self)

    def of_terms(self, terms: Iterable[Iterable[Literal]]) -> Condition:
        """Return a disjunction of conjunctions of literals."""
        result = self._manager.false()
        for term in terms:
            required, forbidden = self._vocabulary.test(term)
            cube = self._manager.true()
            for i in reversed(range(self.width)):
                if required >> i & 1:
                    cube = cube & self._true[i]
                elif forbidden >> i & 1:
                    cube = cube & self._false[i]
            result = result | cube
        return Condition(result, self)

    def _split(self, states: Sequence[State], level: int) -> BDDFunction:
        # Adding states one by one would rebuild the growing diagram each time. Splitting them on
        # the topmost variable builds every node once.
        if not states:
            return self._manager.false()
        if len(states) == 1:
            return self._minterm(states[0], level)
        if level == self.width:
            return self._manager.true()
        high = self._split([s for s in states if s >> level & 1], level + 1)
        low = self._split([s for s in states if not s >> level & 1], level + 1)
        return self._true[level].ite(high, low)

    def _minterm(self, state: State, level: int) -> BDDFunction:
        cube = self._manager.true()
        for i in reversed(range(level, self.width)):
            cube = cube & (self._true[i] if state >> i & 1 else self._false[i])
        return cube
