"""What to ask next: strategies that turn two models and a start state into a policy.

There is no simulator in sight here: a strategy sees models and states only.
"""

from capscope.query.policy import Plan, Policy, Strategy, Walk
from capscope.query.settings import Settings
from capscope.query.strategies import STRATEGIES, strategy_named

__all__ = ["STRATEGIES", "Plan", "Policy", "Settings", "Strategy", "Walk", "strategy_named"]
