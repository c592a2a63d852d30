"""Find out what an AI agent can do, when, and with what side effects."""

from capscope.assessment import Event
from capscope.assessment.workers import WorkerSettings
from capscope.errors import CapscopeError
from capscope.record.settings import Settings
from capscope.record.usage import Budget, Usage
from capscope.run import Run, assess, load, resume
from capscope.symbolic import Atom, Effect, Intent, Literal, Predicate, State, Vocabulary
from capscope.world import Limits, Problem, check_problem

__version__ = "0.1.0"

__all__ = [
    "Atom",
    "Budget",
    "CapscopeError",
    "Effect",
    "Event",
    "Intent",
    "Limits",
    "Literal",
    "Predicate",
    "Problem",
    "Run",
    "Settings",
    "State",
    "Usage",
    "Vocabulary",
    "WorkerSettings",
    "assess",
    "check_problem",
    "load",
    "resume",
]
