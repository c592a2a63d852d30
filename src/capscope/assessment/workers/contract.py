"""What a worker is: a place where one draw after another is made, on its own copy of a problem.

The loop, the journal and the models stay in one process. A worker is told what to do and returns
what happened; all randomness of a draw is seeded by its place in the run. So it does not matter
which worker makes it, nor how often it was begun before by workers that are no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from capscope.assessment.ask import Answer, DrawOrder
from capscope.errors import CapscopeError
from capscope.logic import Intent
from capscope.problem import Allowance, Problem

MakeProblem = Callable[[], Problem]
"""Makes a copy of the problem; it must be picklable to travel to another process."""
Job = Callable[[Problem], Any]
"""Anything else to be done with a copy of the problem; picklable, and so must be its result."""


class WorkerLost(Exception):  # noqa: N818 - what happened to a worker, not a mistake of somebody
    """Raised when a worker is gone, with whatever it was doing."""


class DrawTimedOut(WorkerLost):
    """Raised when a draw takes too long; the worker was ended."""


class WorkerStuck(Exception):  # noqa: N818 - as above
    """Raised when a draw takes too long in a thread, which cannot be ended."""


class Worker(Protocol):
    """A place where draws are made, one at a time."""

    def wait_until_ready(self) -> None:
        """Return when the problem is loaded; raise if that fails."""

    def draw(self, order: DrawOrder, intents: Sequence[Intent], common: Allowance) -> Answer:
        """Make one draw, paid from `common`."""

    def run(self, job: Job) -> Any:
        """Do something else with the problem."""

    def stop(self) -> None:
        """Let the draw under way end after its current attempt; it will not be recorded."""

    def close(self) -> None:
        """End the worker at once, whatever it is doing."""


class Backend(Protocol):
    """Starts workers."""

    def start(self) -> Worker:
        """Begin to start a worker; do not wait until it is ready."""

    def close(self) -> None:
        """Release what the workers had in common."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How many workers make draws, and where; nothing of it changes what is observed."""

    number: int = 1
    backend: str = "threads"
    """`threads`, `processes` or `ray`."""
    address: str | None = None
    """The address of a Ray cluster; None starts one on this machine."""
    draw_timeout: float | None = None
    """Seconds after which a draw has failed to end; None waits for ever."""
    ends_program: bool = False
    """Whether this program is ended if code in it does not return when the time is over.

    A command line may do that; a library must not."""

    def __post_init__(self) -> None:
        if self.number < 1:
            raise CapscopeError(f"--workers must be at least 1, not {self.number}")
        if self.draw_timeout is not None and not self.draw_timeout > 0:
            raise CapscopeError(f"--draw-timeout must be above 0, not {self.draw_timeout:g}")
        if self.address is not None and self.backend != "ray":
            raise CapscopeError(f"--address is for --backend ray, not {self.backend}")
