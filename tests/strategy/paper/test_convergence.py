"""Theorem 1, statistically: with ξ > 0 the learned model converges to the truth."""

import random
import statistics
from collections import Counter

import pytest

from capscope import Settings
from capscope.journal.draws import Start
from capscope.journal.execution_table import Transition
from capscope.journal.settings import PAPER
from capscope.model import ExtremeModels, StateGraph
from capscope.strategy.base import DrawEnd, QueryResult, StrategyContext
from capscope.strategy.paper.mcqs_e import mcqs_exact
from capscope.strategy.paper.mcqs_s import mcqs_sampled
from capscope.strategy.paper.repeated import RepeatedStrategy
from support.small_journals import at
from support.tiny_models import ALL, INTENTS, WORDS

# Where a rule leads from a state, each flip as often as it is listed. No two have the same effects,
# so that states with the same effects have the same odds: the extreme models pool these states.
RULES = ((0,), (1,), (2,), (0, 0, 1), (2, 2, 2, 4), (0, 4))
SMALL = Settings(draws=5, depth=4, iterations=30, xi=1e-3)


def start_in(state):
    return Start(state, at(bytes([state])))


class Positions:
    """One position for each state."""

    initial = (start_in(0),)

    def choose(self, state, rng):
        return start_in(state)


def ruled_world(rng):
    return {
        (state, c): [state ^ flip for flip in rng.choice(RULES)]
        for state in ALL
        for c in range(len(INTENTS))
    }


def made(task, world, rng):
    """Make a draw; return its transitions."""
    walk, state, transitions = task.policy.walk(), task.start.state, []
    while (capability := walk(state)) is not None:
        transitions.append(Transition(state, capability, rng.choice(world[state, capability])))
        state = transitions[-1].after
    return transitions


def distances(search, world, seed, stages, settings):
    """Return the distance to the truth after each of these numbers of queries."""
    graph, rng, found = StateGraph(WORDS, INTENTS), random.Random(seed), []
    graph.node(0)
    context = StrategyContext(graph, settings, seed, Positions())
    strategy = RepeatedStrategy(context, search, settings.depth)
    for number in range(stages[-1]):
        choice = strategy.next(number)
        draws = [made(task, world, rng) for task in choice.tasks]
        learned = graph.update(Counter(t for draw in draws for t in draw))
        ends = [
            DrawEnd(draw[-1].after, at(bytes([draw[-1].after])), 0, len(draw))
            for draw in draws
            if draw
        ]
        record = choice.record
        strategy.observe(QueryResult(record.informative, record.distance, [], learned, ends))
        if number + 1 in stages:
            found.append(variational_distance(graph, world))
    return found


def variational_distance(graph, world):
    """Return the mean of |Pr_h − Pr| over all transitions that can be reached from 0."""
    reached, stack, gaps = {0}, [0], []
    while stack:
        state = stack.pop()
        for c, intent in enumerate(INTENTS):
            ends = Counter(world[state, c])
            prediction = ExtremeModels(graph).pessimistic.predict(state, intent)
            total = ends.total()
            gaps += [abs(prediction.get(end, 0.0) - n / total) for end, n in ends.items()]
            stack += ends.keys() - reached
            reached |= ends.keys()
    return statistics.fmean(gaps)


@pytest.mark.parametrize("departures", [{}, PAPER], ids=["default", "paper"])
@pytest.mark.parametrize("search", [mcqs_sampled, mcqs_exact])
def test_theorem_1_with_a_bonus_the_model_converges_to_the_truth(search, departures):
    settings = Settings(**{**SMALL.changed(), **departures})
    stages = (2, 20, 200)
    found = [
        distances(search, ruled_world(random.Random(seed)), seed, stages, settings)
        for seed in range(3)
    ]
    first, second, third = (statistics.fmean(column) for column in zip(*found, strict=True))
    assert first > 2 * second
    assert second > 2 * third
    assert third < 0.02
