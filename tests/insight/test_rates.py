"""Rates against the same computed by plain loops and simulation."""

import random
import statistics

import numpy as np
import pytest

from capscope import Budget, Settings, assess
from capscope.insight.rates import achievement_rates
from capscope.insight.repeated_requests import PATIENCE, outcomes_tried, persistences
from capscope.journal.run_meta import InitialPosition, InitialPositions
from capscope.logic import Intent, Vocabulary
from capscope.model import LearnedModel, StateGraph
from capscope.report.text import rates_text
from support.quirky_worlds import HOUSE, problem
from support.tiny_run_data import execution_table

WORDS = Vocabulary.of_atoms("pqr")
P = Intent.parse("p")
RING = (0b000, 0b010, 0b110, 0b100)
"""States without p, in a circle: asking for p moves on, and succeeds from the last."""


def asked(rows):
    """Return graph and table of executions ⟨before, after⟩ of one capability."""
    table = execution_table([(0, before, after) for before, after in rows])
    graph = StateGraph(WORDS, [P])
    graph.update(table.transitions())
    return graph, table


def rates_of(rows, initial=()):
    graph, table = asked(rows)
    each = tuple(InitialPosition(str(i), state, n) for i, (state, n) in enumerate(initial))
    initial_positions = InitialPositions(each=each)
    return achievement_rates(
        graph, table, initial_positions, persistences(LearnedModel.fitted(graph))
    )[P]


def test_a_planner_that_walks_three_steps_gets_there_though_rarely_at_once():
    walk = [(0b000, 0b010), (0b010, 0b110), (0b110, 0b100), (0b100, 0b101)]
    rates = rates_of(walk * 50)
    assert (rates.at_once.estimate, rates.gets_there.estimate) == (
        pytest.approx(0.25, abs=0.01),
        1.0,
    )
    assert rates.at_once.states == rates.gets_there.states == 4
    assert 0.1 < rates.at_once.low < 0.25 < rates.at_once.high < 0.4
    assert 0.6 < rates.gets_there.low < 0.95 and rates.gets_there.high == 1.0
    assert rates_text(rates, 1).startswith("gets there: 1.00")
    assert rates_text(rates, None).startswith("achieved: 0.25")


def test_what_was_never_tried_on_the_way_widens_the_interval_to_both_sides():
    known = rates_of([(0b000, 0b001)] * 200)
    assert known.gets_there.low > 0.9
    # Half of the ways from one state are open; the other two states lead to each other.
    unknown = rates_of([(0b000, 0b001), (0b000, 0b110), (0b010, 0b100), (0b100, 0b010)] * 100)
    assert unknown.gets_there.estimate == pytest.approx(0.5 / 2.5)
    assert unknown.gets_there.low < 0.5 / 3
    assert unknown.gets_there.high == pytest.approx(1.0)
    lost = rates_of([(0b000, 0b010)] * 100)
    assert (lost.gets_there.estimate, lost.gets_there.low, lost.gets_there.high) == (None, 0.0, 1.0)


def test_one_stops_asking_after_three_executions_that_change_nothing():
    rates = rates_of([(0b000, 0b001), (0b000, 0b000)] * 100)
    assert PATIENCE == 3
    assert rates.gets_there.estimate == pytest.approx(1 - 0.5**3)
    assert rates.gets_there.high < 0.97
    stuck = rates_of([(0b000, 0b000)] * 200)
    assert stuck.gets_there.estimate == 0.0
    assert 0 < stuck.gets_there.high < 0.15


def test_going_in_circles_is_not_getting_there():
    rates = rates_of([(0b000, 0b010), (0b010, 0b000)] * 100)
    assert rates.gets_there.estimate == 0.0


def test_where_resets_lead_to_several_states_their_rate_is_weighted_by_resets():
    rows = [(0b000, 0b001), (0b010, 0b010)] * 100
    rates = rates_of(rows, [(0b000, 3), (0b010, 1)])
    assert rates.gets_there.estimate == pytest.approx(1.0)  # the other state is a sink
    assert rates.from_resets.estimate == pytest.approx(0.75)
    assert rates.from_resets.states == 4
    assert rates_of(rows, [(0b000, 3)]).from_resets is None
    untried = rates_of(rows, [(0b000, 1), (0b100, 1)]).from_resets
    assert untried.low < 0.5 and untried.high == pytest.approx(1.0)


