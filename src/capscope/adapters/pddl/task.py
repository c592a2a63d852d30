"""A compiled planning task: a vocabulary, an initial state, and ground actions as bit masks.

Evaluating a formula over a set of atoms is a tree walk for each action and step. With masks, one
comparison decides a conjunction of literals, and an effect is `state & keep | adds`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import accumulate
from operator import or_
from typing import NamedTuple

from capscope.logic import LiteralTest, State, Vocabulary

Disjunction = tuple[LiteralTest, ...]
ALWAYS: Disjunction = (LiteralTest(0, 0),)


class AtomChange(NamedTuple):
    """Bits that an outcome sets and clears if one of `when` holds."""

    adds: int
    deletes: int
    when: Disjunction = ALWAYS


class OperatorOutcome(NamedTuple):
    """One possible outcome of an operator."""

    probability: float
    changes: tuple[AtomChange, ...]

    def apply(self, state: State) -> State:
        """Return the state after this outcome: all deletions first, then all additions."""
        adds = deletes = 0
        for change in self.changes:
            if any(holds(state) for holds in change.when):
                adds |= change.adds
                deletes |= change.deletes
        return state & ~deletes | adds


@dataclass(frozen=True, slots=True)
class GroundOperator:
    """An action with its arguments: when it is applicable and what it does.

    The precondition has dynamic atoms only. The probabilities of `possible` sum to one.

    >>> heads = OperatorOutcome(0.5, (AtomChange(1, 0),))
    >>> flip = GroundOperator("flip()", ALWAYS, (heads, OperatorOutcome(0.5, ())))
    >>> flip.outcomes(0b0)
    ((0.5, 1), (0.5, 0))
    >>> flip.outcomes(0b1)
    ((1.0, 1),)
    """

    name: str
    precondition: Disjunction
    possible: tuple[OperatorOutcome, ...]
    tests: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)
    """For each term of the precondition the bits it tests and their values."""
    masks: tuple[tuple[float, int, int], ...] | None = field(init=False, repr=False, compare=False)
    """Cumulative probability, bits kept and bits added; None if an effect depends on the state."""
    may_add: int = field(init=False, repr=False, compare=False)
    """Bits that some outcome may set."""
    may_delete: int = field(init=False, repr=False, compare=False)
    """Bits that some outcome may clear."""

    def __post_init__(self) -> None:
        changes = [change for outcome in self.possible for change in outcome.changes]
        derived = {
            "tests": tuple((c.required | c.forbidden, c.required) for c in self.precondition),
            "masks": self._masks() if all(c.when == ALWAYS for c in changes) else None,
            "may_add": _union(change.adds for change in changes),
            "may_delete": _union(change.deletes for change in changes),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def _masks(self) -> tuple[tuple[float, int, int], ...]:
        thresholds = list(accumulate(outcome.probability for outcome in self.possible))
        # A draw is below 1, and rounding must not leave the last threshold below it.
        thresholds[-1] = 1.0
        adds = [_union(change.adds for change in o.changes) for o in self.possible]
        keeps = [~_union(change.deletes for change in o.changes) for o in self.possible]
        return tuple(zip(thresholds, keeps, adds, strict=True))

    def applicable(self, state: State) -> bool:
        """Return whether the precondition holds."""
        return any(state & care == required for care, required in self.tests)

    def outcomes(self, state: State) -> tuple[tuple[float, State], ...]:
        """Return the distribution over successors, each successor once."""
        if self.masks is not None and len(self.masks) == 1:
            _, keep, adds = self.masks[0]
            return ((1.0, state & keep | adds),)
        merged: dict[State, float] = {}
        for outcome in self.possible:
            after = outcome.apply(state)
            merged[after] = merged.get(after, 0.0) + outcome.probability
        return tuple((probability, after) for after, probability in merged.items())

    def draw(self, state: State, uniform: float) -> State:
        """Return the successor for a number drawn uniformly from [0, 1)."""
        if self.masks is not None:
            for threshold, keep, adds in self.masks:
                if uniform < threshold:
                    return state & keep | adds
        for outcome in self.possible:
            uniform -= outcome.probability
            if uniform < 0:
                break
        return outcome.apply(state)


def _union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


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

    @cached_property
    def _tests(self) -> tuple[tuple[int, int, GroundOperator], ...]:
        return tuple((*test, operator) for operator in self.operators for test in operator.tests)

    def applicable(self, state: State) -> Sequence[GroundOperator]:
        """List the operators whose precondition holds, in their fixed order."""
        found = [operator for care, required, operator in self._tests if state & care == required]
        # Several terms of one precondition may hold at once.
        return found if len(self._tests) == len(self.operators) else list(dict.fromkeys(found))
