"""The registry of strategies, by the name used on the command line.

A strategy is registered by one entry here, or by an entry point of the group `capscope.strategies`
in another package that names a `RegisteredStrategy`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata

from capscope.errors import CapscopeError
from capscope.record.settings import Settings
from capscope.strategy.adaptive import AdaptiveStrategy
from capscope.strategy.base import Strategy, StrategyContext
from capscope.strategy.mcqs_e import McqsExact
from capscope.strategy.mcqs_s import McqsSampled
from capscope.strategy.random_query import RandomQuery
from capscope.strategy.repeated import RepeatedStrategy

ENTRY_POINTS = "capscope.strategies"
DEFAULT_STRATEGY = "adaptive"
RANDOM = "random"
"""The baseline."""


@dataclass(frozen=True)
class RegisteredStrategy:
    """A strategy that can be chosen by name."""

    name: str
    summary: str
    make: Callable[[StrategyContext], Strategy]
    repeats_policy: bool
    """Whether all draws of a query execute one policy from one start."""
    check: Callable[[Settings, int], None] = lambda settings, workers: None
    """Raises if settings and number of workers are incompatible."""


_STRATEGIES = (
    RegisteredStrategy(
        "adaptive",
        "ask where the expected gain is highest, as often as the evidence requires",
        AdaptiveStrategy,
        repeats_policy=False,
        check=AdaptiveStrategy.check,
    ),
    RegisteredStrategy(
        "mcqs-s",
        "the paper's search by sampled states",
        lambda c: RepeatedStrategy(c, McqsSampled(c.settings), c.settings.depth),
        repeats_policy=True,
    ),
    RegisteredStrategy(
        "mcqs-e",
        "the paper's search by exact distributions",
        lambda c: RepeatedStrategy(c, McqsExact(c.settings), c.settings.depth),
        repeats_policy=True,
    ),
    RegisteredStrategy(
        RANDOM,
        "the paper's baseline: random sequences of capabilities",
        lambda c: RepeatedStrategy(c, RandomQuery(c.settings), c.settings.random_length),
        repeats_policy=True,
    ),
)
BUILT_IN = {strategy.name: strategy for strategy in _STRATEGIES}
"""The strategies of this package, by name."""


@cache
def strategies() -> dict[str, RegisteredStrategy]:
    """Return every strategy by name, including those of other packages (slow)."""
    known = dict(BUILT_IN)
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        registered = entry.load()
        if not isinstance(registered, RegisteredStrategy):
            raise CapscopeError(f"{entry.value} is not a capscope RegisteredStrategy")
        known.setdefault(registered.name, registered)
    return known


def find_strategy(name: str) -> RegisteredStrategy:
    """Return a strategy by name, or raise with the names there are."""
    found = BUILT_IN.get(name) or strategies().get(name)
    if found is None:
        raise CapscopeError(f"no strategy {name!r}; choose one of {', '.join(strategies())}")
    return found
