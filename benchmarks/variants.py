"""Variants of built-in problems, named as `benchmarks/variants.py:FUNCTION`."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from capscope import Intent, Problem
from capscope.problems import load_problem
from capscope.symbolic import State
from capscope.world import Agent, Attempting, KnownTruth

_SLIP = 0.1


def sampled_starts() -> Problem:
    """First responders without the resets: queries start at states seen before."""
    problem = load_problem("first-responders")
    return replace(problem, limits=replace(problem.limits, reset_every=None))


def slipping() -> Problem:
    """First responders whose agent does nothing in one attempt of ten."""
    problem = load_problem("first-responders")
    assert problem.truth is not None
    return replace(
        problem,
        name="slipping-first-responders",
        agent=Slipping(problem.agent),
        truth=SlippingTruth(problem.truth),
    )


class Still:
    """An attempt that ends before it begins."""

    def act(self, observation: object) -> None:
        """Stop."""


@dataclass(frozen=True)
class Slipping:
    """An agent that sometimes does nothing."""

    agent: Agent

    def begin(self, intent: Intent, seed: int) -> Attempting:
        """Begin as the agent would, or not at all."""
        rng = random.Random(seed)
        return Still() if rng.random() < _SLIP else self.agent.begin(intent, seed)


@dataclass(frozen=True)
class SlippingTruth:
    """The truth of a slipping agent."""

    truth: KnownTruth

    def reachable_states(self) -> Sequence[State]:
        """As without slipping."""
        return self.truth.reachable_states()

    def intents(self) -> Sequence[Intent]:
        """As without slipping."""
        return self.truth.intents()

    def outcomes(self, state: State, intent: Intent) -> Mapping[State, float]:
        """Mix what the agent does with nothing."""
        mixed = {
            after: share * (1 - _SLIP)
            for after, share in self.truth.outcomes(state, intent).items()
        }
        mixed[state] = mixed.get(state, 0.0) + _SLIP
        return mixed
