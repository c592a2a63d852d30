import functools
from collections import Counter

import pytest

from capscope.adapters.pddl import (
    IdentityAbstraction,
    PddlSimulator,
    PddlTruth,
    load_task,
    shipped_files,
)
from capscope.adapters.pddl.lao_star import LaoStarAgent
from capscope.logic import Intent
from capscope.problem import KnownTruth, Limits, Position, Problem
from capscope.problem.attempt import pursue


@functools.cache
def problem(name, limits):
    task = load_task(*shipped_files(name))
    agent = LaoStarAgent(task.operators, task.vocabulary)
    truth = PddlTruth(task, agent.choose, limits)
    parts = (PddlSimulator(task), agent, IdentityAbstraction(task.vocabulary))
    return Problem(name, *parts, limits, truth)


LIMITS = [Limits(), Limits(temporal_length=2), Limits(temporal_length=None), Limits(None, 3)]
CASES = [
    ("tireworld", "vehicle-at(l-1-3)"),
    ("tireworld", "not not-flattire()"),
    ("first-responders", "victim-dying(z1)"),
    ("first-responders", "nfire(l1)"),
    ("probabilistic-elevators", "underground()"),
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize(("name", "intent"), CASES)
def test_sampled_attempts_approach_the_exact_distribution(name, intent, limits):
    asked, draws = Intent.parse(intent), 1500
    subject = problem(name, limits)
    states = subject.truth.reachable_states()
    for state in (states[0], states[len(states) // 2]):
        snapshot = state.to_bytes((len(subject.vocabulary.atoms) + 7) // 8, "little")
        seen = Counter()
        for seed in range(draws):
            start = Position(subject.simulator.restore(snapshot, seed), state)
            seen[pursue(subject, asked, start, seed)[0].trajectory[-1]] += 1
        exact = subject.truth.outcomes(state, asked)
        assert sum(exact.values()) == pytest.approx(1.0)
        assert seen.keys() <= exact.keys()
        for after, probability in exact.items():
            assert seen[after] / draws == pytest.approx(probability, abs=0.05)


def test_the_truth_of_a_task_is_a_known_truth():
    assert isinstance(problem("blocksworld", Limits()).truth, KnownTruth)


def test_an_intent_that_holds_ends_where_it_begins():
    truth = problem("blocksworld", Limits()).truth
    start = truth.reachable_states()[0]
    assert truth.outcomes(start, Intent.parse("clear(a)")) == {start: 1.0}


def test_an_attempt_without_actions_ends_where_it_begins():
    # The vehicle has a flat tire where there is no spare.
    subject = problem("tireworld", Limits())
    applicable = subject.simulator.task.applicable
    stuck = next(s for s in subject.truth.reachable_states() if not applicable(s))
    assert subject.truth.outcomes(stuck, Intent.parse("vehicle-at(l-1-1)")) == {stuck: 1.0}


def test_a_truth_is_the_same_each_time_it_is_computed():
    problem.cache_clear()
    first = problem("first-responders", Limits()).truth
    states, intents = first.reachable_states(), first.intents()
    problem.cache_clear()
    second = problem("first-responders", Limits()).truth
    assert second.reachable_states() == states
    assert second.intents() == intents
