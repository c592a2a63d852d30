"""What to ask next: strategies that turn two models and a start state into a policy.

There is no simulator in sight here: a strategy sees models and states only.
"""

from capscope.record.settings import Settings
from capscope.strategy.policy import Policy, QueryPlan, Strategy, Walk
from capscope.strategy.registry import STRATEGIES, strategy_named

__all__ = ["STRATEGIES", "Policy", "QueryPlan", "Settings", "Strategy", "Walk", "strategy_named"]
