"""A run of AALpy: its settings, points on the way, and its result."""

from __future__ import annotations

from dataclasses import dataclass

from capscope.errors import CapscopeError

METHODS = ("l-star-mdp", "alergia")
NOTE = (
    "AALpy cannot return to visited states: every trace begins with a reset, "
    "so it pays for the way to each state again."
)
_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """How a method of AALpy learns, and what it may spend.

    L*_MDP runs with AALpy's own defaults. Its oracle walks at random and resets with
    `reset_probability` before each step, for up to `oracle_steps` per counterexample; if these find
    none, it is not asked again. `complete_cell` (AALpy's n_c) and `resample` matter for the
    strategy "classic" only. Alergia is passive: it gets `traces` of random capabilities, each
    `shortest` to `longest` long. Fewer traces are a prefix of more, so runs that differ in their
    number make a learning curve.
    """

    method: str = "l-star-mdp"
    seed: int = 0
    max_executions: int | None = 2_000_000
    max_seconds: float | None = None
    """Checked before each execution: what AALpy computes in between is not interrupted."""
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
            raise CapscopeError(f"no method {self.method!r}; choose one of {', '.join(METHODS)}")
        if not 1 <= self.shortest <= self.longest:
            raise CapscopeError(
                f"traces of {self.shortest} to {self.longest} capabilities are impossible; "
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
    """How good a model was, and what had been spent on it."""

    executions: int
    resets: int
    simulator_steps: int
    seconds: float
    """Without the time for comparing with the truth."""
    states: int
    """Of the learned MDP."""
    mean_tv: float
    agreement: float


@dataclass(frozen=True)
class PeerRun:
    """One run of a method of AALpy."""

    problem: str
    settings: PeerSettings
    points: tuple[PeerPoint, ...]
    stopped_because: str

    @property
    def last(self) -> PeerPoint:
        """The end of the run."""
        return self.points[-1]

    def first_within(self, mean_tv: float = _EXACT) -> PeerPoint | None:
        """Return the first point as near to the truth as this; by default, the exact model."""
        return next((point for point in self.points if point.mean_tv <= mean_tv), None)
