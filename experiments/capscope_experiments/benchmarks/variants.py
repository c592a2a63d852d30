"""Variants of built-in problems, for `PATH/variants.py:FUNCTION`."""

import random
import runpy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from capscope import Intent, Limits, Predicate, Problem, Vocabulary
from capscope.logic import State
from capscope.problem import Agent, Attempting, KnownTruth
from capscope.problems import load_problem

_SLIP = 0.1


def slipping() -> Problem:
    """First responders with an agent that does nothing in one attempt of ten."""
    problem = load_problem("first-responders")
    assert problem.truth is not None
    return replace(
        problem,
        name="slipping-first-responders",
        agent=SlippingAgent(problem.agent),
        truth=SlippingTruth(problem.truth),
    )


_WHOLE_EPISODES = Limits(temporal_length=None)


def frozen_lake() -> Problem:
    """The FrozenLake of the examples; an attempt is a whole episode."""
    problem: Problem = _lake().problem()
    return replace(problem, limits=_WHOLE_EPISODES)


def frozen_lake_rows() -> Problem:
    """The same with predicates for rows only: success depends on the cell, which they omit."""
    from capscope.adapters.gymnasium import gymnasium_problem

    lake = _lake()
    rows = {f"r{row}": "row" for row in range(4)}
    predicates = [Predicate("in", ("row",)), Predicate("drowned"), Predicate("there")]
    cells = {"in(r0)": "r0c2", "in(r2)": "r2c2", "in(r3)": "r3c2", "there()": "r3c3"}

    def label(cell: int) -> list[str]:
        return [
            f"in(r{cell // 4})",
            *(atom for atom in lake.label(cell) if atom == "drowned"),
            *(["there"] if cell == 15 else []),
        ]

    def policy(cell: int, intent: Intent) -> int:
        return int(lake.plan(Intent.parse(f"at({cells[str(intent)]})"))[cell])

    return gymnasium_problem(
        lambda: lake.gym.make("FrozenLake-v1", is_slippery=True),
        Vocabulary(predicates, rows),
        label,
        policy,
        limits=_WHOLE_EPISODES,
    )


def _lake() -> Any:
    path = Path(__file__).parents[3] / "examples" / "frozen_lake.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


class NoAttempt:
    """An attempt that stops at once."""

    def act(self, observation: object) -> None:
        """Stop."""


@dataclass(frozen=True)
class SlippingAgent:
    """An agent that sometimes does nothing."""

    agent: Agent

    def begin(self, intent: Intent, seed: int) -> Attempting:
        """Begin an attempt, or do nothing."""
        rng = random.Random(seed)
        return NoAttempt() if rng.random() < _SLIP else self.agent.begin(intent, seed)


@dataclass(frozen=True)
class SlippingTruth:
    """The truth about a slipping agent."""

    truth: KnownTruth

    def reachable_states(self) -> Sequence[State]:
        """Return the same as without slipping."""
        return self.truth.reachable_states()

    def intents(self) -> Sequence[Intent]:
        """Return the same as without slipping."""
        return self.truth.intents()

    def outcomes(self, state: State, intent: Intent) -> Mapping[State, float]:
        """Mix the outcomes of the agent with no change."""
        mixed = {
            after: share * (1 - _SLIP)
            for after, share in self.truth.outcomes(state, intent).items()
        }
        mixed[state] = mixed.get(state, 0.0) + _SLIP
        return mixed
