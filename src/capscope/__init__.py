"""Find out what an AI agent can do, when, and with what side effects."""

from capscope.api import Result, assess, plan, resume, try_plan
from capscope.assessment import Budget, Usage
from capscope.errors import CapscopeError
from capscope.strategy import Settings
from capscope.symbolic import Atom, Effect, Intent, Literal, Predicate, State, Vocabulary
from capscope.world import Limits, Problem, check_problem

__version__ = "0.1.0"

__all__ = [
    "Atom",
    "Budget",
    "CapscopeError",
    "Effect",
    "Intent",
    "Limits",
    "Literal",
    "Predicate",
    "Problem",
    "Result",
    "Settings",
    "State",
    "Usage",
    "Vocabulary",
    "assess",
    "check_problem",
    "plan",
    "resume",
    "try_plan",
]
