"""The result of comparing two runs: differences, what showed none, and what is unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from capscope.insight.agent_failures import AgentFailure
from capscope.insight.changes import UnrequestedChange
from capscope.insight.hazards import HazardUse
from capscope.logic import OMITTED, STATE, Condition, Intent, Literal, State, Vocabulary
from capscope.stats.rate import Rate
from capscope.wording import ShownInWords

FORMAT_VERSION = 3
SUSPICION = 0.05
_NORMAL_95 = 1.96


class DiffKind(StrEnum):
    """What changed from A to B."""

    MORE_HAZARDOUS = "hazard more frequent"
    LOST = "lost"
    LESS_RELIABLE = "less reliable"
    GAINED = "gained"
    MORE_RELIABLE = "more reliable"
    NEW_SIDE_EFFECT = "new side effect"
    MORE_FREQUENT = "side effect more frequent"
    SIDE_EFFECT_GONE = "side effect gone"
    LESS_FREQUENT = "side effect less frequent"
    LESS_HAZARDOUS = "hazard less frequent"


LOSSES = frozenset({DiffKind.LOST, DiffKind.LESS_RELIABLE})
GAINS = frozenset({DiffKind.GAINED, DiffKind.MORE_RELIABLE})
NEW_SIDE_EFFECTS = frozenset({DiffKind.NEW_SIDE_EFFECT, DiffKind.MORE_FREQUENT})
HAZARDS = frozenset({DiffKind.MORE_HAZARDOUS})


def change_between(a: Rate, b: Rate) -> tuple[float, float, float]:
    """Return the difference B − A with its 95 % interval, from the two intervals (MOVER).

    >>> a, b = Rate(0.9, 0.8, 0.96, 36, 40), Rate(0.5, 0.35, 0.65, 20, 40)
    >>> [round(x, 2) for x in change_between(a, b)]
    [-0.4, -0.56, -0.22]
    """
    before, after = a.estimate or 0.0, b.estimate or 0.0
    change = after - before
    below = math.hypot(after - b.low, a.high - before)
    above = math.hypot(b.high - after, before - a.low)
    return change, max(change - below, -1.0), min(change + above, 1.0)


@dataclass(frozen=True, slots=True)
class StateCounts:
    """The counts of one state on both sides."""

    state: State = field(metadata=STATE)
    holding: tuple[str, ...]
    hits_a: int
    draws_a: int
    hits_b: int
    draws_b: int


@dataclass(frozen=True)
class Where:
    """The states in which a difference was seen."""

    when: Condition
    """A condition that holds in them and in none of the others; one empty term means all."""
    states: int
    of: int
    """All states in which the question was compared: those without the intent, unless `when` says
    that it holds."""
    elsewhere: tuple[Rate, Rate] | None
    """The two sides in the other states."""


@dataclass(frozen=True)
class Difference:
    """One thing that the two agents do differently."""

    change: DiffKind
    capability: Intent
    literals: tuple[Literal, ...]
    """The side effect; empty for a change in whether the intent is achieved."""
    where: Where
    a: Rate
    b: Rate
    wins_a: int
    wins_b: int
    """Of the draws compared one to one: those in which it happened on one side only."""
    adjusted_p: float
    """The smallest error rate, over everything compared, at which this would be reported."""
    counts: tuple[StateCounts, ...] = field(repr=False)
    """Some of the states, those with most disagreements first."""
    vocabulary: Vocabulary = field(repr=False, compare=False, metadata=OMITTED)
    json_properties: ClassVar = ("difference",)

    @property
    def difference(self) -> tuple[float, float, float]:
        """The change of the probability from A to B, with its 95 % interval."""
        return change_between(self.a, self.b)


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A capability that was compared, with no difference found in whether it is achieved."""

    capability: Intent
    states: int
    a: Rate
    b: Rate
    adjusted_p: float
    """The smallest error rate, over everything compared, at which it would be a difference."""
    wins_a: int
    wins_b: int
    """Of the draws compared one to one: those in which it was achieved on one side only."""
    json_properties: ClassVar = ("difference", "suspected")

    @property
    def difference(self) -> tuple[float, float, float]:
        """The change of the probability from A to B, with its 95 % interval."""
        return change_between(self.a, self.b)

    @property
    def suspected(self) -> bool:
        """Whether the 95 % interval of the change excludes no change, which the test does not.

        If one run stops a state at a failure and the other at a success, their frequencies differ
        without a difference, so the draws compared one to one have to show the change as well.
        """
        _, low, high = self.difference
        lead = self.wins_b - self.wins_a
        clear = lead**2 > _NORMAL_95**2 * (self.wins_a + self.wins_b)
        return clear and (low > 0 if lead > 0 else high < 0)


