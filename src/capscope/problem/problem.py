"""A problem, and the protocols of its parts: a simulator, an agent and an abstraction.

Observations and actions can be anything that the simulator and the agent agree on. A snapshot is
bytes, so that it can be stored and restored in another process.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from threading import Event, Lock
from typing import Any, NamedTuple, Protocol, runtime_checkable

from capscope.errors import install_hint
from capscope.logic import Intent, State, Vocabulary

Observation = Any
Action = Any
Snapshot = bytes


class InvalidAction(Exception):  # noqa: N818 - it names what the agent did, not a defect
    """Raise from `Simulator.step` for an action that is not available: the attempt ends."""


class AllowanceSpent(Exception):  # noqa: N818 - an event, not a mistake
    """Raise instead of making a call if nothing is left: the attempt ends as cut."""


class Allowance:
    """What an agent may spend on a language model during a draw; safe to share among threads.

    Tokens count for every answer; cost is what was paid, so a cached answer costs nothing. Counting
    after an attempt would be too late: one attempt may make twenty calls. So an attempt pays for
    each call, and ends as cut when nothing is left. Parallel draws each have an allowance within a
    common one, so that together they stay within the budget.
    """

    def __init__(
        self,
        tokens: float = inf,
        cost: float = inf,
        *,
        within: Allowance | None = None,
        stopped: Event | None = None,
    ) -> None:
        self.most_tokens = tokens
        self.most_cost = cost
        self.tokens = 0
        self.cost = 0.0
        self.stopped: Event = stopped or (within.stopped if within else Event())
        """Set when the run ends early: answers are no longer needed."""
        self._within = within
        self._lock = Lock()

    @property
    def limits_cost(self) -> bool:
        """Whether money is limited."""
        return self.most_cost < inf

    @property
    def spent(self) -> bool:
        """Whether no tokens or no money are left."""
        return self.tokens >= self.most_tokens or self.cost >= self.most_cost

    def check_tokens(self) -> None:
        """Raise `AllowanceSpent` if no tokens are left."""
        if self.tokens >= self.most_tokens:
            raise AllowanceSpent("no tokens are left")
        if self._within is not None:
            self._within.check_tokens()

    def check_cost(self) -> None:
        """Raise `AllowanceSpent` if no money is left."""
        if self.cost >= self.most_cost:
            raise AllowanceSpent("no money is left")
        if self._within is not None:
            self._within.check_cost()

    def pay(self, tokens: int, cost: float) -> None:
        """Count the tokens and cost of an answer."""
        with self._lock:
            self.tokens += tokens
            self.cost += cost
        if self._within is not None:
            self._within.pay(tokens, cost)


class Simulator(Protocol):
    """A simulator that can go back to any position it was in before."""

    def reset(self, seed: int) -> Observation:
        """Go to an initial position.

        Args:
            seed: Seeds all later randomness.

        Returns:
            The first observation.
        """

    def step(self, action: Action) -> Observation:
        """Take one simulator step.

        Args:
            action: What the agent chose; raise `InvalidAction` if it is not available.

        Returns:
            The next observation.
        """

    def actions(self) -> Sequence[Action]:
        """List the actions available now; an empty list means that the episode has ended."""

    def snapshot(self) -> Snapshot:
        """Describe the current position in bytes that another process can restore."""

    def restore(self, snapshot: Snapshot, seed: int) -> Observation:
        """Go back to a position.

        Args:
            snapshot: What `snapshot` returned, perhaps in another process.
            seed: Seeds all later randomness.

        Returns:
            The observation there.
        """


@runtime_checkable
class DrawsPictures(Protocol):
    """A simulator that can draw its positions."""

    def picture(self, snapshot: Snapshot) -> bytes:
        """Draw a position as a PNG; the simulator stays where it is."""


@runtime_checkable
class NamesPositions(Protocol):
    """An optional protocol for simulators whose snapshots differ for the same position."""

    def position_name(self) -> bytes | None:
        """Identify the current position, however it was reached; None if that is not possible."""


class Inspection(NamedTuple):
    """The internal state of a simulator: readable names, and values as text."""

    parts: Mapping[str, str]
    """Values that a restore must restore."""
    others: Mapping[str, str]
    """Values that may differ; they are named if a check fails without an evident reason."""
    generators: Mapping[str, str]
    """States of the random generators; a restore seeds each of them."""


@runtime_checkable
class InspectableSimulator(Protocol):
    """A simulator that shows `capscope check` what symbolic states do not."""

    def last_step(self) -> Mapping[str, str]:
        """Return what the last step returned: the observation and whatever came with it."""

    def inspect(self) -> Inspection:
        """Return all internal values that can be compared."""

    def remedy(self, randomness: bool) -> str:
        """Return how to fix a restore that does not restore, or does not reseed (`randomness`)."""


@runtime_checkable
class HasNotes(Protocol):
    """A simulator, agent or abstraction with notes for the user."""

    def notes(self) -> Sequence[str]:
        """Return a sentence for each thing that is correct but may surprise."""


class Attempting(Protocol):
    """An agent during one attempt; its `transcript` (text), if any, is stored."""

    def act(self, observation: Observation) -> Action | None:
        """Choose the next action.

        Args:
            observation: What the simulator returned last.

        Returns:
            The action; None if the agent stops.
        """


@runtime_checkable
class EndableAttempt(Protocol):
    """An attempt that must know when it is over, because it holds something."""

    def end(self) -> None:
        """Release everything; called once, however the attempt ended."""


@runtime_checkable
class SpendsAllowance(Protocol):
    """An attempt that uses a language model; its `llm_tokens`, if any, are counted."""

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every call from now on; raise `AllowanceSpent` if nothing is left."""


