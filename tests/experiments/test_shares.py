import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope import Budget, assess
from capscope.journal.draws import Draw, Execution
from capscope.journal.settings import Settings
from capscope.problem import Ending
from capscope.problem.attempt import Attempt
from capscope.strategy import STRATEGIES
from capscope_experiments.curve import Shares, where_executions_went
from support.execution_tables import table_of


def draw_of(*executions, ending=Ending.STOPPED):
    """Make a draw of (state before, capability, state after)."""
    made = [Execution(c, Attempt((before, after), 1, ending)) for before, c, after in executions]
    return Draw(tuple(made), len(made), 0, 0.0, ending is Ending.CUT)


def shares_of(*queries):
    """Count the executions of queries, each a list of draws."""
    return where_executions_went(table_of(queries, range(4)))


def total(shares):
    return shares.new + shares.repeat + shares.walk + shares.nowhere


KNOWN = [draw_of((0, 0, 1))]
# Three draws walk through (0, 0), known before, and try (1, 1); one ends in 2 and tries (2, 0) too.
WALKED = [
    draw_of((0, 0, 1), (1, 1, 2), (2, 0, 3)),
    draw_of((0, 0, 1), (1, 1, 1)),
    draw_of((0, 0, 1), (1, 1, 1)),
]


def test_executions_are_sorted_by_what_they_did():
    assert shares_of(KNOWN, WALKED) == Shares(new=1 + 2, repeat=2, walk=3)


def test_a_query_that_found_nothing_new_led_nowhere():
    assert shares_of(KNOWN, WALKED, WALKED) == Shares(new=3, repeat=2, walk=3, nowhere=7)
    assert shares_of([draw_of()]) == Shares()


def test_a_pair_met_twice_in_one_draw_is_a_repeat():
    assert shares_of([draw_of((0, 0, 0), (0, 0, 0))]) == Shares(new=1, repeat=1)


def test_an_attempt_that_a_budget_cut_short_tries_nothing():
    cut = [draw_of((0, 0, 1), ending=Ending.CUT)]
    assert shares_of(cut) == Shares(nowhere=1)
    assert shares_of(cut, KNOWN) == Shares(new=1, nowhere=1)


def test_a_pair_is_walked_through_only_if_an_earlier_query_tried_it():
    assert shares_of(WALKED) == Shares(new=3, repeat=4)
    assert shares_of() == Shares()


EXECUTIONS = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3))
DRAWS = st.lists(EXECUTIONS, max_size=5).map(lambda executions: draw_of(*executions))


def naive_shares(queries):
    """Go through the executions one by one."""
    counts, tried = dict.fromkeys(("new", "repeat", "walk", "nowhere"), 0), set()
    for draws in queries:
        pairs = [(a.trajectory[0], c) for draw in draws for c, a in draw.executions]
        new = set(pairs) - tried
        counts["new"] += len(new)
        counts["repeat"] += sum(pair in new for pair in pairs) - len(new)
        counts["walk" if new else "nowhere"] += sum(pair not in new for pair in pairs)
        tried |= new
    return Shares(**counts)


@given(st.lists(st.lists(DRAWS, max_size=4), max_size=6))
def test_columns_give_the_counts_of_going_through_the_executions_one_by_one(queries):
    assert shares_of(*queries) == naive_shares(queries)


@pytest.mark.parametrize("strategy", STRATEGIES.all)
@pytest.mark.parametrize("limit", [{"executions": 100}, {"simulator_steps": 301}])
def test_the_shares_of_a_run_add_up_to_its_executions_and_new_ones_to_its_pairs(strategy, limit):
    settings = Settings(draws=3, iterations=20, depth=5)
    run = assess("blocksworld", strategy=strategy, settings=settings, budget=Budget(**limit))
    shares = where_executions_went(run.executions)
    assert total(shares) == run.usage.executions
    assert shares.new == run.graph.pairs_tried
