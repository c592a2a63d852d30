"""Plans over the learned model: the most reliable policy of capabilities for a goal, tried out."""

from capscope.analysis.planning.goal import Goal
from capscope.analysis.planning.plan import Branch, Plan, Step, plan_for
from capscope.analysis.planning.trial import Effort, Trial, Try

__all__ = ["Branch", "Effort", "Goal", "Plan", "Step", "Trial", "Try", "plan_for"]
