"""What an audit estimates, exactly: how often a known agent surprises a frozen model, and how much
probability the model gives to what happens.
"""

from collections.abc import Callable, Iterator, Sequence
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

    def surprised(state: State, intent: Intent, end: State) -> float:
        return not model.foresees(state, index[intent], end)

    return _mean(surprised, outcomes, intents, initial, length)


def mean_probability(
    model: LearnedModel, outcomes: Outcomes, intents: Sequence[Intent], initial: State, length: int
) -> float:
    """Return the mean probability that a model gives to how a scored execution ends."""

    def given(state: State, intent: Intent, end: State) -> float:
        return model.predict(state, intent).get(end, 0.0)

    return _mean(given, outcomes, intents, initial, length)


def _mean(
    value: Callable[[State, Intent, State], float],
    outcomes: Outcomes,
    intents: Sequence[Intent],
    initial: State,
    length: int,
) -> float:
    """Return the mean of a function of a scored execution."""
    known: dict[tuple[State, Intent], float] = {}
    mean = 0.0
    for state, intent, weight in scored_pairs(outcomes, intents, initial, length):
        if (state, intent) not in known:
            ends = outcomes(state, intent).items()
            known[state, intent] = sum(odds * value(state, intent, end) for end, odds in ends)
        mean += weight * known[state, intent]
    return mean
