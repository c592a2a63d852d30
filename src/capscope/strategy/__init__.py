"""What to ask next. A strategy sees the state graph and positions, never the simulator."""

from capscope.strategy.base import Policy, PolicySearch, QueryPlan, Strategy, StrategyContext, Walk
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
