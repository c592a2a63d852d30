"""The table against the same journal read query by query, and against one made of the draws."""

import itertools
from collections import Counter
from contextlib import closing
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capscope import Budget, Settings, Usage, assess, load
from capscope.errors import JournalError
from capscope.journal.draws import ENDINGS, Draw, Execution, QueryRecord, Start
from capscope.journal.execution_table import (
    UNKNOWN_POSITION,
    ExecutionTable,
    Transition,
)
from capscope.journal.journal import Journal
from capscope.problem import Attempt, Ending
from capscope.problem.positions import SavedPosition
from support.execution_tables import table_of
from support.small_journals import (
    INTENTS,
    META,
    QUERY,
    START,
    add_draw,
    at,
    draws_of,
    simple_draw,
    written,
)
from support.toy_worlds import Board, board_problem

SMALL = Settings(draws=3, random_length=4, walks=2, walk_steps=10, patience=3)
ATTEMPTS = st.builds(
    Attempt,
    st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple),
    st.integers(0, 9),
    st.sampled_from(Ending),
    st.integers(0, 9),
    st.text(max_size=3),
    st.sampled_from(["", "text"]),
    st.just(()),
)
DRAWS = st.lists(st.builds(Execution, st.integers(0, 2), ATTEMPTS), max_size=3).map(
    lambda made: Draw(tuple(made), 2, 3, 0.5, False, None, 0.25)
)
QUERIES = st.lists(st.lists(DRAWS, max_size=3), max_size=4)


@pytest.fixture
def journal(tmp_path):
    with closing(Journal.create(tmp_path / "journal.sqlite", META)) as made:
        made.add_intents(INTENTS, 0)
        yield made


def one_by_one(journal):
    """Yield the rows of the table, the slow way."""
    numbers = {state: number for number, state in enumerate(journal.states)}
    for query, draws in enumerate(draws_of(journal)):
        for index, draw in enumerate(draws):
            for number, (capability, attempt) in enumerate(draw.executions):
                ends = numbers[attempt.trajectory[0]], numbers[attempt.trajectory[-1]]
                yield (
                    query, index, number, capability, *ends, len(attempt.trajectory) - 1,
                    attempt.simulator_steps, attempt.llm_tokens, ENDINGS.index(attempt.ending),
                )  # fmt: skip


def rows_of(table):
    columns = [getattr(table, field.name).tolist() for field in fields(table)[3:]]
    return list(zip(*columns, strict=True))


def transitions_of(draws):
    counts = Counter()
    for draw in draws:
        for capability, attempt in draw.executions:
            if attempt.ending is not Ending.CUT:
                counts[Transition(attempt.trajectory[0], capability, attempt.trajectory[-1])] += 1
    return counts


def usage_of(journal, query, draws):
    total = sum((draw.usage for draw in draws), Usage())
    seconds = journal.query(query).seconds or total.seconds
    return (
        total.executions, total.simulator_steps, total.llm_tokens, seconds, total.llm_cost,
    )  # fmt: skip


def check(journal):
    table = ExecutionTable.read(journal)
    expected = list(one_by_one(journal))
    assert [row[:-1] for row in rows_of(table)] == expected
    by_query = list(draws_of(journal))
    counted = list(map(transitions_of, by_query))
    assert list(map(list, table.transitions_by_query())) == list(map(list, counted))
    assert list(table.transitions_by_query()) == counted
    assert list(table.transitions().items()) == list(sum(counted, Counter()).items())
    columns = ("executions", "simulator_steps", "llm_tokens", "seconds", "llm_cost")
    totals = zip(*(getattr(table.queries, name) for name in columns), strict=True)
    for query, (row, draws) in enumerate(zip(totals, by_query, strict=True)):
        assert row == pytest.approx(usage_of(journal, query, draws))
    check_distinct(table)
    return table


def check_distinct(table):
    seen = {}
    rows = zip(table.before, table.capability, table.after, table.cut, strict=True)
    for i, (before, capability, after, cut) in enumerate(rows):
        if cut:
            assert table.transition[i] == -1
            continue
        number = seen.setdefault((before, capability, after), len(seen))
        assert table.transition[i] == number
        assert table.distinct.first[number] <= i
        pairs = list(dict.fromkeys(transition[:2] for transition in seen))
        assert table.distinct.pair[number] == pairs.index((before, capability))
    assert len(table.distinct) == len(seen)


