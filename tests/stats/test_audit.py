"""The audit's bet: its value under the null, its error rate over rounds, and what it says."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.logic import from_json, to_json
from capscope.stats import mean_bounds
from capscope.stats.audit import (
    AuditResult,
    error_of_round,
    log_wealth,
    step_weights,
    upper_bound,
)
from capscope.stats.beta import log_mean_exp

RATE, CONFIDENCE = 0.01, 0.95
ERROR = 1 - CONFIDENCE


def audit(samples, surprises, rate=RATE, number=1, length=5, probability=0.0, added_to=0):
    executions = samples * max(length, 1)
    return AuditResult(
        rate, CONFIDENCE, length, number, 40, samples, surprises, executions, probability, added_to
    )


def boundaries(rate, number, most):
    """Return the samples from which each number of surprises passes, and is given up."""
    passes = [
        next((n for n in range(s, most) if audit(n, s, rate, number).passed), most)
        for s in range(12)
    ]
    keeps = [
        next((n for n in range(s, most) if not audit(n, s, rate, number).abandoned), most)
        for s in range(12)
    ]
    return np.array(passes), np.array(keeps)


def simulated_round(surprised, rate, number):
    """Return which audits pass; one row of booleans for each, one column for each sample."""
    most = surprised.shape[1]
    passes, keeps = boundaries(rate, number, most + 1)
    surprises = np.minimum(np.cumsum(surprised, axis=1), 11)
    samples = np.arange(1, most + 1)
    passed = samples >= passes[surprises]
    given_up = samples < keeps[surprises]
    first = [
        np.where(ended.any(axis=1), ended.argmax(axis=1), most) for ended in (passed, given_up)
    ]
    return first[0] < np.minimum(first[1], most)


# The bet.


def naive_wealth(outcomes, rate):
    """Bet sample by sample, two bettors with capital of their own."""
    capital = [2 / 3, 1 / 3]
    for surprised in outcomes:
        for i, q in enumerate((0.0, 0.25 * rate)):
            capital[i] *= q / rate if surprised else (1 - q) / (1 - rate)
    return sum(capital)


@given(st.lists(st.booleans(), max_size=60), st.floats(0.001, 0.5))
def test_wealth_is_what_bettors_have_who_bet_sample_by_sample(outcomes, rate):
    wealth = math.exp(log_wealth(len(outcomes), sum(outcomes), rate))
    assert wealth == pytest.approx(naive_wealth(outcomes, rate))


@pytest.mark.parametrize("rate", [0.01, 0.1])
@pytest.mark.parametrize("excess", [1.0, 1.2, 3.0])
@pytest.mark.parametrize("samples", [1, 20, 300])
def test_if_the_rate_is_not_lower_the_mean_of_wealth_is_at_most_one(rate, excess, samples):
    true_rate = excess * rate
    mean = math.fsum(
        math.exp(
            log_wealth(samples, s, rate)
            + math.lgamma(samples + 1) - math.lgamma(s + 1) - math.lgamma(samples - s + 1)
            + s * math.log(true_rate) + (samples - s) * math.log1p(-true_rate)
        )
        for s in range(samples + 1)
    )  # fmt: skip
    assert mean <= 1 + 1e-9
    if excess == 1.0:
        assert mean == pytest.approx(1)


def test_the_mean_of_wealth_is_at_most_one_wherever_a_bettor_stops():
    rng = np.random.default_rng(0)
    surprises = np.cumsum(rng.random((4000, 200)) < 0.1, axis=1)
    samples = np.arange(1, 201)
    table = np.array([[log_wealth(n, min(s, n), 0.1) for s in range(60)] for n in samples])
    wealth = np.exp(table[samples - 1, surprises])
    # Stop at the first doubling; without one, at the end.
    doubled = wealth >= 2.0
    stop = np.where(doubled.any(axis=1), doubled.argmax(axis=1), 199)
    stopped = wealth[np.arange(4000), stop]
    assert doubled.any(axis=1).mean() > 0.1
    assert stopped.mean() <= 1 + 3 * stopped.std() / math.sqrt(4000)


def test_a_surprise_never_helps_and_a_foreseen_execution_always_does():
    for samples, surprises in itertools.product((0, 1, 50, 400), (0, 1, 5)):
        if surprises <= samples:
            now = log_wealth(samples, surprises, RATE)
            assert log_wealth(samples + 1, surprises, RATE) > now
            assert log_wealth(samples + 1, surprises + 1, RATE) < now


# Rounds.


def test_the_rounds_together_may_spend_the_error_rate():
    errors = [error_of_round(number, ERROR) for number in range(1, 60)]
    assert sum(errors) == pytest.approx(ERROR)
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("excess", [1.0, 1.2, 1.5])
def test_few_wrong_models_pass_one_of_several_rounds(excess):
    rng = np.random.default_rng(round(10 * excess))
    audits, most = 2000, 1200
    passed = np.zeros(audits, dtype=bool)
    for number in range(1, 6):
        surprised = rng.random((audits, most)) < excess * RATE
        passed |= simulated_round(surprised, RATE, number)
    assert passed.mean() <= ERROR + 2 * math.sqrt(ERROR * (1 - ERROR) / audits)
    if excess >= 1.2:
        assert passed.mean() <= ERROR


def test_a_right_model_passes_the_first_round_after_a_few_hundred_executions():
    rng = np.random.default_rng(0)
    assert simulated_round(rng.random((500, 1500)) < 0.0, RATE, 1).all()
    assert simulated_round(rng.random((500, 1500)) < 0.1 * RATE, RATE, 1).mean() > 0.7
    assert audit(400, 0).passed


def test_surprises_that_come_together_do_not_raise_the_error_rate():
    # A share of the sequences goes where everything surprises, from its third execution on.
    rng = np.random.default_rng(3)
    audits, most, length = 2000, 1500, 5
    scored = rng.choice(length, (audits, most), p=step_weights(length))
    late = sum(step_weights(length)[2:])
    share = 1.2 * RATE / late
    lost = rng.random((audits, most)) < share
    surprised = lost & (scored >= 2)
    assert surprised.mean() == pytest.approx(1.2 * RATE, rel=0.05)
    assert simulated_round(surprised, RATE, 1).mean() <= ERROR


def test_scoring_all_executions_of_a_sequence_would_raise_it():
    # Why one execution of each sequence is scored: sequences of 30, 1.2 % of them all surprises.
    rng = np.random.default_rng(3)
    lost = rng.random((2000, 50)) < 1.2 * RATE
    assert simulated_round(np.repeat(lost, 30, axis=1), RATE, 1).mean() > 4 * ERROR


@pytest.mark.parametrize("length", [1, 2, 5, 9])
def test_each_execution_of_random_sequences_is_equally_likely_to_be_scored(length):
    executions = [step for last in range(1, length + 1) for step in range(last)]
    expected = [executions.count(step) / len(executions) for step in range(length)]
    assert step_weights(length) == pytest.approx(expected)


# The bound.


def test_the_bound_falls_with_each_foreseen_execution_and_rises_with_each_surprise():
    for samples, surprises in itertools.product((10, 100, 1000), (0, 1, 4)):
        bound = upper_bound(samples, surprises, ERROR)
        assert upper_bound(samples + 50, surprises, ERROR) < bound
        assert upper_bound(samples, surprises + 1, ERROR) > bound
        assert upper_bound(samples, surprises, ERROR / 10) > bound
        assert bound > surprises / samples


def test_nothing_is_ruled_out_before_anything_was_seen():
    assert upper_bound(0, 0, ERROR) == 1.0
    assert upper_bound(3, 3, ERROR) == 1.0


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("number", [1, 3])
def test_an_audit_is_passed_as_soon_as_its_bound_is_at_most_the_rate(rate, number):
    for surprises in range(4):
        for samples in range(surprises, 2000, 23):
            result = audit(samples, surprises, rate, number)
            if abs(result.bound - rate) > 1e-9:
                assert result.passed == (result.bound < rate), (samples, surprises)
            assert not (result.passed and result.abandoned)


@pytest.mark.parametrize("true_rate", [0.02, 0.3])
def test_the_bound_covers_the_rate_at_whatever_moment_it_is_asked_for(true_rate):
    rng = np.random.default_rng(4)
    surprises = np.cumsum(rng.random((1500, 300)) < true_rate, axis=1)
    samples = np.arange(1, 301)
    highest = surprises.max() + 1
    missed = np.array(
        [[log_wealth(n, min(s, n), true_rate) >= -math.log(ERROR) for s in range(highest)]
         for n in samples]
    )  # fmt: skip
    ever = missed[samples - 1, surprises].any(axis=1)
    assert ever.mean() <= ERROR
    # That is what the bound says: a rate is excluded when its own bet is won.
    assert (upper_bound(300, 0, ERROR) < true_rate) == missed[299, 0]


# What is said.


def test_a_passed_audit_states_the_rate_that_was_asked_for():
    result = audit(500, 0, probability=490.0)
    assert result.statements == (
        "with 0.95 confidence, at most 1 % of executions in sequences of 1 to 5 random "
        "capabilities from the beginning end in an outcome that the model held impossible "
        "(audit of 2,500 executions, 500 scored, 0 surprises)",
        "with 0.95 confidence, the mean probability that the model gives to what happens in them "
        "is at least 0.95 (0.98 in the audit)",
    )
    assert result.statement == "; ".join(result.statements)
    assert 0.95 <= result.sharpness_bound < 0.96


def test_an_audit_that_was_cut_states_how_far_it_carries():
    result = audit(100, 2, length=0)
    assert not result.passed
    assert result.statements[0] == (
        f"with 0.95 confidence, at most {100 * result.bound:.3g} % of executions of random "
        "capabilities in random seen states end in an outcome that the model held impossible "
        "(audit of 100 executions, 100 scored, 2 surprises)"
    )
    assert RATE < result.bound < 0.1


@pytest.mark.parametrize(("number", "pairs"), [(1, "1 pair"), (2, "2 pairs")])
def test_it_is_said_which_model_was_audited_if_the_audit_added_outcomes(number, pairs):
    assert audit(500, 0, added_to=number).statements[2] == (
        f"the audited model is that before the audit, which added outcomes to {pairs}"
    )
    assert len(audit(500, 0).statements) == 2


# The second bet.


def naive_log_score(values, bound, q):
    """Bet value by value that the mean is q: no outcome of a bet is better than its mean."""
    return math.fsum(
        math.log(x * q / bound + (1 - x) * (1 - q) / (1 - bound)) for x in values
    )  # fmt: skip


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.05, 0.95))
def test_the_bet_on_sharpness_never_has_more_than_one_value_by_value(values, bound):
    draws, total = len(values), math.fsum(values)
    grid = np.sin(np.linspace(math.asin(math.sqrt(bound)), math.pi / 2 - 1e-6, 2000)) ** 2
    by_value = [naive_log_score(values, bound, q) for q in grid.tolist()]
    # Jeffreys' prior is uniform in the angle.
    assert mean_bounds.log_score([(total, draws)], bound) <= log_mean_exp(by_value) + 0.05


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("certain or impossible", [0.0, 1.0]),
        ("a fair coin", [0.5]),
        ("vacuous", [1 / 8]),
        ("sharp", [1.0, 1.0, 1.0, 0.9, 0.1]),
    ],
)
def test_the_bound_on_sharpness_covers_the_mean_at_whatever_moment_it_is_asked_for(name, values):
    rng = np.random.default_rng(6)
    true, audits = np.mean(values), 400
    drawn = rng.choice(values, (audits, 200))
    asked = range(5, 201, 15)
    missed = [
        any(
            audit(n, 0, probability=float(row[:n].sum())).sharpness_bound > true + 1e-9
            for n in asked
        )
        for row in drawn
    ]
    assert np.mean(missed) <= ERROR, name


def test_the_bound_on_sharpness_tells_a_vacuous_model_from_a_sharp_one():
    vacuous, sharp = (audit(356, 0, probability=356 * p) for p in (1 / 8, 1.0))
    assert 0.05 < vacuous.sharpness_bound < vacuous.sharpness == 1 / 8
    assert 0.98 < sharp.sharpness_bound < sharp.sharpness == 1.0
    assert audit(356, 0).sharpness_bound == audit(0, 0).sharpness_bound == 0.0


def test_an_audit_that_has_seen_nothing_states_nothing():
    assert audit(0, 0).statement == "the audit had just begun (0 scored executions)"


def test_an_audit_is_stored_and_read_back():
    for result in (audit(500, 0, probability=9.5), audit(100, 3, number=2, length=0, added_to=1)):
        stored = json.loads(json.dumps(to_json(result)))
        assert from_json(AuditResult, stored) == result
        assert stored["passed"] is result.passed
        assert stored["bound"] == result.bound
        assert stored["statement"] == result.statement
        assert stored["sharpness_bound"] == result.sharpness_bound
