"""Plan with the learned model: the most reliable policy of capabilities for a goal, and trials."""

from capscope.insight.planning.goal import Goal
from capscope.insight.planning.plan import Plan, PlanBranch, PlanStep, plan_for
from capscope.insight.planning.trial import PlanAttempt, Trial, TrialSettings

__all__ = [
    "Goal",
    "Plan",
    "PlanAttempt",
    "PlanBranch",
    "PlanStep",
    "Trial",
    "TrialSettings",
    "plan_for",
]
