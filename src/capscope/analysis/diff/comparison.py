"""All that a comparison of two runs says: differences, what is alike, and what is unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from capscope.analysis.diff.difference import (
    LOSSES,
    NEW_SIDE_EFFECTS,
    Difference,
    Estimate,
    change_between,
)
from capscope.analysis.diff.unknown import Unknown
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


@dataclass(frozen=True)
class Scope:
    """What was there to be compared."""

    states_shared: int
    states_only_a: int
    states_only_b: int
    states_in_several_positions: int
    """Of those shared; what can be compared there depends on the positions."""
    draws_there: int
    """Of both sides, in these states."""
    draws_in_shared_positions: int
    """Those of them that are compared draw by draw; of the others, positions are compared."""
    atoms_only_a: tuple[str, ...]
    atoms_only_b: tuple[str, ...]
    achievement_questions: int
    side_effect_questions: int
    """Literals that always came about together are one question."""
    agent_failures_a: tuple[AgentFailure, ...] = ()
    agent_failures_b: tuple[AgentFailure, ...] = ()
    """In what ways the agents broke down: that alone may make a difference."""

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
    "The error rate is the chance of telling any difference at all between two agents that are "
    "alike, however the runs chose what to draw and when to stop. The test: within each state, "
    "draws are set one against one in the order they were made (of those that only one side "
    "achieved, each side has half if they are alike) and all together against a common "
    "probability; a difference is told if the mean of the two betting scores exceeds the number of "
    "questions, divided by the error rate."
)
"""The test in words, for every report."""


@dataclass(frozen=True)
class Comparison:
    """What two runs differ in."""

    a: dict[str, Any]
    b: dict[str, Any]
    """Which runs they are (`Side.as_dict`)."""
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
