"""What to ask next. There is no simulator here: a strategy sees the state graph and positions only."""

from capscope.strategy.base import Strategy, StrategyContext
from capscope.strategy.policy import Policy, PolicySearch, QueryPlan, Walk
from capscope.strategy.registry import RegisteredStrategy, find_strategy, strategies

__all__ = [
    "Policy",
    "PolicySearch",
    "QueryPlan",
    "RegisteredStrategy",
    "Strategy",
    "StrategyContext",
    "Walk",
    "find_strategy",
    "strategies",
]
