"""The runs below a folder."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from capscope.journal.run_directory import RunDirectory
from capscope_view.runs import RunActivity, RunFolder
from support.small_runs import draw, small_run

ONE = [[draw((0, 0, 1))], [draw((0, 1, 2), (2, 0, 3))]]


def listed(root, clock=lambda: 0.0):
    return {one.name: one for one in RunFolder(root, clock).statuses()}


def test_runs_are_found_at_any_depth_and_nothing_else_is(tmp_path):
    small_run(tmp_path / "a", ONE)
    small_run(tmp_path / "deep" / "er" / "b", ONE)
    small_run(tmp_path / "a" / "inside", ONE)
    small_run(tmp_path / ".hidden" / "c", ONE)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "run.json").write_text("{}")
    assert set(listed(tmp_path)) == {"a", "deep/er/b"}


def test_links_are_not_followed(tmp_path):
    small_run(tmp_path / "elsewhere" / "a", ONE)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "elsewhere")
    assert listed(tmp_path / "runs") == {}


def test_a_run_directory_is_a_folder_with_one_run(tmp_path):
    folder = RunFolder(small_run(tmp_path / "a", ONE))
    (status,) = folder.statuses()
    assert folder.is_run
    assert status.name == "a"
    assert folder.find(status.id) == tmp_path / "a"


def test_a_status_says_what_runs_where_and_how_far_it_is(tmp_path):
    stopped = "budget of executions spent"
    small_run(tmp_path / "ended", ONE, stopped=stopped, budget={"executions": 3})
    small_run(tmp_path / "cut", ONE)
    small_run(tmp_path / "going", ONE)
    with RunDirectory.open(tmp_path / "going"):
        found = listed(tmp_path)
        assert next(iter(found)) == "going"
    assert {name: one.activity for name, one in found.items()} == {
        "ended": RunActivity.ENDED,
        "cut": RunActivity.INCOMPLETE,
        "going": RunActivity.RUNNING,
    }
    ended = found["ended"]
    assert (ended.note, ended.problem, ended.strategy) == (
        "budget of executions spent",
        "lamps",
        "exhaustive",
    )
    assert (ended.seed, ended.queries, ended.executions, ended.simulator_steps) == (7, 2, 3, 3)


def test_what_cannot_be_read_is_listed_with_the_reason(tmp_path):
    small_run(tmp_path / "fine", ONE)
    for name in ("garbage", "foreign", "damaged"):
        (tmp_path / name).mkdir()
    (tmp_path / "garbage" / "journal.sqlite").write_text("hello" * 1000)
    with closing(sqlite3.connect(tmp_path / "foreign" / "journal.sqlite")) as db:
        db.execute("CREATE TABLE x (y)")
    whole = (tmp_path / "fine" / "journal.sqlite").read_bytes()
    (tmp_path / "damaged" / "journal.sqlite").write_bytes(whole[: len(whole) // 2])
    found = listed(tmp_path)
    assert found.pop("fine").activity is RunActivity.INCOMPLETE
    assert {one.activity for one in found.values()} == {RunActivity.UNREADABLE}
    assert "not a journal" in found["garbage"].note
    assert "is not a capscope journal" in found["foreign"].note
    assert "journal.sqlite" in found["damaged"].note


def test_a_run_that_appears_or_goes_is_noticed_after_a_while(tmp_path):
    now = [0.0]
    folder = RunFolder(tmp_path, lambda: now[0])
    assert folder.statuses() == []
    small_run(tmp_path / "a", ONE)
    assert folder.statuses() == []
    now[0] = 10.0
    assert len(folder.statuses()) == 1
    shutil.rmtree(tmp_path / "a")
    assert [one.activity for one in folder.statuses()] == [RunActivity.UNREADABLE]
    now[0] = 20.0
    assert folder.statuses() == []


def test_a_run_that_does_not_change_is_read_once(tmp_path, monkeypatch):
    small_run(tmp_path / "a", ONE)
    folder = RunFolder(tmp_path)
    (first,) = folder.statuses()
    monkeypatch.setattr("capscope_view.runs.read_progress", lambda *_: pytest.fail("read"))
    assert folder.statuses() == [first]


@pytest.mark.parametrize("name", ["../a", "a", "/etc", "", ".", "a\0b"])
def test_no_text_but_an_identifier_finds_a_run(tmp_path, name):
    small_run(tmp_path / "a", ONE)
    assert RunFolder(tmp_path).find(name) is None


def test_hostile_names_are_shown_escaped(tmp_path):
    small_run(tmp_path / "a\x1b[31m\u202e", ONE)
    assert set(listed(tmp_path)) == {"a\\x1b[31m\\u202e"}
