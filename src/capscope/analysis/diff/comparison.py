"""The result of comparing two runs: differences, what showed none, and what is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from capscope.analysis.diff.difference import (
    LOSSES,
    NEW_SIDE_EFFECTS,
    Difference,
    Estimate,
    change_between,
)
from capscope.record.agent_failures import AgentFailure
from capscope.symbolic import Intent

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Alike:
    """A capability that was compared without a difference in whether it is achieved."""

    capability: Intent
    states: int
    a: Estimate
    b: Estimate

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        change, low, high = change_between(self.a, self.b)
        return {
            "capability": str(self.capability),
            "states": self.states,
            "a": self.a.as_dict(),
            "b": self.b.as_dict(),
            "difference": change,
            "interval": [low, high],
        }


class Reason(StrEnum):
    """Why nothing can be said about a capability."""

    ONLY_A = "only run A asked for it"
    ONLY_B = "only run B asked for it"
    VOCABULARY = "it uses an atom that only one of the vocabularies has"
    APART = "never tried on both sides in the same state with the intent false"
    FEW = "too few draws in the same states to show any difference (--min-draws makes more)"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A capability for which it is unknown whether it changed: that is never a difference."""

    capability: Intent
    reason: Reason
    draws_a: int = 0
    draws_b: int = 0
    """Draws, on each side, in states where the intent did not hold and both sides tried."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "capability": str(self.capability),
            "reason": str(self.reason),
            "draws a": self.draws_a,
            "draws b": self.draws_b,
        }


@dataclass(frozen=True)
class Scope:
    """What could be compared."""

    states_shared: int
    states_only_a: int
    states_only_b: int
    states_in_several_positions: int
    """Of the shared ones; what can be compared there depends on the positions."""
    draws_there: int
    """The draws of both sides in these states."""
    draws_in_shared_positions: int
    """Those that are compared draw by draw; the others are compared by position."""
    atoms_only_a: tuple[str, ...]
    atoms_only_b: tuple[str, ...]
    achievement_questions: int
    side_effect_questions: int
    """Literals that always became true together are one question."""
    agent_failures_a: tuple[AgentFailure, ...] = ()
    agent_failures_b: tuple[AgentFailure, ...] = ()
    """How the agents failed, which alone may make a difference."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "states shared": self.states_shared,
            "states only a": self.states_only_a,
            "states only b": self.states_only_b,
            "states in several positions": self.states_in_several_positions,
            "draws there": self.draws_there,
            "draws in shared positions": self.draws_in_shared_positions,
            "atoms only a": list(self.atoms_only_a),
            "atoms only b": list(self.atoms_only_b),
            "achievement questions": self.achievement_questions,
            "side effect questions": self.side_effect_questions,
            "mishaps a": [failure.as_dict() for failure in self.agent_failures_a],
            "mishaps b": [failure.as_dict() for failure in self.agent_failures_b],
        }


TEST = (
    "The error rate is the probability of reporting any difference at all between two identical "
    "agents, however the runs chose what to draw and when to stop. The test: within each state, "
    "draws are compared one to one in the order they were made (if the agents are identical, each "
    "side wins half of the disagreements), and all together with one common probability. A "
    "difference is reported if the mean of the two betting scores exceeds the number of questions "
    "divided by the error rate."
)
"""What the error rate means, for every report."""


@dataclass(frozen=True)
class Comparison:
    """What two runs differ in."""

    a: dict[str, Any]
    b: dict[str, Any]
    """Which runs they are (`RunData.as_dict`)."""
    error_rate: float
    scope: Scope
    differences: tuple[Difference, ...]
    alike: tuple[Alike, ...]
    unknown: tuple[Unknown, ...]

    @property
    def losses(self) -> tuple[Difference, ...]:
        """What was lost or became less reliable."""
        return tuple(d for d in self.differences if d.change in LOSSES)

    @property
    def new_side_effects(self) -> tuple[Difference, ...]:
        """Side effects that are new or became more frequent."""
        return tuple(d for d in self.differences if d.change in NEW_SIDE_EFFECTS)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        return {
            "format": FORMAT_VERSION,
            "a": self.a,
            "b": self.b,
            "error rate": self.error_rate,
            "test": TEST,
            "scope": self.scope.as_dict(),
            "differences": [difference.as_dict() for difference in self.differences],
            "alike": [alike.as_dict() for alike in self.alike],
            "unknown": [unknown.as_dict() for unknown in self.unknown],
        }
