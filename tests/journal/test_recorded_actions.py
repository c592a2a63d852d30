import sqlite3
from contextlib import closing

import pytest

from capscope.errors import JournalError
from capscope.journal.checked_tables import sign
from capscope.journal.draws import Draw, Execution
from capscope.journal.journal import Journal
from capscope.journal.recorded_actions import MOST_ACTIONS, MOST_CHARACTERS
from capscope.problem import Attempt, Ending
from support.small_journals import META, QUERY, add_draw


def with_actions(*each):
    """Return a draw with an execution for each sequence of actions."""
    made = [Execution(0, Attempt((5,), len(a), Ending.STOPPED, actions=tuple(a))) for a in each]
    return Draw(tuple(made), sum(map(len, each)), 0, 0.5, False)


@pytest.fixture
def journal(tmp_path):
    with closing(Journal.create(tmp_path / "journal.sqlite", META)) as journal:
        journal.begin_query(0, QUERY)
        yield journal


def test_each_distinct_action_is_stored_once_also_by_a_journal_that_is_opened_again(journal):
    add_draw(journal, 0, 0, with_actions(["left", 3, "left"], [], [{"call": ["f", [], ""]}]))
    with closing(Journal.open(journal.path)) as again:
        add_draw(again, 0, 1, with_actions([3, "right"]))
        assert again.actions(0, 1) == [(3, "right")]
    with closing(sqlite3.connect(journal.path)) as db:
        stored = [text for (text,) in db.execute("SELECT written FROM actions ORDER BY id")]
        lists = [text for (text,) in db.execute("SELECT actions FROM draws ORDER BY draw")]
    assert stored == ['"left"', "3", '{"call":["f",[],""]}', '"right"']
    assert lists == ["[[0,1,0],[],[2]]", "[[1,3]]"]


@pytest.mark.parametrize(
    ("actions", "kept"),
    [
        ([0] * MOST_ACTIONS, True),
        ([0] * (MOST_ACTIONS + 1), False),
        (["x" * (MOST_CHARACTERS - 2)] * 3, True),
        (["x" * MOST_CHARACTERS], False),
        (["x" * (MOST_CHARACTERS // 2), "y" * (MOST_CHARACTERS // 2)], False),
    ],
)
def test_actions_that_take_too_much_room_are_dropped_and_this_is_marked(journal, actions, kept):
    add_draw(journal, 0, 0, with_actions(actions, ["short"]))
    assert journal.actions(0, 0) == [tuple(actions) if kept else None, ("short",)]


def test_an_action_that_is_missing_is_named(journal):
    add_draw(journal, 0, 0, with_actions(["left"]))
    journal.close()
    with closing(sqlite3.connect(journal.path)) as db, db:
        db.execute("DELETE FROM actions")
        sign(db)
    with (
        closing(Journal.open(journal.path)) as damaged,
        pytest.raises(JournalError, match="action 0 is missing"),
    ):
        damaged.actions(0, 0)
