"""What a journal says about its run, as typed values.

The identity is what must not change between start and resume: another problem, vocabulary or
setting would mix two experiments. Budgets are not part of it: they may be raised.

What was spent and what may be spent are in the same six currencies. Tokens count every answer of a
language model, cached or not, so a repeated run ends at the same place. Cost is what was really
paid: a repeated run costs nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from math import inf
from typing import Any, ClassVar

from capscope.errors import CapscopeError
from capscope.journal.experience import Experience
from capscope.journal.settings import Settings
from capscope.logic import STATE, State, Vocabulary, from_json, to_json
from capscope.problem import Allowance
from capscope.stats.audit import AuditResult


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent."""

    queries: int = 0
    executions: int = 0
    simulator_steps: int = 0
    llm_tokens: int = 0
    seconds: float = 0.0
    llm_cost: float = 0.0
    """In the currency of the prices."""
    replay_steps: int = 0
    """Simulator steps of replays, which are none of executions; a budget of steps has both."""

    def __add__(self, other: Usage) -> Usage:
        names = (*CURRENCIES, "replay_steps")
        return Usage(*(getattr(self, name) + getattr(other, name) for name in names))

    def spent(self, currency: str) -> Any:
        """Return what counts against a budget, as a number of its own type."""
        value = getattr(self, currency)
        return value + self.replay_steps if currency == "simulator_steps" else value


CURRENCIES = tuple(one.name for one in fields(Usage) if one.name != "replay_steps")


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent; None means no limit."""

    queries: int | None = None
    executions: int | None = None
    simulator_steps: int | None = None
    llm_tokens: int | None = None
    seconds: float | None = None
    llm_cost: float | None = None
    limits: tuple[tuple[str, float], ...] = field(init=False, repr=False, compare=False)
    """The currencies that are limited, each with its limit."""

    def __post_init__(self) -> None:
        limits = tuple((n, left) for n in CURRENCIES if (left := getattr(self, n)) is not None)
        object.__setattr__(self, "limits", limits)
        for name, allowed in limits:
            if not allowed >= 0:
                raise CapscopeError(f"a budget of {allowed} {name} cannot be spent")

    def spent_by(self, usage: Usage) -> str | None:
        """Return the first currency that is used up; None if something is left of each."""
        for name, allowed in self.limits:
            if usage.spent(name) >= allowed:
                return name
        return None

    def left_after(self, usage: Usage) -> Budget:
        """Return what is left after some usage."""
        left = {name: max(allowed - usage.spent(name), 0) for name, allowed in self.limits}
        return Budget(**left)

    def allowance(self, within: Allowance | None = None) -> Allowance:
        """Return what may be spent on a language model."""
        tokens = inf if self.llm_tokens is None else self.llm_tokens
        cost = inf if self.llm_cost is None else self.llm_cost
        return Allowance(tokens, cost, within=within)


class StopKind(StrEnum):
    """The kinds of reasons for which a run ends."""

    NO_NEWS = "no news"
    """A number of queries in a row taught nothing new."""
    SETTLED = "nothing left to settle"
    """The evidence supports the statement that was asked for."""
    AUDITED = "audit passed"
    """An audit supports the statement that was asked for."""
    BUDGET = "budget"
    """A budget was spent; `detail` names its currency."""
    OTHER = "other"
    """A reason of a strategy's own; `detail` says it."""


@dataclass(frozen=True, slots=True)
class StopReason:
    """A reason with its data.

    >>> str(StopReason.budget("executions"))
    'budget of executions spent'
    """

    kind: StopKind
    detail: str = ""

    @classmethod
    def budget(cls, currency: str) -> StopReason:
        """Return that a budget was spent."""
        return cls(StopKind.BUDGET, currency)

    def __str__(self) -> str:
        if self.kind is StopKind.BUDGET:
            return f"budget of {self.detail} spent"
        return self.detail if self.kind is StopKind.OTHER else str(self.kind)


@dataclass(frozen=True)
class RunIdentity:
    """What a run was started with."""

    source: str
    """How the problem is found again: a name, `file.py:factory`, or PPDDL paths."""
    fingerprint: str
    """The fingerprint of the problem's files or code."""
    vocabulary: str
    """The fingerprint of the vocabulary."""
    strategy: str
    seed: int
    temporal_length: int | None = 1
    horizon: int = 100
    reset_every: int | None = None
    settings: Settings = field(default_factory=Settings)
    started_from: str = ""
    """The name of the experience of another run whose rules it started from; empty if none."""

    def differences(self, other: RunIdentity) -> Iterator[str]:
        """Describe each value in which another identity differs from this one."""
        mine, theirs = to_json(self), to_json(other)
        settings = mine.pop("settings"), theirs.pop("settings")
        pairs = [("", mine, theirs), ("setting ", *settings)]
        for prefix, old, new in pairs:
            for key, value in old.items():
                if value != new[key]:
                    name = f"{prefix}{key.replace('_', ' ')}"
                    yield f"{name} was {value!r}, now {new[key]!r}"


