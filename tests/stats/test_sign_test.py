import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from capscope.stats.stratified_test import _BIASES, _WEIGHTS, highest_log_evidence, log_evidence


def naive_score(leads):
    """Bet toss by toss, with one purse for each bias, and return the total after each toss."""
    purses = [float(weight) for weight in _WEIGHTS]
    totals = [sum(purses)]
    for lead in leads:
        purses = [p * (1 + b * lead) for p, b in zip(purses, _BIASES, strict=True)]
        totals.append(sum(purses))
    return totals


@given(st.lists(st.sampled_from([1, 0, -1]), max_size=80))
def test_the_score_is_what_betting_toss_by_toss_makes_of_one(leads):
    totals = naive_score(leads)
    assert math.exp(log_evidence(leads.count(1), leads.count(-1))) == pytest.approx(totals[-1])
    assert math.exp(highest_log_evidence(leads)) == pytest.approx(max(totals))


def test_the_weights_of_the_biases_add_up_to_one():
    assert _WEIGHTS.sum() == pytest.approx(1)


@pytest.mark.parametrize("draws", [1, 5, 40, 400])
def test_the_score_of_a_fair_coin_is_one_in_the_mean(draws):
    mean = sum(
        math.exp(log_evidence(wins, draws - wins) - draws * math.log(2)) * special.comb(draws, wins)
        for wins in range(draws + 1)
    )
    assert mean == pytest.approx(1)


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("stop", ["at a failure", "at a success", "when ahead"])
def test_the_score_of_identical_agents_is_at_most_one_in_the_mean_whatever_stops_them(rate, stop):
    """All outcomes of up to four draws a side, each side stopping by its own answers."""

    def seen(answers):
        for i in range(1, len(answers) + 1):
            lead = 2 * sum(answers[:i]) - i
            if {"at a failure": not answers[i - 1], "at a success": answers[i - 1]}.get(
                stop, lead > 0
            ):
                return answers[:i]
        return answers

    mean = 0.0
    for a, b in itertools.product(itertools.product([0, 1], repeat=4), repeat=2):
        hits = sum(a) + sum(b)
        leads = [x - y for x, y in zip(seen(a), seen(b), strict=False)]
        mean += rate**hits * (1 - rate) ** (8 - hits) * naive_score(leads)[-1]
    assert mean == pytest.approx(1)


def test_a_fair_coin_rarely_reaches_the_threshold_however_long_it_is_watched():
    rng = np.random.default_rng(1)
    tosses = rng.choice([1, -1], size=(1000, 300))
    reached = sum(highest_log_evidence(leads) >= math.log(10) for leads in tosses)
    assert 20 < reached < 100  # at most one in ten, and not much less than that


def climb(rng, rate, floors, executions):
    """Climb a floor after success, fall one after failure; return the answers of each floor."""
    floor, answers = rng.randrange(floors), []
    for time in range(executions):
        achieved = rng.random() < rate
        answers.append((floor, time, achieved))
        floor = min(floor + 1, floors - 1) if achieved else max(floor - 1, 0)
    by_floor = {}
    for floor, time, achieved in answers:
        by_floor.setdefault(floor, []).append((time, achieved))
    return by_floor


def leads_in_order(mine, theirs):
    """Match the i-th answer of a floor with the i-th; both have to be there."""
    pairs = [
        (max(one[0], other[0]), one[1] - other[1])
        for floor in mine.keys() & theirs.keys()
        for one, other in zip(mine[floor], theirs[floor], strict=False)
    ]
    return [lead for _, lead in sorted(pairs)]


@pytest.mark.parametrize(("floors", "executions"), [(2, 60), (30, 150)])
def test_walks_that_success_and_failure_send_to_different_states_keep_the_error_rate(
    floors, executions
):
    """The case in which the proof does not hold for several states."""
    rng = random.Random(5)
    reached = 0
    for _ in range(400):
        mine, theirs = (climb(rng, 0.5, floors, executions) for _ in range(2))
        reached += highest_log_evidence(leads_in_order(mine, theirs)) >= math.log(20)
    assert reached <= 20


def test_a_loss_of_fifteen_points_shows_better_than_in_a_mixture_over_all_coins():
    """Of 250 draws, 0.9 against 0.75 wins 56 and loses 19 on average."""
    grid = (np.arange(10_000) + 0.5) / 10_000 * math.pi / 4 + math.pi / 4
    theta = np.sin(grid) ** 2  # the half of Jeffreys' distribution that favors the winner
    jeffreys = np.mean(np.exp(56 * np.log(2 * theta) + 19 * np.log(2 * (1 - theta))))
    assert log_evidence(56, 19) > math.log(jeffreys) + 0.5


def test_a_hundred_thousand_comparisons_are_no_problem():
    assert log_evidence(50_000, 50_000) < 0
    assert log_evidence(51_000, 49_000) > 15
    assert log_evidence(100_000, 0) == pytest.approx(100_000 * math.log(2), rel=0.03)
    assert log_evidence(0, 100_000) < -1000
