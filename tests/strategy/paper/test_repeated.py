"""The rules by which the paper's strategies choose starts and stop, on a graph made by hand."""

import random

import pytest

from capscope import Settings
from capscope.journal.draws import QueryRecord, Start
from capscope.journal.execution_table import Transition
from capscope.journal.run_meta import StopKind, StopReason
from capscope.logic import Intent
from capscope.model import Learned, StateGraph
from capscope.strategy.base import (
    BegunQuery,
    DrawEnd,
    QueryPlan,
    QueryResult,
    SequencePolicy,
    StrategyContext,
)
from capscope.strategy.paper.repeated import RepeatedStrategy
from support.small_journals import at
from support.toy_worlds import board_problem

SMALL = Settings(draws=3, depth=4, patience=4)
NOTHING_NEW = Learned(0, 0, 0.0)


def start_in(state):
    return Start(state, at(bytes([state])))


class Positions:
    """One position for each state."""

    initial = (start_in(0),)

    def choose(self, state, rng):
        return start_in(state)


class NoPositions(Positions):
    """No position but the initial one may be asked for."""

    def choose(self, state, rng):
        raise AssertionError(f"a position of state {state} was asked for")


class Search:
    """Promises to be informative from some states; records where it was asked to search."""

    def __init__(self, *promising):
        self.promising = promising
        self.searched = []
        self.bonuses = []

    def __call__(self, models, start, xi, rng, settings):
        self.searched.append(start)
        self.bonuses.append(xi)
        return QueryPlan(SequencePolicy(()), informative=start in self.promising)


EVERYWHERE = range(8)


def after_one_query(
    search, positions=None, reset_every=None, *, informative=False, end=0b010, settings=SMALL
):
    """Return a strategy that has seen one draw of one execution, from 0 to `end`."""
    graph = StateGraph(board_problem().vocabulary, [Intent.parse("lit(b)")])
    graph.node(0)
    context = StrategyContext(graph, settings, 0, positions or Positions(), reset_every)
    strategy = RepeatedStrategy(context, search, settings.depth)
    learned = graph.update({Transition(0, 0, end): 1})
    ends = [DrawEnd(end, at(bytes([end])), changes=int(end != 0), executions=1)]
    strategy.observe(QueryResult(informative, 0, [(0, 0)], learned, ends))
    return strategy


def preferred_start(number, *given, **options):
    """Return the start of a query if every start promises something."""
    return after_one_query(Search(*EVERYWHERE), *given, **options).next(number).record


def test_the_end_of_an_informative_query_is_continued_from():
    record = preferred_start(1, informative=True)
    assert (record.start, record.distance) == (start_in(2), 1)


def test_after_an_uninformative_query_any_state_seen_may_be_the_start():
    records = [preferred_start(number) for number in range(1, 30)]
    assert {record.start for record in records} == {start_in(0), start_in(2)}
    assert {record.distance for record in records} == {0}


@pytest.mark.parametrize("informative", [True, False])
def test_a_problem_that_is_reset_continues_whether_or_not_the_query_was_informative(informative):
    for number in range(1, 20):
        record = preferred_start(number, NoPositions(), 100, informative=informative)
        assert record.start.state == 2


def test_in_a_problem_that_is_reset_an_uninformative_draw_counts_in_full_length():
    distances = [
        preferred_start(1, NoPositions(), 100, informative=informative).distance
        for informative in (True, False)
    ]
    assert distances == [1, SMALL.depth]


def test_a_problem_that_is_reset_begins_again_after_enough_executions():
    assert preferred_start(1, NoPositions(), 1, informative=True).start.state == 0


def test_a_walk_with_too_many_changes_is_not_continued():
    few = Settings(draws=3, depth=4, patience=4, reuse_changes=1)
    records = [preferred_start(n, informative=True, settings=few) for n in range(1, 20)]
    assert {record.distance for record in records} == {0}


def test_a_world_of_sinks_begins_again():
    assert preferred_start(1, NoPositions(), end=0).start.state == 0


def test_further_starts_are_states_seen_before():
    search = Search()
    after_one_query(search, informative=True).next(1)
    first, *others = search.searched
    assert first == 2
    assert len(others) == SMALL.starts - 1
    assert set(others) <= {0, 2}


def test_a_problem_that_is_reset_offers_its_initial_position_besides_the_last_end():
    search = Search()
    after_one_query(search, NoPositions(), 100).next(1)
    assert search.searched == [2, 0]


def test_the_first_queries_start_at_the_initial_positions():
    class SeveralResets(Positions):
        initial = tuple(map(start_in, (0, 4, 6)))

    search = Search()
    strategy = after_one_query(search, SeveralResets())
    assert [strategy.next(number).record.start.state for number in (0, 1, 2)] == [0, 4, 6]
    assert search.searched == [0, 4, 6]


def test_the_first_start_that_promises_something_is_taken():
    for promising, expected in [((0,), 0), ((0, 2), 2)]:
        choice = after_one_query(Search(*promising), NoPositions(), 100).next(1)
        assert (choice.record.start.state, choice.record.informative) == (expected, True)


def test_the_preferred_start_is_taken_if_none_promises_anything():
    choice = after_one_query(Search(), NoPositions(), 100).next(1)
    assert (choice.record.start.state, choice.record.informative) == (2, False)


@pytest.mark.parametrize("search", [Search(), Search(*EVERYWHERE)])
def test_all_draws_have_the_same_start_and_the_same_policy(search):
    choice = after_one_query(search).next(1)
    assert len(choice.tasks) == SMALL.draws
    assert {task.start for task in choice.tasks} == {choice.record.start}
    assert len({id(task.policy) for task in choice.tasks}) == 1
    assert choice.own_starts == []


def test_a_query_that_was_begun_is_searched_again_from_its_own_start():
    search = Search()
    record = QueryRecord(start_in(4), 3, 0.5, 0.25, True)
    choice = after_one_query(search).next(1, BegunQuery(record, ()))
    assert choice.record is record
    assert search.searched == [4]
    assert {task.start for task in choice.tasks} == {start_in(4)}


def test_the_same_place_gives_the_same_start_and_search():
    class Drawing(Search):
        def __call__(self, models, start, xi, rng, settings):
            self.drawn = rng.random()
            return super().__call__(models, start, xi, rng, settings)

    searches = [Drawing(*EVERYWHERE) for _ in range(2)]
    records = [after_one_query(search).next(7).record for search in searches]
    assert records[0] == records[1]
    assert searches[0].drawn == searches[1].drawn != random.Random(0).random()


def test_queries_without_news_raise_the_bonus_and_end_the_run():
    search = Search()
    strategy = after_one_query(search)  # its transition was news
    quiet = QueryResult(False, 0, [], NOTHING_NEW)
    for number in range(SMALL.patience):
        assert strategy.finished() is None
        assert strategy.status(strategy.next(1).record)["queries without news"] == f"{number} of 4"
        assert search.bonuses[-1] == pytest.approx(SMALL.xi * number / SMALL.patience)
        strategy.observe(quiet)
    assert strategy.finished() == StopReason(StopKind.NO_NEWS)
    strategy.observe(QueryResult(False, 0, [], Learned(0, 0, SMALL.shift + 0.01)))
    assert strategy.finished() is None