@dataclass(frozen=True)
class InitialPosition:
    """A position that resets lead to."""

    digest: str
    """Identifies its name, see `position_digest`."""
    state: State = field(metadata=STATE)
    resets: int
    """The number of resets that led to it."""


def position_digest(name: bytes) -> str:
    """Return a short text that identifies the name of a position; a name may be a snapshot."""
    return hashlib.sha256(name).hexdigest()[:32]


@dataclass(frozen=True)
class InitialPositions:
    """Where a run began, and whether resets lead to further positions.

    A reset that draws where it leads (a passenger's place, a layout) makes many worlds of one. What
    a run reports holds for what can be reached from where it began.
    """

    positions: int = 1
    others: bool = False
    """One more reset led to a position that is none of these."""
    states: tuple[State, ...] = field(default=(), metadata=STATE)
    """The states of these positions."""
    each: tuple[InitialPosition, ...] = ()
    """The positions themselves."""


@dataclass(frozen=True)
class RunMeta:
    """Everything that a journal says about its run besides what was observed."""

    identity: RunIdentity
    name: str
    """The name of the problem."""
    vocabulary: Vocabulary
    budget: Budget
    versions: Mapping[str, str]
    discovered: int | None = None
    """How many intents discovery found; None before it."""
    discovery_steps: int = 0
    """Simulator steps that discovery took."""
    initial_positions: InitialPositions = field(default_factory=InitialPositions)
    stopped: tuple[StopReason, Budget] | None = None
    """Why the run stopped, and the budget it had then."""
    file_digests: tuple[str, ...] = ()
    """Digests of the texts that the problem's Python file had while the run was under way."""
    audit: AuditResult | None = None
    """The audit that ended the run, or was under way when it stopped."""
    unrecorded_cost: float = 0.0
    """What was paid for draws that were interrupted before they were recorded."""
    discovery_cut: bool = False
    """Whether a budget ended discovery."""
    experience: Experience | None = None
    """What it started from: the executions of a run in another instance."""

    REQUIRED: ClassVar = ("identity", "name", "vocabulary", "budget", "versions")

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the run ended; None if it has not, or went on since with another budget."""
        if self.stopped is None or self.stopped[1] != self.budget:
            return None
        return self.stopped[0]

    @property
    def discovery_usage(self) -> Usage:
        """What was spent apart from recorded draws."""
        return Usage(simulator_steps=self.discovery_steps, llm_cost=self.unrecorded_cost)

    def require_known_atoms(self, states: Sequence[State]) -> None:
        """Raise if a state has a bit that stands for no atom of the vocabulary."""
        width = len(self.vocabulary.atoms)
        if any(state < 0 or state >> width for state in (*states, *self.initial_positions.states)):
            raise ValueError(f"a state with more than the {width} atoms of the vocabulary")

    def as_stored(self) -> dict[str, Any]:
        """Return the entries that a new journal begins with."""
        also = () if self.experience is None else ("experience",)
        return {name: getattr(self, name) for name in (*self.REQUIRED, *also)}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> RunMeta:
        """Read the entries of a journal."""
        values = {name: value for name, value in stored.items() if value}
        discovery, stopped = values.pop("discovery", None), values.pop("stopped", None)
        if discovery:
            values["discovered"] = discovery["intents"]
            values["discovery_steps"] = discovery["simulator_steps"]
            values["discovery_cut"] = discovery["cut"]
        if stopped:
            values["stopped"] = stopped["because"], stopped["budget"]
        experience = values.pop("experience", None)
        meta = from_json(
            cls,
            {
                **values,
                "name": str(stored["name"]),
                "vocabulary": Vocabulary.from_dict(stored["vocabulary"]),
                "versions": {str(name): str(one) for name, one in stored["versions"].items()},
            },
        )
        if experience:
            meta = replace(meta, experience=Experience.from_dict(experience))
        audit = meta.audit
        if audit and not (0 < audit.rate < 1 and 0 < audit.confidence < 1):
            raise ValueError(f"an audit of rate {audit.rate} with confidence {audit.confidence}")
        if meta.identity.started_from != (meta.experience.name if meta.experience else ""):
            raise ValueError("what the run started from is not what its identity names")
        return meta
