"""One sweep against the same read query by query."""

from contextlib import closing

import pytest

from capscope import Budget, Settings, assess
from capscope.errors import JournalError
from capscope.record.journal import Draw, Execution, Journal
from capscope.record.query_totals import QueryTotals, query_totals
from capscope.world import Attempt, Ending
from support.small_journals import INTENTS, META, QUERY, draws_of, simple_draw
from support.toy_worlds import Board, board_problem


@pytest.fixture
def journal(tmp_path):
    with closing(Journal.create(tmp_path / "journal.sqlite", META)) as made:
        made.add_intents(INTENTS, 0)
        yield made


def totals_by_hand(journal):
    for query, draws in enumerate(draws_of(journal)):
        yield QueryTotals(
            sum(len(draw.executions) for draw in draws),
            sum(draw.simulator_steps for draw in draws),
            sum(draw.llm_tokens for draw in draws),
            journal.query(query).seconds or sum(draw.seconds for draw in draws),
            sum(draw.llm_cost for draw in draws),
        )


def test_a_sweep_counts_what_the_queries_show_one_by_one(tmp_path):
    settings = Settings(draws=3, random_length=4, walks=2, walk_steps=10, patience=3)
    for strategy in ("random", "mcqs-s", "adaptive"):
        path = tmp_path / strategy
        problem = board_problem(Board(slip=0.3))
        budget = Budget(executions=211)
        assess(problem, strategy=strategy, settings=settings, budget=budget, run=path)
        with closing(Journal.open(path / "journal.sqlite", read_only=True)) as journal:
            for swept, by_hand in zip(query_totals(journal), totals_by_hand(journal), strict=True):
                assert swept == pytest.approx(by_hand)


def test_a_query_that_was_begun_and_costs_and_tokens_are_in_the_totals(journal):
    journal.begin_query(0, QUERY)
    attempt = Attempt((0, 1), 2, Ending.STOPPED, 7)
    journal.add_draw(0, 0, Draw((Execution(1, attempt),) * 2, 4, 14, 0.5, False, None, 0.25), {})
    journal.add_draw(0, 1, Draw((Execution(1, attempt),), 2, 7, 0.25, False, None, 0.5), {})
    journal.finish_query(0, {}, 3.0)
    journal.begin_query(1, QUERY)
    assert list(query_totals(journal)) == [
        QueryTotals(3, 6, 21, 3.0, 0.75),
        QueryTotals(0, 0, 0, 0.0, 0.0),
    ]


def test_a_query_under_way_has_taken_as_long_as_its_draws(journal):
    journal.begin_query(0, QUERY)
    journal.add_draw(0, 0, simple_draw(0, 1), {})
    assert [totals.seconds for totals in query_totals(journal)] == [0.5]


def test_what_is_no_attempt_is_said_to_be_foreign(journal):
    journal.begin_query(0, QUERY)
    journal.add_draw(0, 0, simple_draw(0, 1), {})
    list(journal.select("UPDATE draws SET attempts = ?", "nonsense"))
    with pytest.raises(JournalError, match="left untouched"):
        list(query_totals(journal))
