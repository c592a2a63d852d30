"""What a journal records: queries, their draws, and the executions of a draw.

An attempt is stored as JSON, `[capability, [states…], simulator_steps, ending]`, followed by
`llm_tokens` and `detail` if there are any; a draw is a list of these. States are numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from capscope.journal.usage import Usage
from capscope.logic import State
from capscope.problem.attempt import Attempt, Ending
from capscope.problem.positions import SavedPosition

ENDINGS = tuple(Ending)
"""An ending is stored as its index."""


class Execution(NamedTuple):
    """A capability that was asked for, and the attempt that followed."""

    capability: int
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Draw:
    """One of the independent executions of a query."""

    executions: tuple[Execution, ...]
    simulator_steps: int
    llm_tokens: int
    seconds: float
    cut: bool
    """A budget ran out: the draw, and with it the query, is incomplete."""
    end: SavedPosition | None = None
    """The position at the end; the journal keeps those of the latest query only."""
    llm_cost: float = 0.0
    """What was paid for it; kept apart from what happened, as times are."""

    @property
    def usage(self) -> Usage:
        """What the draw took."""
        return Usage(
            0, len(self.executions), self.simulator_steps, self.llm_tokens, self.seconds,
            self.llm_cost,
        )  # fmt: skip


class Start(NamedTuple):
    """Where a draw starts: a state and a position in it."""

    state: State
    position: SavedPosition


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """What is recorded about a query before its draws."""

    start: Start
    distance: int
    """How far the start is from where the walk began."""
    xi: float
    predicted: float
    informative: bool
    finished: bool = False
    seconds: float = 0.0
    policy: str | None = None


def encode(executions: Sequence[Execution], number: Callable[[State], int]) -> str:
    """Return the text of a draw; `number` gives the number of a state."""
    rows: list[list[Any]] = []
    for capability, attempt in executions:
        states = [number(state) for state in attempt.trajectory]
        row = [capability, states, attempt.simulator_steps, ENDINGS.index(attempt.ending)]
        if attempt.llm_tokens or attempt.detail:
            row += [attempt.llm_tokens, attempt.detail]
        rows.append(row)
    return json.dumps(rows, separators=(",", ":"))


def decode(text: str, states: Sequence[State]) -> tuple[Execution, ...]:
    """Return the executions of a draw from its text."""
    executions = []
    for capability, numbers, steps, ending, *rest in json.loads(text):
        trajectory = tuple(states[number] for number in numbers)
        executions.append(Execution(capability, Attempt(trajectory, steps, ENDINGS[ending], *rest)))
    return tuple(executions)
