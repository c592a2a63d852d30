"""What is questioned: a simulator, an agent acting in it, and the words to see it through."""

from capscope.world.allowance import Allowance, AllowanceSpent
from capscope.world.attempt import Attempt, Ending, Position
from capscope.world.checks import check_problem
from capscope.world.contracts import (
    Abstraction,
    Action,
    Agent,
    Attempting,
    InvalidAction,
    KnownTruth,
    Observation,
    Pictured,
    SettableSimulator,
    Simulator,
    Snapshot,
    Spending,
)
from capscope.world.problem import Limits, Problem

__all__ = [
    "Abstraction",
    "Action",
    "Agent",
    "Allowance",
    "AllowanceSpent",
    "Attempt",
    "Attempting",
    "Ending",
    "InvalidAction",
    "KnownTruth",
    "Limits",
    "Observation",
    "Pictured",
    "Position",
    "Problem",
    "SettableSimulator",
    "Simulator",
    "Snapshot",
    "Spending",
    "check_problem",
]