def random_rows(rng, draws=120):
    shares = {}
    for state in RING:
        ends = rng.sample([*RING, state | 1, 0b111], 3)
        shares[state] = ends, [rng.random() for _ in ends]
    begins = [rng.choice(RING[:3]) for _ in range(draws)]
    return [(s, rng.choices(*shares[s])[0]) for s in begins]


def naive_values(found, graph, probabilities, unknown):
    """Follow the chain with dictionaries, given the probabilities that were sampled."""
    values = dict.fromkeys(found.states, unknown)
    for _ in range(60):
        new = {}
        for state in found.states:
            left = 0.0
            for _ in range(PATIENCE):
                own = probabilities[state]
                total = unknown * (1 - sum(own.values()))
                for effect, share in own.items():
                    after = effect.apply(state)
                    known = 1.0 if after & 1 else values.get(after, unknown)
                    total += share * (left if after == state else known)
                left = total
            new[state] = left
        values = new
    return values


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_is_that_of_the_sampled_probabilities_followed_by_hand(seed):
    graph, _ = asked(random_rows(random.Random(seed)))
    found = persistences(LearnedModel.fitted(graph))[P]
    weights = {state: 1 + i for i, state in enumerate(found.states)}
    means = []
    for sample in found.sampler.sampled():
        places = iter(sample.tolist())
        own = {
            state: {effect: next(places) for effect in effects}
            for state, effects in zip(found.states, found.effects, strict=True)
        }
        assert all(sum(shares.values()) <= 1 + 1e-9 for shares in own.values())
        means.append(
            [
                sum(weights[s] * v for s, v in naive_values(found, graph, own, unknown).items())
                / sum(weights.values())
                for unknown in (0.0, 1.0)
            ]
        )
    low, high = zip(*means, strict=True)
    expected = np.quantile(low, 0.025), np.quantile(high, 0.975)
    assert found.interval(weights) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_the_rate_is_that_of_asking_again_and_again(seed):
    rng = random.Random(seed)
    graph, _ = asked(random_rows(rng))
    found = persistences(LearnedModel.fitted(graph))[P]
    effects = {
        one.state: (list(one.shares), list(one.shares.values()))
        for one in outcomes_tried(LearnedModel.fitted(graph), P)
    }

    def gets_there(state):
        unchanged = 0
        for _ in range(500):
            if state & 1 or state not in effects or unchanged == PATIENCE:
                return bool(state & 1)
            (effect,) = rng.choices(*effects[state])
            after = effect.apply(state)
            unchanged = unchanged + 1 if after == state else 0
            state = after
        return False

    for state, share in zip(found.states, found.share, strict=True):
        simulated = statistics.fmean(gets_there(state) for _ in range(3000))
        assert share == pytest.approx(simulated, abs=0.04)


def test_the_intervals_hold_if_draws_stop_by_what_they_show():
    """Each state is drawn until it succeeded twice; a step forward succeeds with 0.7."""
    rng = random.Random(2)
    once = 0.7 / 3
    steps = [sum(0.3**j * 0.7 for j in range(PATIENCE))] * 3
    truth = statistics.fmean([steps[0] * steps[1] * steps[2], steps[1] * steps[2], steps[2]])
    outside = 0
    for _ in range(60):
        rows = []
        for i, state in enumerate(RING[:3]):
            forward = RING[i + 1] if i < 2 else 0b111
            moved = 0
            while moved < 2 and len(rows) < 400:
                after = forward if rng.random() < 0.7 else state
                moved += after != state
                rows.append((state, after))
        rates = rates_of(rows)
        holds = rates.at_once.low <= once <= rates.at_once.high
        outside += not (holds and rates.gets_there.low <= truth <= rates.gets_there.high)
    assert outside <= 3


def test_a_run_has_rates_and_shows_them():
    run = assess(problem(HOUSE, None), budget=Budget(executions=300), settings=Settings())
    rates = run.rates
    assert rates and set(rates) <= set(run.capabilities)
    for intent, own in rates.items():
        for rate in (own.at_once, own.gets_there):
            assert 0 <= rate.low <= rate.estimate <= rate.high <= 1
        assert own.gets_there.estimate >= own.at_once.estimate - 1e-9
        assert rates_text(own, run.identity.temporal_length)[:20] in run.show(str(intent))
