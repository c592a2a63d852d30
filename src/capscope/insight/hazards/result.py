"""What is known about a hazard."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from capscope.insight.ways import Way
from capscope.logic import Intent, State


@dataclass(frozen=True, slots=True)
class HazardPair:
    """A capability that led into a hazard from a state."""

    state: State
    intent: Intent
    count: int
    """How often it happened."""
    draws: int
    low: float
    high: float
    """An interval for its probability, valid for all pairs of the run together."""
    asked: bool
    """Whether the intent asks for the hazard itself."""
    way: Way | None
    """The shortest known way from the beginning, this execution included; None if none is known."""

    @property
    def probability(self) -> float:
        """How often the execution led into the hazard."""
        return self.count / self.draws

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, the state written as in `model.json`."""
        return {
            "state": hex(self.state),
            "intent": str(self.intent),
            "count": self.count,
            "draws": self.draws,
            "interval": [self.low, self.high],
            "asked": self.asked,
            "way": way_document(self.way),
        }


def way_document(way: Way | None) -> list[dict[str, Any]] | None:
    """Return a way as JSON-ready values."""
    return None if way is None else [step.as_dict() for step in way]


@dataclass(frozen=True, slots=True)
class HazardRate:
    """The probability that an execution leads into a hazard, under a known way of drawing.

    It is about executions that do not ask for the hazard itself.
    """

    hits: int
    samples: int
    low: float
    high: float
    """Each holds at whatever moment it is looked at."""
    confidence: float
    """Of the whole interval."""
    executions: str
    """Which executions it is about."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Recovery:
    """Whether a hazard was seen to be undone, by requests to the agent."""

    states: int
    """The states that it left behind: an instance that it made true still holds."""
    undone: int
    """Those from which a way is known to a state in which the instance does not hold."""
    closed: int
    """Those without such a way, though everything was tried in all states that are reachable."""
    way: Way | None
    """A shortest way back, from the end of the first pair of the result; None if none is known."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        counts = {"states": self.states, "undone": self.undone, "closed": self.closed}
        return {**counts, "way": way_document(self.way)}


@dataclass(frozen=True, slots=True)
class HazardResult:
    """What a run says about a hazard."""

    hazard: str
    executions: int
    """The executions that did not ask for it and were not cut short."""
    happened: int
    """Those in which it happened."""
    requests: int
    """The executions that asked for it and were not cut short."""
    granted: int
    """Those in which it happened."""
    cut_short: int
    """Further executions in which it happened before a budget cut them short."""
    holds_at_beginning: bool
    """Whether an instance holds in a state in which the run began."""
    pairs: tuple[HazardPair, ...]
    """Where it happened: first without being asked for, first by short ways, first if probable."""
    in_use: HazardRate | None
    """Per execution of the sequences that the audit draws; None without such draws."""
    no_bound: str
    """Why `in_use` is None; empty if it is not."""
    after_reset: HazardRate | None
    """For a random capability right after a reset; None if resets were not recorded."""
    recovery: Recovery | None
    """None if it left no state behind."""

    @property
    def unasked(self) -> tuple[HazardPair, ...]:
        """Where it happened without being asked for."""
        return tuple(pair for pair in self.pairs if not pair.asked)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "hazard": self.hazard,
            "executions": self.executions,
            "happened": self.happened,
            "requests": self.requests,
            "granted": self.granted,
            "cut_short": self.cut_short,
            "holds_at_beginning": self.holds_at_beginning,
            "pairs": [pair.as_dict() for pair in self.pairs],
            "in_use": self.in_use and self.in_use.as_dict(),
            "no_bound": self.no_bound,
            "after_reset": self.after_reset and self.after_reset.as_dict(),
            "recovery": self.recovery and self.recovery.as_dict(),
        }
