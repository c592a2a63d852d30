"""The log of queries against the same worked out query by query."""

import itertools

import pytest

from capscope import Budget, Settings, assess
from capscope.assessment.reading import read_in_order
from capscope.assessment.run_state import tally
from capscope.errors import JournalError
from capscope.model import StateGraph
from capscope.record.query_log import QueryEntry, query_log
from capscope.record.query_totals import query_totals
from capscope.record.run_directory import RunDirectory
from support.toy_worlds import WORDS, Board, board_problem

SMALL = Settings(draws=3, random_length=6, walks=2, walk_steps=10, patience=3)


def log_by_hand(journal):
    graph = StateGraph(WORDS, journal.intents())
    totals = list(query_totals(journal))
    for number in itertools.count():
        record = journal.query(number)
        if record is None:
            return
        draws = journal.draws(number)
        learned = graph.update(tally(draws, len(graph.capabilities)))
        yield QueryEntry(
            number, record.start, record.predicted, record.informative, record.finished, len(draws),
            totals[number], learned.new_pairs, learned.new_transitions,
        )  # fmt: skip


@pytest.mark.parametrize("strategy", ["random", "mcqs-s", "adaptive"])
@pytest.mark.parametrize("executions", [0, 37, 200])
def test_the_log_is_what_going_through_the_run_query_by_query_gives(strategy, executions, tmp_path):
    problem = board_problem(Board(slip=0.3))
    budget = Budget(executions=executions)
    assess(problem, strategy=strategy, settings=SMALL, budget=budget, run=tmp_path / "run")
    with RunDirectory.open(tmp_path / "run", read_only=True) as run:
        reading, table = read_in_order(tmp_path / "run", run.journal)
        log = list(query_log(run.journal, table, reading.usage.queries))
        assert log == list(log_by_hand(run.journal))
        assert sum(entry.totals.executions for entry in log) == executions
        assert sum(entry.new_pairs for entry in log) == reading.graph.pairs_tried
        assert sum(entry.new_transitions for entry in log) == reading.dataset.distinct


def test_queries_begun_since_the_run_was_read_are_not_told_of(tmp_path):
    problem = board_problem(Board(slip=0.3))
    assess(problem, strategy="random", settings=SMALL, budget=Budget(queries=4), run=tmp_path / "a")
    with RunDirectory.open(tmp_path / "a", read_only=True) as run:
        _, table = read_in_order(tmp_path / "a", run.journal, most_executions=40)
        queries = len(set(table.query.tolist()))
        assert 0 < queries < 4
        log = list(query_log(run.journal, table, queries))
        assert log == list(log_by_hand(run.journal))[:queries]


def test_a_start_that_is_not_written_down_is_refused(tmp_path):
    problem = board_problem()
    assess(problem, strategy="random", settings=SMALL, budget=Budget(queries=1), run=tmp_path / "a")
    with RunDirectory.open(tmp_path / "a") as run:
        reading, table = read_in_order(tmp_path / "a", run.journal)
        list(run.journal.select("UPDATE queries SET start = 99"))
        with pytest.raises(JournalError, match="something capscope did not write"):
            list(query_log(run.journal, table, reading.usage.queries))
