"""Cards: statements with their evidence and the way there.

Findings, hazards and differences between runs are shown the same way, so their values are of one
shape, and `templates/cards.html.j2` renders all of them. States are indices into a list of
`StateDigest`, so that each is written once.
"""

from dataclasses import dataclass
from enum import StrEnum

HAZARD = "hazard"
"""The kind of the cards of hazards."""


class Tone(StrEnum):
    """How a reader should take something; the page gives each a color, a sign and a word."""

    GOOD = "good"
    ODD = "odd"
    HARM = "harm"
    IDLE = "idle"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class WayNode:
    """A state on a way."""

    state: int
    """Index into `Digest.states`."""
    literals: tuple[str, ...]
    """What is new in the state; in the first, what holds there and matters later."""
    more: int = 0
    """Literals that are not listed."""


@dataclass(frozen=True, slots=True)
class WayArrow:
    """A request on a way, from one node to the next."""

    intent: str
    count: int
    """How often it led to the next node."""
    draws: int
    """How often it was made in the node before."""


@dataclass(frozen=True, slots=True)
class WayDigest:
    """How to get there: states, and the request between each and the next."""

    nodes: tuple[WayNode, ...]
    arrows: tuple[WayArrow, ...]
    """One fewer than nodes. The last is what the card is about, if `from_beginning`."""
    from_beginning: bool
    """Whether the first node is a state in which runs begin; otherwise no way is known."""
    gap: int = 0
    """The node after which steps are left out, if there are any."""
    omitted: int = 0
    """Steps left out there."""


@dataclass(frozen=True, slots=True)
class RateDigest:
    """How often something happened."""

    label: str
    probability: float
    low: float
    high: float
    draws: int
    states: int


@dataclass(frozen=True, slots=True)
class CardDigest:
    """A statement with its evidence: a finding, a hazard, a difference between runs."""

    kind: str
    tone: Tone
    sentence: str
    example: str
    """A sentence, or empty."""
    intents: tuple[str, ...]
    rates: tuple[RateDigest, ...] = ()
    """What happened, and what it is compared with."""
    way: WayDigest | None = None
    details: tuple[str, ...] = ()
    """Further sentences."""
