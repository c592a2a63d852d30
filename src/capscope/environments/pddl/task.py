"""A compiled planning task: a vocabulary, an initial state and ground operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

from capscope.environments.pddl.operators import GroundOperator
from capscope.symbolic import State, Vocabulary


@dataclass(frozen=True)
class PddlTask:
    """A compiled PPDDL problem.

    The vocabulary has every ground atom, static ones too. `operators` are the ground actions
    whose static preconditions hold, in the order of the domain file and then of the objects.
    """

    name: str
    vocabulary: Vocabulary
    initial_state: State
    operators: tuple[GroundOperator, ...]
    static_predicates: frozenset[str]

    @cached_property
    def dynamic_mask(self) -> int:
        """The bits of the atoms whose predicate occurs in an effect."""
        bits = self.vocabulary.bit
        return reduce(
            or_, (b for a, b in bits.items() if a.predicate not in self.static_predicates), 0
        )

    @cached_property
    def _tests(self) -> tuple[tuple[int, int, GroundOperator], ...]:
        return tuple((*test, operator) for operator in self.operators for test in operator.tests)

    @cached_property
    def _tests_are_unique(self) -> bool:
        return len(self._tests) == len(self.operators)

    def applicable(self, state: State) -> Sequence[GroundOperator]:
        """List the operators whose precondition holds, in their fixed order."""
        found = [operator for care, required, operator in self._tests if state & care == required]
        # Several terms of one precondition may hold at once.
        return found if self._tests_are_unique else list(dict.fromkeys(found))
