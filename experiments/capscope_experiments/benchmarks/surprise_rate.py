"""The exact rate that an audit estimates: how often does a known agent surprise a frozen model?"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from capscope import Intent
from capscope.logic import State
from capscope.model import LearnedModel
from capscope.stats.audit import step_weights
from capscope_experiments.benchmarks.tabulated_world import Outcomes


class WeighedPair(NamedTuple):
    """A pair, and how likely the scored execution of an audit is one of it."""

    state: State
    intent: Intent
    weight: float


def scored_pairs(
    outcomes: Outcomes, intents: Sequence[Intent], initial: State, length: int
) -> Iterator[WeighedPair]:
    """Yield the pairs that an audit scores; a pair may come once for each step of a sequence."""
    now = {initial: 1.0}
    for step in step_weights(length):
        after: dict[State, float] = {}
        for state, mass in now.items():
            for intent in intents:
                share = mass / len(intents)
                yield WeighedPair(state, intent, step * share)
                for end, odds in outcomes(state, intent).items():
                    after[end] = after.get(end, 0.0) + share * odds
        now = after


def surprise_rate(
    model: LearnedModel, outcomes: Outcomes, intents: Sequence[Intent], initial: State, length: int
) -> float:
    """Return the probability that a scored execution ends as the model held impossible."""
    index = model.graph.index
    foreseen: dict[tuple[State, Intent], float] = {}
    rate = 0.0
    for state, intent, weight in scored_pairs(outcomes, intents, initial, length):
        pair = state, intent
        if pair not in foreseen:
            foreseen[pair] = sum(
                odds
                for end, odds in outcomes(state, intent).items()
                if model.foresees(state, index[intent], end)
            )
        rate += weight * (1.0 - foreseen[pair])
    return rate
