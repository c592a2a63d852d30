"""The contracts that a user implements: five methods of a world, two of an agent, one function.

Nothing here inspects an observation or an action: they are whatever the simulator and the agent
agree on. A snapshot is bytes, so that it can be written down and restored in another process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from capscope.symbolic import Intent, State, Vocabulary
from capscope.world.allowance import Allowance

Observation = Any
Action = Any
Snapshot = bytes


class InvalidAction(Exception):  # noqa: N818 - it names what the agent did, not a defect
    """Raise from `Simulator.step` for an action that is not available: the attempt ends there."""


class Simulator(Protocol):
    """A world that can be put back into any position it was in before."""

    def reset(self, seed: int) -> Observation:
        """Go to the initial position and draw all later chance from `seed`."""

    def step(self, action: Action) -> Observation:
        """Take one simulator step."""

    def actions(self) -> Sequence[Action]:
        """List the actions available now; an empty list means that the world has ended."""

    def snapshot(self) -> Snapshot:
        """Describe the present position in bytes that another process can restore."""

    def restore(self, snapshot: Snapshot, seed: int) -> Observation:
        """Go back to a position and draw all later chance from `seed`."""


@runtime_checkable
class SettableSimulator(Protocol):
    """What a simulator offers in addition where any symbolic state can be set, seen or not.

    It is the inverse of the abstraction. Nothing in an assessment needs it; a baseline that names
    the states of its queries does.
    """

    def snapshot_of(self, state: State) -> Snapshot:
        """Describe a position that the abstraction maps to this state, reachable or not."""


@runtime_checkable
class DrawsPictures(Protocol):
    """What a simulator offers in addition where a position can be looked at."""

    def picture(self, snapshot: Snapshot) -> bytes:
        """Draw a position as a PNG; the world stays where it is."""


@runtime_checkable
class NamesPositions(Protocol):
    """An optional part of a simulator whose snapshots differ for the same position."""

    def position_name(self) -> bytes | None:
        """Identify the current position, however it was reached; None if that is not possible."""


class Inspection(NamedTuple):
    """The inside of a simulator, part by part: names for people, and values as text."""

    parts: Mapping[str, str]
    """What a restore must put back."""
    others: Mapping[str, str]
    """What may differ, and is named when something is wrong and nobody knows why."""
    generators: Mapping[str, str]
    """The random generators; a restore puts each where its seed says."""


@runtime_checkable
class InspectableSimulator(Protocol):
    """What a simulator offers in addition so that a check can look behind symbolic states.

    Two positions with one symbolic state are not one position: a counter, a reward or a generator
    may differ, and show later.
    """

    def last_step(self) -> Mapping[str, str]:
        """Say what the last step told: the observation and whatever came with it."""

    def inspect(self) -> Inspection:
        """Name everything inside that can be told apart."""

    def remedy(self, randomness: bool) -> str:
        """Say what to change if a restore does not restore, or does not reseed."""


@runtime_checkable
class HasNotes(Protocol):
    """What a part of a problem offers in addition where its user should know something about it."""

    def notes(self) -> Sequence[str]:
        """Say in a sentence each what is as it should be, but may surprise."""


class Attempting(Protocol):
    """An agent while it pursues one intent.

    If it has a `transcript`, a text, that is kept when the attempt is over, for people to read.
    """

    def act(self, observation: Observation) -> Action | None:
        """Choose the next action; None means that the agent stops."""


@runtime_checkable
class SpendsAllowance(Protocol):
    """What an attempting offers in addition where it asks a language model.

    Its `llm_tokens`, if it has any, are counted in the attempt.
    """

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every call from here on; raise `AllowanceSpent` rather than go beyond."""


class Agent(Protocol):
    """The black box under assessment."""

    def begin(self, intent: Intent, seed: int) -> Attempting:
        """Start afresh on an intent: nothing is remembered of earlier attempts."""


class Abstraction(Protocol):
    """The words to see the world through: it maps an observation to a symbolic state."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary whose bits the states use."""

    def __call__(self, observation: Observation) -> State:
        """Return the atoms that hold, as a bit vector."""


@runtime_checkable
class KnownTruth(Protocol):
    """What `evaluation` asks of a problem whose exact capability model can be enumerated."""

    def reachable_states(self) -> Sequence[State]:
        """List every state that can be reached from the initial one."""

    def intents(self) -> Sequence[Intent]:
        """List every intent that an effect of the reachable world gives rise to."""

    def outcomes(self, state: State, intent: Intent) -> Mapping[State, float]:
        """Return the exact distribution over the state in which an attempt ends."""
