"""Plans over the learned model: the most reliable policy of capabilities for a goal, tried out."""

from capscope.planning.goal import Goal
from capscope.planning.plan import Plan, Step, plan_for

__all__ = ["Goal", "Plan", "Step", "plan_for"]
