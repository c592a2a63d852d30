"""Executions that go on until something changes, in a world where the rates by round are known."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from capscope.logic import Intent, Literal, Predicate, Vocabulary
from capscope.model import LearnedModel, StateGraph
from capscope.model.part_search import find_parts
from capscope.model.parts import Trials

MACHINES = ("m1", "m2", "m3")
WORDS = Vocabulary(
    [Predicate("running", ("machine",)), Predicate("worn", ("machine",)), Predicate("calm")],
    dict.fromkeys(MACHINES, "machine"),
)
RUNNING = [WORDS.bit_of(f"running({m})") for m in MACHINES]
WORN = [WORDS.bit_of(f"worn({m})") for m in MACHINES]
CALM = WORDS.bit_of("calm()")
REQUESTS = [f"not running({m})" for m in MACHINES]
FAILS = {True: 0.4, False: 0.1}


def one_round(state):
    """Return how often each set of machines fails in one round."""
    ends = Counter({state: 1.0})
    for runs, worn in zip(RUNNING, WORN, strict=True):
        if state & runs:
            p, before = FAILS[bool(state & worn)], ends
            ends = Counter()
            for end, share in before.items():
                ends[end & ~runs] += share * p
                ends[end] += share * (1.0 - p)
    return ends


def waiting(state, number):
    """Wait until something fails, unless the machine has failed already or all is calm."""
    if state & CALM or not state & RUNNING[number]:
        return {state: 1.0}
    ends = dict(one_round(state))
    none = ends.pop(state)
    return {end: share / (1.0 - none) for end, share in ends.items()}


def once(state, number):
    """Wait for one round."""
    return {state: 1.0} if state & CALM or not state & RUNNING[number] else dict(one_round(state))


def seen(outcomes, executions, seed=0):
    rng = random.Random(seed)
    graph = StateGraph(WORDS, [Intent.parse(name) for name in REQUESTS])
    for _ in range(executions):
        state, number = rng.getrandbits(len(WORDS.atoms)), rng.randrange(len(REQUESTS))
        ends = outcomes(state, number)
        (after,) = rng.choices(list(ends), list(ends.values()))
        graph.update({(state, number, after): 1})
    return graph


def apart(model, outcomes):
    """Return the total variation over the pairs with several outcomes, on average."""
    found = []
    for state, (number, name) in itertools.product(range(128), enumerate(REQUESTS)):
        truth = outcomes(state, number)
        if len(truth) > 1:
            predicted = model.predict(state, Intent.parse(name))
            ends = {*truth, *predicted}
            found.append(sum(abs(truth.get(e, 0) - predicted.get(e, 0)) for e in ends) / 2)
    return sum(found) / len(found)


def table_apart(graph, outcomes):
    """Return the same of the plain table; a pair without executions is as wrong as can be."""
    found = []
    for state, number in itertools.product(range(128), range(len(REQUESTS))):
        truth = outcomes(state, number)
        if len(truth) > 1:
            pair = graph.pair(state, number)
            counts = {} if pair is None else {e.apply(state): n for e, n in pair.counts.items()}
            drawn = sum(counts.values()) or 1
            ends = {*truth, *counts}
            found.append(sum(abs(truth.get(e, 0) - counts.get(e, 0) / drawn) for e in ends) / 2)
    return sum(found) / len(found)


@pytest.fixture(scope="module")
def waited():
    return seen(waiting, 900)


def test_the_rates_by_round_are_those_of_the_world(waited):
    (part,) = find_parts(waited).parts
    assert part.literals == (Literal.parse("not running(?z)"),)
    assert part.idle
    found = sorted(rate.probability for rate in part.rates if rate.hits > 10)
    assert found == pytest.approx(sorted(FAILS.values()), abs=0.06)


def test_executions_that_go_on_are_predicted_nearer_than_by_the_table(waited):
    model = LearnedModel.fitted(waited)
    assert apart(model, waiting) < 0.08
    assert apart(model, waiting) < table_apart(waited, waiting) / 2


def test_an_execution_that_goes_on_is_not_held_to_end_without_a_change(waited):
    model = LearnedModel.fitted(waited)
    for state, (number, name) in itertools.product(range(128), enumerate(REQUESTS)):
        stays = model.predict(state, Intent.parse(name)).get(state, 0.0)
        assert stays == pytest.approx(waiting(state, number).get(state, 0.0), abs=0.05)


def test_executions_of_one_round_are_not_held_to_go_on():
    graph = seen(once, 900)
    assert not any(part.idle for part in find_parts(graph).parts)
    assert apart(LearnedModel.fitted(graph), once) < 0.08


def test_rates_by_round_explain_the_executions_at_least_as_well_as_any_of_a_grid():
    rng = np.random.default_rng(0)
    drawn = rng.random((4000, 2)) < (0.1, 0.3)
    drawn = drawn[drawn.any(axis=1)]
    of = np.repeat(np.arange(len(drawn)), 2)
    ones = np.ones(len(drawn), dtype=np.int64)
    trials = Trials(of, drawn.ravel().astype(np.int64), ones, ones > 0)
    rates, _ = trials.rates(np.tile([0, 1], len(drawn)))

    def likelihood(p, q):
        each = np.where(drawn, np.log((p, q)), np.log((1 - p, 1 - q))).sum()
        return each - len(drawn) * np.log(1 - (1 - p) * (1 - q))

    grid = np.linspace(0.02, 0.6, 30)
    assert likelihood(*rates) > max(likelihood(p, q) for p in grid for q in grid) - 0.1
    assert rates == pytest.approx((0.1, 0.3), abs=0.05)
