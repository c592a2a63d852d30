from contextlib import closing

import numpy as np
import pytest

from capscope.errors import JournalError
from capscope.record.executions import executions_of, positions_of
from capscope.record.journal import Draw, Execution, Journal, QueryRecord
from capscope.world import Attempt, Ending
from capscope.world.positions import name_of, named
from support.small_journals import INTENTS, META, QUERY, simple_draw, written


def attempt(*trajectory, ending=Ending.STOPPED):
    return Attempt(trajectory, len(trajectory) - 1, ending)


def draw(*executions):
    return Draw(tuple(Execution(c, a) for c, a in executions), 0, 0, 0.1, False)


def query(state, snapshot):
    return QueryRecord(state, snapshot, 0, 0.0, 0.5, True)


def journal_of(path, queries):
    """Write queries: (start state, snapshot, draws) each."""
    journal = Journal.create(path, META)
    journal.add_intents(INTENTS, 0)
    for number, (state, snapshot, draws) in enumerate(queries):
        journal.begin_query(number, query(state, snapshot))
        for index, made in enumerate(draws):
            journal.add_draw(number, index, made, {})
    return closing(journal)


def rows(journal, **options):
    made = executions_of(journal, **options)
    states = journal.states
    return [
        (c, states[before], states[after], at)
        for c, before, after, at in zip(
            made.capability.tolist(), made.before.tolist(), made.after.tolist(),
            made.position.tolist(), strict=True,
        )
    ]  # fmt: skip


def naive_rows(journal):
    """Read query by query and draw by draw."""
    positions = {}
    for number in range(100):
        record = journal.query(number)
        if record is None:
            return
        at = positions.setdefault(record.start_snapshot, len(positions))
        for made in journal.draws(number):
            for capability, tried in made.executions:
                if tried.ending is not Ending.CUT:
                    yield capability, tried.trajectory[0], tried.trajectory[-1], at


def test_executions_come_in_the_order_they_were_made_with_the_position_of_their_query(tmp_path):
    long = draw((0, attempt(5, 6, 7)), (1, attempt(7, 7)))
    queries = [
        (5, b"x", [long, draw((2, attempt(5, 5)))]),
        (7, b"y", [draw()]),
        (5, b"x", [long, draw((0, attempt(5, 8, ending=Ending.CUT))), long]),
    ]
    with journal_of(tmp_path / "j.sqlite", queries) as journal:
        assert rows(journal) == list(naive_rows(journal))
        assert [row[:3] for row in rows(journal)][:3] == [(0, 5, 7), (1, 7, 7), (2, 5, 5)]


def test_of_draws_with_starts_of_their_own_only_the_first_one_s_is_known(tmp_path):
    once = draw((0, attempt(5, 6)), (1, attempt(6, 5)))
    queries = [(5, b"x", [once, once]), (5, b"y", [once]), (5, b"x", [once, once])]
    with journal_of(tmp_path / "j.sqlite", queries) as journal:
        made = executions_of(journal, own_starts=True)
    known = [made.starts[at] if at < len(made.starts) else None for at in made.position.tolist()]
    assert known[::2] == known[1::2] == [b"x", None, b"y", b"x", None]
    assert len(set(made.position.tolist())) == 4


def test_executions_of_a_draw_stand_together_and_say_whether_they_took_a_step(tmp_path):
    cut = draw((0, attempt(5, 6)), (1, attempt(6, 5, ending=Ending.CUT)))
    still = draw((0, attempt(5)), (1, attempt(5, 6)))
    with journal_of(tmp_path / "j.sqlite", [(5, b"x", [cut, draw(), still])]) as journal:
        made = executions_of(journal)
    assert made.draw.tolist() == [0, 1, 1]
    assert made.moved.tolist() == [True, False, True]


def test_snapshots_of_one_name_are_one_position(tmp_path):
    there, back = named(b"left, right", b"at 0"), named(b"up, down", b"at 0")
    queries = [(5, at, [draw((0, attempt(5, 6)))]) for at in (there, b"at 0", back)]
    with journal_of(tmp_path / "j.sqlite", queries) as journal:
        assert executions_of(journal).position.tolist() == [0, 1, 0]
        assert positions_of(journal) == {0: {name_of(there), b"at 0"}}


def test_a_journal_without_draws_has_no_executions(tmp_path):
    with journal_of(tmp_path / "j.sqlite", []) as journal:
        assert rows(journal) == []
        assert executions_of(journal).position.dtype == np.int64


def test_the_positions_of_a_state_are_those_kept_and_those_started_from(tmp_path):
    with closing(Journal.open(written(tmp_path / "j.sqlite", draws=3))) as journal:
        journal.begin_query(1, query(0, b"elsewhere"))
        journal.add_draw(1, 0, simple_draw(0, 1), {(0, 1): b"third"})
        known = {journal.states[n]: found for n, found in positions_of(journal).items()}
    assert known[0] == {b"snapshot" * 10, b"elsewhere", b"third"}
    assert known[QUERY.start] == {QUERY.start_snapshot}


def test_a_draw_of_a_capability_that_is_not_written_down_is_refused(tmp_path):
    with (
        journal_of(tmp_path / "j.sqlite", [(5, b"x", [draw((7, attempt(5, 5)))])]) as journal,
        pytest.raises(JournalError, match="left untouched"),
    ):
        executions_of(journal)