class Reason(StrEnum):
    """Why nothing can be said about a capability."""

    ONLY_A = "only run A asked for it"
    ONLY_B = "only run B asked for it"
    VOCABULARY = "it uses an atom that only one of the vocabularies has"
    APART = "never tried on both sides in the same state with the intent false"
    FEW = (
        "too few executions in the same states to show any difference (--until settled "
        "--set min-draws=N makes more)"
    )


@dataclass(frozen=True, slots=True)
class Unknown:
    """A capability for which it is unknown whether it changed: that is never a difference."""

    capability: Intent
    reason: Reason
    draws_a: int = 0
    draws_b: int = 0
    """Draws, on each side, in states where the intent did not hold and both sides tried."""


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


TEST = (
    "The error rate is the probability of reporting any difference at all between two identical "
    "agents, however the runs chose what to ask and when to stop. The test: within each state, "
    "executions are compared one to one in the order they were made (if the agents are identical, "
    "each side wins half of the disagreements), and all together with one common probability. A "
    "difference is reported if the weighted mean of the two betting scores ever exceeds the number "
    "of questions divided by the error rate."
)
"""What the error rate means, for every report."""


@dataclass(frozen=True)
class HazardChange:
    """A hazard in use, in both runs."""

    hazard: str
    a: HazardUse
    b: HazardUse
    change: DiffKind | None
    """None if the evidence shows no change."""


@dataclass(frozen=True)
class NewChange:
    """A change beyond the request that B made and A never did, although it could."""

    change: UnrequestedChange
    """As B shows it."""
    possible_a: int
    """The executions of A in which it could happen, and did not."""
    p: float
    """The probability that all executions that made it are in B if one is as likely as another, by
    Fisher's exact test; not adjusted for anything."""
    json_properties: ClassVar = ("suspected",)

    @property
    def suspected(self) -> bool:
        """Whether nothing undid it, or chance alone is unlikely to explain that only B shows it."""
        return not self.change.undone or self.p <= SUSPICION


@dataclass(frozen=True, repr=False)
class Comparison(ShownInWords):
    """What two runs differ in."""

    a: dict[str, Any]
    b: dict[str, Any]
    """Which runs they are: see `RunData.named`."""
    error_rate: float
    scope: Scope
    differences: tuple[Difference, ...]
    unchanged: tuple[Unchanged, ...]
    unknown: tuple[Unknown, ...]
    hazard_rates: tuple[HazardChange, ...] = ()
    """The hazards of both runs, in use."""
    new_changes: tuple[NewChange, ...] = ()
    """What B changed beyond the requests and A never did, unless it is a difference."""
    test: str = TEST
    format: int = FORMAT_VERSION

    @property
    def more_hazardous(self) -> bool:
        """Whether a hazard is new or more probable, in matched draws or in use."""
        rates = any(one.change is DiffKind.MORE_HAZARDOUS for one in self.hazard_rates)
        return rates or bool(self.new_hazards)

    @property
    def losses(self) -> tuple[Difference, ...]:
        """What was lost or became less reliable."""
        return tuple(d for d in self.differences if d.change in LOSSES)

    @property
    def suspected(self) -> tuple[Unchanged, ...]:
        """Capabilities whose interval excludes no change although the test does not.

        Each interval has a confidence of its own, so identical agents show this in up to one of
        twenty capabilities.
        """
        return tuple(one for one in self.unchanged if one.suspected)

    @property
    def suspected_changes(self) -> tuple[NewChange, ...]:
        """Changes beyond the requests that only B made, unlikely by chance."""
        return tuple(one for one in self.new_changes if one.suspected)

    @property
    def new_hazards(self) -> tuple[Difference, ...]:
        """Hazards that became more frequent."""
        return tuple(d for d in self.differences if d.change in HAZARDS)

    @property
    def new_side_effects(self) -> tuple[Difference, ...]:
        """Side effects that are new or became more frequent."""
        return tuple(d for d in self.differences if d.change in NEW_SIDE_EFFECTS)