@pytest.mark.parametrize("strategy", ["random", "mcqs-s", "exhaustive"])
def test_the_table_holds_what_the_queries_show_one_by_one(strategy, tmp_path):
    problem = board_problem(Board(slip=0.3))
    budget = Budget(executions=211)
    live = assess(problem, strategy=strategy, settings=SMALL, budget=budget, run=tmp_path / "run")
    with live.open_journal() as journal:
        read = check(journal)
    assert rows_of(live.executions) == rows_of(read)
    assert live.executions.position_names == read.position_names
    for field in fields(read.queries):
        # The time of a query that the budget cut is not recorded, only that of its draws.
        done = slice(-1) if field.name == "seconds" else slice(None)
        mine, theirs = (getattr(t.queries, field.name)[done] for t in (live.executions, read))
        np.testing.assert_allclose(mine, theirs)
    assert load(tmp_path / "run").usage.executions == live.usage.executions == 211


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(QUERIES)
def test_everything_is_read_in_order(tmp_path_factory, queries):
    path = tmp_path_factory.mktemp("run") / "journal.sqlite"
    with closing(Journal.create(path, META)) as journal:
        journal.add_intents(INTENTS, 0)
        transcribed = []
        for number, draws in enumerate(queries):
            journal.begin_query(number, QUERY)
            for index, draw in enumerate(draws):
                add_draw(journal, number, index, draw)
                executions = enumerate(draw.executions)
                transcribed += [(number, index, i) for i, (_, a) in executions if a.transcript]
        table = check(journal)
        assert journal.transcribed() == transcribed
        assert rows_of(table_of(queries, journal.states)) == rows_of(table)
        for half in range(len(queries) + 1):
            first = table.first_queries(half)
            assert rows_of(first) == [row for row in rows_of(table) if row[0] < half]
            assert len(first.queries) == half


def test_the_last_query_within_a_number_of_executions_is_the_last_in_the_table(journal):
    for number, draws in enumerate([2, 0, 3]):
        journal.begin_query(number, QUERY)
        for index in range(draws):
            add_draw(journal, number, index, simple_draw(0, 1))
    table = ExecutionTable.read(journal)
    kept = [(len(t.queries), len(t)) for t in map(table.within, (0, 1, 2, 4, 5, 99))]
    assert kept == [(0, 0), (0, 0), (2, 2), (2, 2), (3, 5), (3, 5)]


def test_an_execution_that_was_cut_is_not_a_transition(journal):
    journal.begin_query(0, QUERY)
    cut = Execution(0, Attempt((1, 2), 1, Ending.CUT))
    whole = Execution(0, Attempt((0, 3, 1), 1, Ending.STOPPED))
    add_draw(journal, 0, 0, Draw((whole, cut), 2, 0, 0.5, True))
    table = ExecutionTable.read(journal)
    assert table.transitions() == {Transition(0, 0, 1): 1}
    assert rows_of(table.complete) == rows_of(table)[:1]


def test_a_draw_belongs_to_the_position_it_started_from(journal):
    there, back = SavedPosition(b"left, right", b"0"), SavedPosition(b"up, down", b"0")
    starts = [Start(5, position) for position in (there, at(b"x"), back)]
    for number, start in enumerate(starts):
        journal.begin_query(number, QueryRecord(start, 0, 0.0, 0.5, True))
        add_draw(journal, number, 0, simple_draw(5, 6, 5), start=start)
    table = ExecutionTable.read(journal)
    assert [table.position_names[i] for i in table.position] == [b"0", b"x", b"0"]
    assert journal.known_positions() == {0: {b"0", b"x"}}


def test_draws_of_a_batch_have_their_own_starts(journal):
    starts = [Start(5, at(b"x")), Start(6, at(b"y"))]
    journal.begin_query(0, QueryRecord(starts[0], 0, 0.0, 0.5, True), starts)
    assert journal.starts(0) == starts
    for index, start in enumerate(starts):
        add_draw(journal, 0, index, simple_draw(start.state, 7), start=start)
    table = ExecutionTable.read(journal)
    assert [table.position_names[i] for i in table.position] == [b"x", b"y"]


