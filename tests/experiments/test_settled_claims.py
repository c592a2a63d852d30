"""The claim of a settled run in small samples of the six families, and how it is judged."""

import random
from dataclasses import replace

import pytest

from capscope import Budget, assess
from capscope_experiments.benchmarks import settled_claims
from capscope_experiments.benchmarks.settled_claims import (
    FAMILIES,
    FIRST,
    SETTINGS,
    Outcome,
    judge,
    problem_of,
    ring,
    simulate,
    summary,
)


def assessed(table, **chosen):
    settings = replace(SETTINGS, epsilon=0.5, delta=0.5, **chosen)
    return assess(problem_of("table", table), strategy="exhaustive", settings=settings)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_settled_run_of_each_family_claims_what_is_true(name):
    outcome = simulate(name, seed=1, settings=replace(SETTINGS, precision=0.1))
    assert outcome.settled
    assert not outcome.wrong


@pytest.mark.parametrize("name", FAMILIES)
def test_the_distributions_of_a_family_are_complete_and_lead_to_its_states(name):
    for seed in range(5):
        table = FAMILIES[name](random.Random(seed))
        states = {state for state, _ in table}
        assert 30 <= len(states) <= 100
        for outcomes in table.values():
            assert sum(outcomes.values()) == pytest.approx(1.0)
            assert states.issuperset(outcomes)


def test_an_outcome_that_was_never_seen_is_missed_only_if_it_is_above_epsilon():
    table = ring()
    run = assessed(table)
    for q, missed in ((0.4, False), (0.6, True)):
        (after,) = ring()[0, FIRST]
        table[0, FIRST] = {after: 1 - q, after ^ 0b00100: q}
        assert judge(run, table).missed is missed


def test_a_rule_is_judged_by_the_average_of_its_states():
    table = ring()
    for state in (0, 2):
        table[state, FIRST] = {state: 0.5, state ^ 1: 0.5}
    run = assessed(table, precision=0.1, min_draws=30)
    even = judge(run, table)
    assert not (even.off or even.state_off)
    table[0, FIRST], table[2, FIRST] = {0: 0.9, 1: 0.1}, {2: 0.1, 3: 0.9}
    mixed = judge(run, table)
    assert mixed.state_off
    assert not mixed.off
    table[2, FIRST] = {2: 0.9, 3: 0.1}
    assert judge(run, table).off


def test_a_run_that_its_budget_ended_is_not_wrong():
    outcome = simulate("rare outcomes in few pairs", 0, budget=Budget(executions=50))
    assert not outcome.settled
    assert not outcome.wrong


def test_a_family_is_summed_up_in_a_line(monkeypatch, capsys):
    right = Outcome(True, missed=False, off=False, state_off=True, executions=100)
    runs = [right, replace(right, missed=True), replace(right, settled=False, off=True)]
    assert summary("worlds", runs) == (
        "worlds: 2 of 3 runs settled, 1 wrong (1 missed an outcome, 0 have a rule that is off), "
        "100 executions; in 2 a single state is off"
    )
    monkeypatch.setattr(settled_claims, "simulate", lambda name, seed: runs[seed])
    settled_claims.main(["3", "corridors"])
    assert capsys.readouterr().out.startswith("corridors: 2 of 3 runs settled, 1 wrong")
