"""Ground actions as bit masks.

Evaluating a formula over a set of atoms is a tree walk for each action and step. Once an action is
ground and its static atoms are evaluated, its precondition is a disjunction of conjunctions of
literals, usually a single one: `state & care == required` decides it. An effect is
`state & keep | adds`. The masks are computed once, when the operator is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import NamedTuple

from capscope.symbolic import LiteralTest, State

Disjunction = tuple[LiteralTest, ...]
Successors = tuple[tuple[float, State], ...]


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
            "may_add": reduce(or_, (c.adds for c in changes), 0),
            "may_delete": reduce(or_, (c.deletes for c in changes), 0),
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
        adds = [reduce(or_, (c.adds for c in o.changes), 0) for o in self.possible]
        deletes = [reduce(or_, (c.deletes for c in o.changes), 0) for o in self.possible]
        return tuple((t, ~d, a) for t, d, a in zip(thresholds, deletes, adds, strict=True))

    def applicable(self, state: State) -> bool:
        """Return whether the precondition holds."""
        return any(state & care == required for care, required in self.tests)

    def outcomes(self, state: State) -> Successors:
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
