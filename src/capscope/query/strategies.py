"""The registry of strategies, by the name used on the command line."""

from __future__ import annotations

from collections.abc import Mapping

from capscope.errors import CapscopeError
from capscope.query.mcqs_e import McqsExact
from capscope.query.mcqs_s import McqsSampled
from capscope.query.policy import StrategyMaker
from capscope.query.random_query import RandomQuery

STRATEGIES: Mapping[str, StrategyMaker] = {
    "mcqs-s": McqsSampled,
    "mcqs-e": McqsExact,
    "random": RandomQuery,
}


def strategy_named(name: str) -> StrategyMaker:
    """Look a strategy up, or say which there are."""
    try:
        return STRATEGIES[name]
    except KeyError:
        raise CapscopeError(
            f"no strategy {name!r}; choose one of {', '.join(STRATEGIES)}"
        ) from None
