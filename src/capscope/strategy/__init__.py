"""What to ask next. A strategy sees the state graph and positions, never the simulator."""

from capscope.strategy.base import Policy, PolicySearch, QueryPlan, Strategy, StrategyContext, Walk
from capscope.strategy.registry import STRATEGIES, RegisteredStrategy

__all__ = [
    "STRATEGIES",
    "Policy",
    "PolicySearch",
    "QueryPlan",
    "RegisteredStrategy",
    "Strategy",
    "StrategyContext",
    "Walk",
]
