"""A chronicle against the same journal read query by query."""

import itertools
from collections import Counter
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capscope import Budget, Settings, assess
from capscope.assessment.run_state import tally
from capscope.errors import JournalError
from capscope.record.execution_table import ExecutionTable, transcribed
from capscope.record.journal import Draw, Execution, Journal
from capscope.record.execution_table import Transition
from capscope.world import Attempt, Ending
from support.small_journals import INTENTS, META, QUERY, draws_of, simple_draw
from support.toy_worlds import Board, board_problem

ATTEMPTS = st.builds(
    Attempt,
    st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple),
    st.integers(0, 9),
    st.sampled_from(Ending),
    st.integers(0, 9),
    st.text(max_size=3),
    st.sampled_from(["", "words"]),
)
DRAWS = st.lists(st.builds(Execution, st.integers(0, 2), ATTEMPTS), max_size=3).map(
    lambda made: Draw(tuple(made), 0, 0, 0.0, False)
)
QUERIES = st.lists(st.lists(DRAWS, max_size=3), max_size=4)


@pytest.fixture
def journal(tmp_path):
    with closing(Journal.create(tmp_path / "journal.sqlite", META)) as made:
        made.add_intents(INTENTS, 0)
        yield made


def one_by_one(journal, queries):
    """Yield what a chronicle has columns of, the slow way."""
    numbers = {state: number for number, state in enumerate(journal.states)}
    for query, draws in enumerate(itertools.islice(draws_of(journal), queries)):
        for index, draw in enumerate(draws):
            for number, (capability, attempt) in enumerate(draw.executions):
                ends = numbers[attempt.trajectory[0]], numbers[attempt.trajectory[-1]]
                cut = attempt.ending is Ending.CUT
                yield query, index, number, capability, *ends, attempt.simulator_steps, cut


def columns_of(table):
    return (
        table.query, table.draw, table.number, table.capability,
        table.before, table.after, table.simulator_steps, table.cut,
    )  # fmt: skip


def check(journal, queries):
    capabilities = len(journal.intents())
    table = ExecutionTable.of(journal, queries, capabilities)
    rows = list(one_by_one(journal, queries))
    assert list(zip(*(c.tolist() for c in columns_of(table)), strict=True)) == rows
    assert len(table) == len(rows)
    tallied, seen = Counter(), {}
    for draws in itertools.islice(draws_of(journal), queries):
        tallied.update(tally(draws, capabilities))
    assert list(table.transitions().items()) == list(tallied.items())
    for i, (_, _, _, capability, before, after, _, cut) in enumerate(rows):
        if cut:
            assert table.transition[i] == -1
            continue
        number = seen.setdefault((before, capability, after), len(seen))
        assert table.transition[i] == number
        assert table.distinct.first[number] <= i
        pairs = list(dict.fromkeys(transition[:2] for transition in seen))
        assert table.distinct.pair[number] == pairs.index((before, capability))
    assert len(table.distinct) == len(seen)


def test_a_chronicle_tells_what_the_queries_show_one_by_one(tmp_path):
    settings = Settings(draws=3, random_length=4, walks=2, walk_steps=10, patience=3)
    for strategy in ("random", "mcqs-s", "adaptive"):
        path = tmp_path / strategy
        problem = board_problem(Board(slip=0.3))
        budget = Budget(executions=211)
        assess(problem, strategy=strategy, settings=settings, budget=budget, run=path)
        with closing(Journal.open(path / "journal.sqlite", read_only=True)) as journal:
            everything = len(list(draws_of(journal)))
            for queries in (0, 1, everything // 2, everything):
                check(journal, queries)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(QUERIES)
def test_whatever_was_made_is_told_in_order(tmp_path_factory, queries):
    path = tmp_path_factory.mktemp("run") / "journal.sqlite"
    with closing(Journal.create(path, META)) as journal:
        journal.add_intents(INTENTS, 0)
        told = []
        for number, draws in enumerate(queries):
            journal.begin_query(number, QUERY)
            for index, draw in enumerate(draws):
                journal.add_draw(number, index, draw, {})
                executions = enumerate(draw.executions)
                told += [(number, index, i) for i, (_, a) in executions if a.transcript]
        check(journal, len(queries))
        assert list(transcribed(journal)) == told


def test_an_execution_that_was_cut_is_no_transition(journal):
    journal.begin_query(0, QUERY)
    cut = Execution(0, Attempt((1, 2), 1, Ending.CUT))
    whole = Execution(0, Attempt((0, 3, 1), 1, Ending.STOPPED))
    journal.add_draw(0, 0, Draw((whole, cut), 2, 0, 0.5, True), {})
    assert ExecutionTable.of(journal, 1, 1).transitions() == {Transition(0, 0, 1): 1}


def test_states_are_numbered_as_a_dataset_meets_them_but_for_those_on_the_way(journal):
    journal.begin_query(0, QUERY)
    journal.add_draw(0, 0, simple_draw(QUERY.start, 8, 1), {})
    journal.add_draw(0, 1, simple_draw(1, 4), {})
    table, met = ExecutionTable.of(journal, 1, 1), Dataset()
    met.record(table.transitions())
    assert list(table.states) == [QUERY.start, 8, 1, 4]
    assert list(met.states) == [QUERY.start, 1, 4]


def test_an_earlier_release_wrote_no_transcripts(journal):
    list(journal.select("DROP TABLE transcripts"))
    assert list(transcribed(journal)) == []


def test_a_capability_that_nobody_wrote_down_is_refused(journal):
    journal.begin_query(0, QUERY)
    journal.add_draw(0, 0, simple_draw(0, 1), {})
    with pytest.raises(JournalError, match="beyond the 0 that are"):
        ExecutionTable.of(journal, 1, 0)


@pytest.mark.parametrize(
    "text",
    [
        "[[0,[99],1,0]]", "[[0,[-1,0],1,0]]", "[[0,[],1,0]]", "[[0,[0],1]]", "[0]", "[],[]",
        "nonsense", f"[[0,[0],{10**30},0]]", '[["a",[0],1,0]]',
    ],
)  # fmt: skip
def test_what_is_no_attempt_is_said_to_be_foreign(journal, text):
    journal.begin_query(0, QUERY)
    journal.add_draw(0, 0, simple_draw(0, 1), {})
    list(journal.select("UPDATE draws SET attempts = ?", text))
    with pytest.raises(JournalError, match="something capscope did not write"):
        ExecutionTable.of(journal, 1, 3)


def test_a_moment_is_one_however_long_it_is_looked_at(journal):
    journal.begin_query(0, QUERY)
    journal.add_draw(0, 0, simple_draw(0, 1), {})
    with closing(Journal.open(journal.path, read_only=True)) as reader:
        journal.add_draw(0, 1, simple_draw(1, 77), {})
        with reader.at_one_moment():
            journal.add_draw(0, 2, simple_draw(77, 78), {})
            assert len(reader.draws(0)) == 2
            assert 77 in reader.states
            assert 78 not in reader.states
        with reader.at_one_moment():
            assert len(ExecutionTable.of(reader, 1, 3)) == len(reader.draws(0)) == 3