class Agent(Protocol):
    """The agent under assessment, a black box."""

    def begin(self, intent: Intent, seed: int) -> Attempting:
        """Start an attempt, without memory of earlier attempts.

        Args:
            intent: What the agent is asked to achieve.
            seed: Seeds all randomness of the attempt.

        Returns:
            The agent during this attempt.
        """


class Abstraction(Protocol):
    """Maps an observation to a symbolic state."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary whose bits the states use."""

    def __call__(self, observation: Observation) -> State:
        """Return the atoms that hold."""


@runtime_checkable
class KnownTruth(Protocol):
    """The exact capability model of a problem, for evaluation."""

    def reachable_states(self) -> Sequence[State]:
        """List every state that is reachable from the initial one."""

    def intents(self) -> Sequence[Intent]:
        """List every intent that corresponds to an effect in a reachable state."""

    def outcomes(self, state: State, intent: Intent) -> Mapping[State, float]:
        """Return the exact distribution over the state in which an attempt ends."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long an attempt may take, and how the next query's start is chosen.

    `temporal_length` is Θ: an attempt ends after this many changes of the symbolic state (None: no
    limit). `horizon` is the maximum number of simulator steps of an attempt. `reset_every` replaces
    the sampling of start states: each query starts where the last one ended, and the simulator is
    reset after this many executions.
    """

    temporal_length: int | None = 1
    horizon: int = 100
    reset_every: int | None = None

    def __post_init__(self) -> None:
        for name in ("temporal_length", "horizon", "reset_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")


@dataclass(frozen=True)
class Problem:
    """Everything needed to assess an agent."""

    name: str
    simulator: Simulator
    agent: Agent
    abstraction: Abstraction
    limits: Limits = field(default_factory=Limits)
    truth: KnownTruth | None = None
    description: str = ""
    fingerprint: str = ""
    """Identifies the files or code of the problem; a run is resumed only with the same ones."""
    hazards: Sequence[str] = ()
    """What the agent must not bring about, like `gone(*)`; runs search for it (see `Hazard`)."""
    intents: Sequence[str] = ()
    """What to ask the agent for; empty means that runs discover it."""
    expected: Sequence[str] = ()
    """What belongs to an intent and is not a side effect, like `deleted(*): not archived(*)`."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the abstraction."""
        return self.abstraction.vocabulary


def picture_of(problem: Problem) -> Callable[[Snapshot], bytes] | None:
    """Return the function that draws positions of a problem.

    Args:
        problem: The problem.

    Returns:
        A function from a snapshot to a PNG; None if the simulator cannot draw.
    """
    simulator = problem.simulator
    return simulator.picture if isinstance(simulator, DrawsPictures) else None


@dataclass(frozen=True)
class RegisteredProblem:
    """A problem that can be asked for by name."""

    name: str
    summary: str
    load: Callable[..., Problem]
    """Makes the problem; options are given by name."""
    extra: str | None = None
    """The extra to install, and the modules that show that it is."""
    modules: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    distribution: str = "capscope"
    """The distribution that has the extra."""
    files: Mapping[str, Callable[[], Container[str]]] = field(default_factory=dict)
    """The options that name a file, each with the values that are names and not paths."""

    @property
    def installed(self) -> bool:
        """Whether the packages it needs can be imported."""
        return all(importlib.util.find_spec(module) is not None for module in self.modules)

    @property
    def install_hint(self) -> str:
        """The command that installs what it needs."""
        return install_hint(self.extra or "all", self.distribution)
