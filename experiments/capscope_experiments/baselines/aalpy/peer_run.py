"""What a peer was told, and what came of it: settings, points on the way, the finished run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from capscope.errors import CapscopeError

METHODS = ("l-star-mdp", "alergia")
NOTE = (
    "AALpy cannot return to visited states: every trace begins with a reset, "
    "so it pays for the way to each state again."
)
_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """How a peer learns, and what it may spend.

    L*_MDP runs with AALpy's own defaults. Its oracle walks at random and begins anew with
    `reset_probability` before each step; `oracle_steps` are walked for each counterexample, and
    once they are walked in vain no more. `complete_cell` (AALpy's n_c) and `resample` count for
    the strategy "classic" alone. Alergia is passive: it is given `traces` of random capabilities,
    each `shortest` to `longest` long. Fewer traces are the first of more, so runs that differ in
    their number make a learning curve.
    """

    method: str = "l-star-mdp"
    seed: int = 0
    max_executions: int | None = 2_000_000
    max_seconds: float | None = None
    """Looked at before each execution: what AALpy computes in between is not interrupted."""
    oracle_steps: int = 5000
    reset_probability: float = 0.09
    strategy: str = "normal"
    cex_processing: str | None = None
    samples_cex_strategy: str | None = None
    target_unambiguity: float = 0.99
    complete_cell: int = 20
    resample: int = 100
    min_rounds: int = 10
    max_rounds: int = 200
    traces: int = 20_000
    shortest: int = 10
    longest: int = 30
    epsilon: float = 0.05
    """Alergia: two states are merged unless they differ by more than Hoeffding's bound for this."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise CapscopeError(f"no peer {self.method!r}; choose one of {', '.join(METHODS)}")
        if not 1 <= self.shortest <= self.longest:
            raise CapscopeError(
                f"traces of {self.shortest} to {self.longest} capabilities cannot be made; "
                "give 1 <= shortest <= longest"
            )
        if not 1 <= self.min_rounds <= self.max_rounds:
            raise CapscopeError(
                f"min_rounds is {self.min_rounds} and max_rounds {self.max_rounds}; "
                "give 1 <= min_rounds <= max_rounds"
            )
        for name in ("max_executions", "traces", "oracle_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise CapscopeError(f"{name} must be at least 1, not {value}")


@dataclass(frozen=True, slots=True)
class PeerPoint:
    """How good a peer's model was, and what had been spent on it."""

    executions: int
    resets: int
    simulator_steps: int
    seconds: float
    """Without the time that comparing with the truth took."""
    states: int
    """Of the learned MDP."""
    mean_tv: float
    agreement: float


@dataclass(frozen=True)
class PeerRun:
    """One run of a peer; its numbers are those of its last point."""

    problem: str
    settings: PeerSettings
    points: tuple[PeerPoint, ...]
    stopped_because: str

    @property
    def method(self) -> str:
        """The peer's name."""
        return self.settings.method

    @property
    def seed(self) -> int:
        """Where all chance of the run came from."""
        return self.settings.seed

    @property
    def last(self) -> PeerPoint:
        """Where the run ended."""
        return self.points[-1]

    @property
    def executions(self) -> int:
        """How many capabilities the agent was asked for."""
        return self.last.executions

    @property
    def resets(self) -> int:
        """How often the world was put back to its beginning."""
        return self.last.resets

    @property
    def simulator_steps(self) -> int:
        """The simulator steps of all executions."""
        return self.last.simulator_steps

    @property
    def seconds(self) -> float:
        """How long the run took."""
        return self.last.seconds

    @property
    def states(self) -> int:
        """The states of the learned MDP."""
        return self.last.states

    @property
    def mean_tv(self) -> float:
        """Mean total variation distance to the truth over all reachable pairs."""
        return self.last.mean_tv

    @property
    def agreement(self) -> float:
        """Model agreement: 1 − VD(h, h★)."""
        return self.last.agreement

    def first_within(self, mean_tv: float = _EXACT) -> PeerPoint | None:
        """Return the first point as near to the truth as this; by default, the exact model."""
        return next((point for point in self.points if point.mean_tv <= mean_tv), None)

    def as_dict(self) -> dict[str, Any]:
        """Return the run as JSON-ready values, the numbers at its end spelled out."""
        return {"method": self.method, "seed": self.seed, **asdict(self.last), **asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PeerRun:
        """Read a run back from what `as_dict` wrote."""
        return cls(
            values["problem"],
            PeerSettings(**values["settings"]),
            tuple(PeerPoint(**point) for point in values["points"]),
            values["stopped_because"],
        )
