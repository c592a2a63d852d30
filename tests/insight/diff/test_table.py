import statistics

import pytest

from capscope.errors import CapscopeError
from capscope.insight.diff import compare_data, table_of
from capscope.logic import Vocabulary, to_json
from support.tiny_models import INTENTS
from support.tiny_run_data import drawn, run_data, tried

STATES = (0b000, 0b010, 0b100, 0b110)


def version(share, seed, states=STATES):
    """A run that asks for p in some states, and for q in one."""
    rows = [r for s in states for r in drawn(0, s, s | 1, s, share, 60, seed * 10 + s)]
    return run_data([*rows, *tried(1, 0, [2] * 20)], seed=seed)


def row(table, name="p()"):
    (found,) = (row for row in table.rows if str(row.capability) == name)
    return found


def kinds(differences):
    return [str(one.change) for one in differences]


def test_each_run_is_compared_with_the_one_before_and_the_last_with_the_first():
    table = table_of([version(0.95, 1), version(0.6, 2), version(0.95, 3)])
    p = row(table)
    assert [kinds(change) for change in p.changes] == [[], ["less reliable"], ["more reliable"]]
    assert p.overall == ()
    assert not table.overall.losses
    assert row(table, "q()").rates[0].estimate == 1.0


def test_a_loss_in_steps_too_small_to_show_is_one_of_the_last_run_against_the_first():
    runs = [version(share, seed) for seed, share in enumerate((0.95, 0.9, 0.86, 0.8, 0.75))]
    p = row(table_of(runs))
    assert not any(p.changes)
    assert kinds(p.overall) == ["less reliable"]


def test_all_comparisons_share_one_error_rate():
    runs = [version(0.9, seed) for seed in range(4)]
    table = table_of(runs, error_rate=0.08)
    compared = [*table.steps, table.overall]
    assert [comparison.error_rate for comparison in compared] == [0.02] * 4
    assert table.steps[1] == compare_data(runs[1], runs[2], error_rate=0.02)
    assert table.overall == compare_data(runs[0], runs[3], error_rate=0.02)


def test_rates_are_means_over_the_states_that_all_runs_share():
    """The naive way: filter and average, state by state."""
    runs = [version(0.9, 1), version(0.5, 2, STATES[1:]), version(0.7, 3, STATES[:3])]
    p = row(table_of(runs))
    assert p.states == 2
    for run, rate in zip(runs, p.rates, strict=True):
        made, means = run.executions, []
        for state in STATES[1:3]:
            ends = [
                made.states[after] & 1
                for capability, before, after in zip(
                    made.capability, made.before, made.after, strict=True
                )
                if capability == 0 and made.states[before] == state
            ]
            means.append(statistics.fmean(ends))
        assert rate.estimate == pytest.approx(statistics.fmean(means), abs=0.01)
        assert rate.low < rate.estimate < rate.high
        assert rate.executions == 120


def test_a_run_that_never_asked_for_a_capability_has_no_rate():
    only_p = [r for s in STATES for r in drawn(0, s, s | 1, s, 0.9, 20, s)]
    lacking = run_data(only_p, intents=INTENTS[:1])
    table = table_of([version(0.9, 1), lacking, version(0.9, 3)])
    first, none, last = row(table, "q()").rates
    assert none is None and first.executions == last.executions == 20
    assert row(table).rates[1] is not None


def test_states_are_compared_by_the_atoms_that_all_runs_have():
    other = run_data(tried(0, 0b1000, [0b1001] * 9), Vocabulary.of_atoms("pqrs"))
    one = run_data(tried(0, 0, [1] * 9))
    p = row(table_of([one, other, one]))
    assert p.states == 1
    assert [rate.hits for rate in p.rates] == [9, 9, 9]


def everywhere_q(share, seed):
    return [r for s in (0b000, 0b001) for r in drawn(1, s, s | 2, s, share, 60, seed * 10 + s)]


def test_rows_that_changed_come_first():
    def swapped(share, seed):
        return run_data(everywhere_q(share, seed), intents=INTENTS)

    table = table_of([swapped(0.95, 1), swapped(0.3, 2), swapped(0.3, 3)])
    assert str(table.rows[0].capability) == "q()"
    table = table_of([version(0.95, 1), version(0.95, 2), version(0.95, 3)])
    assert [row.capability for row in table.rows] == list(INTENTS)


def test_two_runs_are_no_table():
    with pytest.raises(CapscopeError, match="at least three runs, not 2"):
        table_of([version(0.9, 1), version(0.9, 2)])


def test_the_json_has_a_row_for_each_capability_and_all_comparisons():
    found = to_json(table_of([version(0.95, 1), version(0.3, 2), version(0.95, 3)]))
    assert [run["seed"] for run in found["runs"]] == [1, 2, 3]
    p = found["rows"][0]
    assert p["changes"] == [[], ["less reliable"], ["more reliable"]]
    assert len(p["rates"]) == 3 and p["rates"][0]["low"] < 0.95
    assert len(found["steps"]) == 2
    assert found["overall"]["differences"] == []
