"""What is assessed: an agent, the simulator it acts in, and the abstraction of its states."""

from capscope.problem.allowance import Allowance, AllowanceSpent
from capscope.problem.attempt import Attempt, Ending, Position
from capscope.problem.checks import check_problem, notes_on
from capscope.problem.functions import FunctionAbstraction, FunctionAgent, FunctionWorld
from capscope.problem.hazard import Hazard
from capscope.problem.problem import (
    Abstraction,
    Action,
    Agent,
    Attempting,
    DrawsPictures,
    EndableAttempt,
    HasNotes,
    InspectableSimulator,
    Inspection,
    InvalidAction,
    KnownTruth,
    Limits,
    NamesPositions,
    Observation,
    Problem,
    Simulator,
    Snapshot,
    SpendsAllowance,
    picture_of,
)

__all__ = [
    "Abstraction",
    "Action",
    "Agent",
    "Allowance",
    "AllowanceSpent",
    "Attempt",
    "Attempting",
    "DrawsPictures",
    "EndableAttempt",
    "Ending",
    "FunctionAbstraction",
    "FunctionAgent",
    "FunctionWorld",
    "HasNotes",
    "Hazard",
    "InspectableSimulator",
    "Inspection",
    "InvalidAction",
    "KnownTruth",
    "Limits",
    "NamesPositions",
    "Observation",
    "Position",
    "Problem",
    "Simulator",
    "Snapshot",
    "SpendsAllowance",
    "check_problem",
    "notes_on",
    "picture_of",
]
