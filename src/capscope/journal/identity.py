"""What a journal says about its run, as typed values.

The identity is what must not change between start and resume: another problem, vocabulary or
setting would mix two experiments. Budgets are not part of it: they may be raised.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from capscope.journal.settings import Settings
from capscope.journal.stop_reason import StopReason
from capscope.journal.usage import Budget, Usage
from capscope.logic import STATE, State, Vocabulary, from_json, to_json
from capscope.stats.audit import AuditResult


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

    REQUIRED: ClassVar = frozenset({"identity", "name", "vocabulary", "budget", "versions"})

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
        return {
            "identity": to_json(self.identity),
            "name": self.name,
            "vocabulary": self.vocabulary.as_dict(),
            "budget": to_json(self.budget),
            "versions": dict(self.versions),
        }

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
        meta = from_json(
            cls,
            {
                **values,
                "name": str(stored["name"]),
                "vocabulary": Vocabulary.from_dict(stored["vocabulary"]),
                "versions": {str(name): str(one) for name, one in stored["versions"].items()},
            },
        )
        audit = meta.audit
        if audit and not (0 < audit.rate < 1 and 0 < audit.confidence < 1):
            raise ValueError(f"an audit of rate {audit.rate} with confidence {audit.confidence}")
        return meta
