import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope import Budget, assess
from capscope.record.journal import Draw, Execution
from capscope.record.settings import Settings
from capscope.strategy import strategies
from capscope.world import Ending
from capscope.world.attempt import Attempt
from capscope_experiments.accounting import Shares, shares_of, where_executions_went
from capscope_experiments.saved_runs import read_queries


def draw_of(*executions, ending=Ending.STOPPED):
    """Make a draw of (state before, capability, state after)."""
    made = [Execution(c, Attempt((before, after), 1, ending)) for before, c, after in executions]
    return Draw(tuple(made), len(made), 0, 0.0, ending is Ending.CUT)


def total(shares):
    return shares.new + shares.repeat + shares.walk + shares.nowhere


# Three draws walk through (0, 0), known before, and try (1, 1); one ends in 2 and tries (2, 0) too.
WALKED = [
    draw_of((0, 0, 1), (1, 1, 2), (2, 0, 3)),
    draw_of((0, 0, 1), (1, 1, 1)),
    draw_of((0, 0, 1), (1, 1, 1)),
]


def test_executions_are_sorted_by_what_they_did():
    tried = {(0, 0)}
    assert shares_of(WALKED, tried) == Shares(new=2, repeat=2, walk=3)
    assert tried == {(0, 0), (1, 1), (2, 0)}


def test_a_query_that_found_nothing_new_led_nowhere():
    tried = {(0, 0), (1, 1), (2, 0)}
    assert shares_of(WALKED, tried) == Shares(nowhere=7)
    assert shares_of([draw_of()], tried) == Shares()


def test_a_pair_met_twice_in_one_draw_is_a_repeat():
    assert shares_of([draw_of((0, 0, 0), (0, 0, 0))], set()) == Shares(new=1, repeat=1)


def test_an_attempt_that_a_budget_cut_short_tries_nothing():
    tried = set()
    assert shares_of([draw_of((0, 0, 1), ending=Ending.CUT)], tried) == Shares(nowhere=1)
    assert tried == set()


def test_shares_add_up_one_by_one():
    assert Shares(1, 2, 3, 4) + Shares(10, 20, 30, 40) == Shares(11, 22, 33, 44)


EXECUTIONS = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3))
DRAWS = st.lists(EXECUTIONS, max_size=5).map(lambda executions: draw_of(*executions))


@given(st.lists(st.lists(DRAWS, max_size=4), max_size=6))
def test_every_execution_is_counted_once_and_every_pair_is_new_once(queries):
    tried = set()
    shares = sum((shares_of(draws, tried) for draws in queries), Shares())
    executed = [
        (attempt.trajectory[0], c)
        for draws in queries
        for draw in draws
        for c, attempt in draw.executions
    ]
    assert total(shares) == len(executed)
    assert shares.new == len(set(executed))
    assert tried == set(executed)


def test_a_run_is_summed_over_its_queries():
    # Nothing new in the last query; (0, 0) is new in the first, so there is no walk at all.
    assert where_executions_went([WALKED[:1], WALKED, WALKED]) == Shares(new=3, nowhere=14)
    assert where_executions_went([]) == Shares()


@pytest.mark.parametrize("strategy", strategies())
@pytest.mark.parametrize("limit", [{"executions": 100}, {"simulator_steps": 301}])
def test_the_shares_of_a_run_add_up_to_its_executions_and_new_ones_to_its_pairs(
    strategy, limit, tmp_path
):
    settings = Settings(draws=3, iterations=20, depth=5)
    result = assess(
        "blocksworld", strategy=strategy, settings=settings, budget=Budget(**limit),
        run=tmp_path / "run",
    )  # fmt: skip
    shares = where_executions_went(read_queries(tmp_path / "run"))
    assert total(shares) == result.usage.executions
    assert shares.new == result.graph.pairs_tried
