"""How many executions tests may make: for a whole test session, and for one test.

The pytest plugin sets the limits; without it there are none.
"""

from __future__ import annotations

from math import inf


class ExecutionBudget:
    """Executions that are allowed and made.

    >>> budget = ExecutionBudget(most=2)
    >>> budget.spend(), budget.spend(), budget.spend()
    (True, True, False)
    """

    def __init__(self, most: float = inf, within: ExecutionBudget | None = None) -> None:
        self.most = most
        self.made = 0
        self.within = within

    @property
    def left(self) -> float:
        """What may still be made."""
        own = self.most - self.made
        return own if self.within is None else min(own, self.within.left)

    def spend(self) -> bool:
        """Count one execution; return False if none is left."""
        if self.left < 1:
            return False
        self.made += 1
        if self.within is not None:
            self.within.made += 1
        return True


_current = [ExecutionBudget()]


def current_budget() -> ExecutionBudget:
    """Return the budget of the test that is running."""
    return _current[-1]


def use_budget(budget: ExecutionBudget) -> None:
    """Make this the budget of the tests that follow."""
    _current[-1] = budget
