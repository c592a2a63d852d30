"""What an agent may spend on a language model while a draw is under way.

Counting what an attempt used when it is over is too late: one attempt may make twenty calls, and a
call costs money. So an attempt that makes calls is told beforehand where it spends from, pays for
each call as it is made, and makes no further one when nothing is left. It ends there as cut.

Draws that are made side by side each have an allowance of their own within a common one, so that
together they stop at what is left for all of them.
"""

from __future__ import annotations

from math import inf
from threading import Event, Lock


class AllowanceSpent(Exception):  # noqa: N818 - it says what happened; nobody made a mistake
    """Raise instead of making a call that nothing is left for: the attempt ends there as cut."""


class Allowance:
    """What is allowed and what was spent, of tokens and of money; safe to share among threads.

    Tokens are those of the answers used, wherever they come from. Cost is what was really paid, so
    an answer out of a cache costs nothing.
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
        """Set when the run ends early: nobody waits for the answer any more."""
        self._within = within
        self._lock = Lock()

    @property
    def limits_cost(self) -> bool:
        """Whether money is limited at all."""
        return self.most_cost < inf

    @property
    def spent(self) -> bool:
        """Whether nothing is left of tokens or of money."""
        return self.tokens >= self.most_tokens or self.cost >= self.most_cost

    def check_tokens(self) -> None:
        """Refuse any further answer when no tokens are left."""
        if self.tokens >= self.most_tokens:
            raise AllowanceSpent("no tokens are left")
        if self._within is not None:
            self._within.check_tokens()

    def check_cost(self) -> None:
        """Refuse a further answer that costs something when no money is left."""
        if self.cost >= self.most_cost:
            raise AllowanceSpent("no money is left")
        if self._within is not None:
            self._within.check_cost()

    def pay(self, tokens: int, cost: float) -> None:
        """Account for an answer."""
        with self._lock:
            self.tokens += tokens
            self.cost += cost
        if self._within is not None:
            self._within.pay(tokens, cost)