def test_a_start_that_was_not_recorded_has_no_position(journal):
    journal.begin_query(0, QUERY)
    add_draw(journal, 0, 0, simple_draw(0, 1))
    journal._db.execute("UPDATE draws SET position = NULL")
    assert ExecutionTable.read(journal).position.tolist() == [UNKNOWN_POSITION]


def test_executions_of_a_draw_are_together_and_say_whether_they_took_a_step(journal):
    journal.begin_query(0, QUERY)
    still = Execution(1, Attempt((5,), 0, Ending.STOPPED))
    moving = Execution(1, Attempt((5, 6), 1, Ending.STOPPED))
    for index, made in enumerate([(moving, moving), (), (still, moving)]):
        add_draw(journal, 0, index, Draw(made, 0, 0, 0.1, False))
    table = ExecutionTable.read(journal)
    assert table.draw_id.tolist() == [0, 0, 1, 1]
    assert table.moved.tolist() == [True, True, False, True]


def test_a_journal_without_draws_gives_an_empty_table(journal):
    table = ExecutionTable.read(journal)
    assert rows_of(table) == []
    assert table.position.dtype == np.int64
    assert table.queries.usage() == Usage()


def test_the_positions_of_a_state_are_those_kept_and_those_started_from(tmp_path):
    with closing(Journal.open(written(tmp_path / "j.sqlite", draws=3))) as journal:
        start = Start(0, at(b"elsewhere"))
        journal.begin_query(1, QueryRecord(start, 0, 0.0, 0.5, True))
        add_draw(journal, 1, 0, simple_draw(0, 1), {(0, 1): b"third"}, start)
        known = {journal.states[n]: found for n, found in journal.known_positions().items()}
    assert known[0] == {b"snapshot" * 10, b"elsewhere", b"third"}
    assert known[START.state] == {START.position.name}


@pytest.mark.parametrize("capability", [3, -1])
def test_a_capability_that_was_not_recorded_is_refused(journal, capability):
    journal.begin_query(0, QUERY)
    made = (Execution(capability, Attempt((0, 1), 1, Ending.STOPPED)),)
    add_draw(journal, 0, 0, Draw(made, 1, 0, 0.5, False))
    with pytest.raises(JournalError, match="beyond the 3 that are"):
        ExecutionTable.read(journal)


@pytest.mark.parametrize(
    "text",
    [
        "[[0,[99],1,0]]", "[[0,[-1,0],1,0]]", "[[0,[],1,0]]", "[[0,[0],1]]", "[0]", "[],[]",
        "nonsense", f"[[0,[0],{10**30},0]]", '[["a",[0],1,0]]',
    ],
)  # fmt: skip
def test_what_is_not_an_attempt_was_written_by_something_else(journal, text):
    journal.begin_query(0, QUERY)
    add_draw(journal, 0, 0, simple_draw(0, 1))
    journal._db.execute("UPDATE draws SET attempts = ?", (text,))
    with pytest.raises(JournalError, match="something capscope did not write"):
        ExecutionTable.read(journal)


def test_a_moment_stays_the_same_however_long_it_is_looked_at(journal):
    journal.begin_query(0, QUERY)
    add_draw(journal, 0, 0, simple_draw(0, 1))
    with closing(Journal.open(journal.path, read_only=True)) as reader:
        add_draw(journal, 0, 1, simple_draw(1, 77))
        with reader.at_one_moment():
            add_draw(journal, 0, 2, simple_draw(77, 78))
            assert len(reader.draws(0)) == 2
            assert 77 in reader.states
            assert 78 not in reader.states
        with reader.at_one_moment():
            assert len(ExecutionTable.read(reader)) == len(reader.draws(0)) == 3


def test_running_usage_adds_up_query_by_query(journal):
    for number in range(3):
        journal.begin_query(number, QUERY)
        add_draw(journal, number, 0, simple_draw(0, 1))
    queries = ExecutionTable.read(journal).queries
    before = Usage(simulator_steps=10)
    usages = list(queries.running_usage(before))
    assert [usage.executions for usage in usages] == [1, 2, 3]
    assert usages[-1] == before + queries.usage()
    assert list(itertools.pairwise(u.queries for u in usages)) == [(1, 2), (2, 3)]
