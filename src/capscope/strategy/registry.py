"""The registry of strategies, by the name used on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capscope.errors import CapscopeError
from capscope.strategy.mcqs_e import McqsExact
from capscope.strategy.mcqs_s import McqsSampled
from capscope.strategy.policy import StrategyFactory
from capscope.strategy.random_query import RandomQuery

ADAPTIVE = "adaptive"
"""The strategy that chooses starts and repeats by itself; it makes no policy for a given start."""
RANDOM = "random"
"""The baseline."""

SEARCHING: Mapping[str, StrategyFactory] = {
    "mcqs-s": McqsSampled,
    "mcqs-e": McqsExact,
    RANDOM: RandomQuery,
}
"""The strategies that choose a policy for a given start."""

STRATEGIES = (ADAPTIVE, *SEARCHING)
DEFAULT_STRATEGY = ADAPTIVE


def check_strategy(name: str) -> None:
    """Say which strategies there are if this is none of them."""
    if name not in STRATEGIES:
        raise CapscopeError(f"no strategy {name!r}; choose one of {', '.join(STRATEGIES)}")


def strategy_named(name: str) -> StrategyFactory:
    """Look up a strategy that chooses a policy for a given start."""
    check_strategy(name)
    return SEARCHING[name]


def starts_apart(identity: Mapping[str, Any]) -> bool:
    """Say whether, in a run of this identity, each draw of a query had a start of its own."""
    batch: int = identity["settings"].get("batch", 1)
    return bool(identity["strategy"] == ADAPTIVE and batch > 1)
