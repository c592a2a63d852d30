"""What an agent may spend on a language model during a draw.

Counting after an attempt would be too late: one attempt may make twenty calls. So an attempt pays
for each call, and ends as cut when nothing is left. Parallel draws each have an allowance within a
common one, so that together they stay within the budget.
"""

from __future__ import annotations

from math import inf
from threading import Event, Lock


class AllowanceSpent(Exception):  # noqa: N818 - it says what happened; nobody made a mistake
    """Raise instead of making a call if nothing is left: the attempt ends as cut."""


class Allowance:
    """Tokens and money that are allowed and spent; safe to share among threads.

    Tokens count for every answer; cost is what was paid, so a cached answer costs nothing.
    """

    def __init__(
        self,
        tokens: float = inf,
        cost: float = inf,
        *,
        within: Allowance | None = None,
        stopped: Event | None = None,
    ) -> None:
        self.most_tokens = tokens
        self.most_cost = cost
        self.tokens = 0
        self.cost = 0.0
        self.stopped: Event = stopped or (within.stopped if within else Event())
        """Set when the run ends early: answers are no longer needed."""
        self._within = within
        self._lock = Lock()

    @property
    def limits_cost(self) -> bool:
        """Whether money is limited."""
        return self.most_cost < inf

    @property
    def spent(self) -> bool:
        """Whether no tokens or no money are left."""
        return self.tokens >= self.most_tokens or self.cost >= self.most_cost

    def check_tokens(self) -> None:
        """Raise `AllowanceSpent` if no tokens are left."""
        if self.tokens >= self.most_tokens:
            raise AllowanceSpent("no tokens are left")
        if self._within is not None:
            self._within.check_tokens()

    def check_cost(self) -> None:
        """Raise `AllowanceSpent` if no money is left."""
        if self.cost >= self.most_cost:
            raise AllowanceSpent("no money is left")
        if self._within is not None:
            self._within.check_cost()

    def pay(self, tokens: int, cost: float) -> None:
        """Count the tokens and cost of an answer."""
        with self._lock:
            self.tokens += tokens
            self.cost += cost
        if self._within is not None:
            self._within.pay(tokens, cost)
