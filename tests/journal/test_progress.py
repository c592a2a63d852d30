"""How far a run is, read while it is written."""

import os
import sqlite3
import threading
from contextlib import closing

import pytest

from capscope import Budget, assess, load
from capscope.errors import JournalError
from capscope.journal.draws import QueryRecord, Start
from capscope.journal.journal import Journal
from capscope.journal.run_directory import (
    RunDirectory,
    is_being_written,
    journal_stamp,
    read_progress,
)
from support.small_runs import DARK, draw, small_run
from support.toy_worlds import slippery_board

ONE = [[draw((0, 0, 1))], [draw((0, 1, 2), (2, 0, 3)), draw((0, 1, 0))]]


def test_progress_counts_what_loading_counts(tmp_path):
    made = assess(slippery_board(), budget=Budget(executions=60), run=tmp_path / "run")
    progress = read_progress(made.path)
    usage = load(made.path).executions.queries.usage()
    assert (progress.queries, progress.executions, progress.simulator_steps) == (
        usage.queries,
        usage.executions,
        usage.simulator_steps,
    )
    assert progress.meta.stop_reason == made.stop_reason


def test_counting_what_was_added_gives_the_same_as_counting_all(tmp_path):
    path = small_run(tmp_path / "run", ONE)
    progress, start = read_progress(path), Start(0, DARK)
    with closing(Journal.open(path / "journal.sqlite")) as journal:
        for number in range(2, 6):
            journal.begin_query(number, QueryRecord(start, 0, 0.0, 1.0, True))
            for index in range(number % 3):
                journal.add_draw((number, index), start, draw((0, 0, 1), (1, 1, 3)), {})
                progress = read_progress(path, progress)
                assert progress == read_progress(path)
    assert (progress.queries, progress.draws, progress.executions) == (6, 8, 14)


def test_another_run_in_the_same_place_is_counted_afresh(tmp_path):
    path = small_run(tmp_path / "run", ONE)
    before = read_progress(path)
    (path / "journal.sqlite").unlink()
    path.rmdir()
    small_run(path, [[draw((0, 0, 1))]])
    assert read_progress(path, before) == read_progress(path)


def test_a_stamp_changes_with_every_draw_and_not_by_reading(tmp_path):
    path, start = small_run(tmp_path / "run", ONE), Start(0, DARK)
    with closing(Journal.open(path / "journal.sqlite")) as journal:
        stamps = [journal_stamp(path)]
        for number in range(2, 8):
            journal.begin_query(number, QueryRecord(start, 0, 0.0, 1.0, True))
            journal.add_draw((number, 0), start, draw((0, 0, 1)), {})
            stamps.append(journal_stamp(path))
    assert len(set(stamps)) == len(stamps)
    after = journal_stamp(path)
    read_progress(path)
    load(path)
    assert journal_stamp(path) == after


def test_reading_progress_leaves_no_file_behind(tmp_path):
    path = small_run(tmp_path / "run", ONE)
    before = {file: file.read_bytes() for file in path.iterdir()}
    read_progress(path)
    assert {file: file.read_bytes() for file in path.iterdir()} == before


@pytest.mark.parametrize("content", [b"", b"no database at all, but some text" * 40])
def test_a_file_that_is_no_journal_is_refused(tmp_path, content):
    (tmp_path / "journal.sqlite").write_bytes(content)
    with pytest.raises(JournalError, match="left untouched"):
        read_progress(tmp_path)
    assert (tmp_path / "journal.sqlite").read_bytes() == content


def test_the_database_of_another_program_is_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as db:
        db.execute("CREATE TABLE draws (query)")
    with pytest.raises(JournalError, match="is not a capscope journal"):
        read_progress(tmp_path)


def test_a_journal_that_another_program_has_locked_is_not_waited_for(tmp_path):
    path = small_run(tmp_path / "run", ONE)
    before = read_progress(path)
    with closing(sqlite3.connect(path / "journal.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("BEGIN EXCLUSIVE")
        assert read_progress(path) == before


def test_a_run_is_being_written_while_its_directory_is_open_for_writing(tmp_path):
    path = small_run(tmp_path / "run", ONE)
    assert not is_being_written(path)
    with RunDirectory.open(path):
        assert is_being_written(path)
        assert is_being_written(path)
    assert not is_being_written(path)
    with RunDirectory.open(path, read_only=True):
        assert not is_being_written(path)


def test_somebody_who_only_looks_does_not_keep_a_run_from_being_opened(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    path = small_run(tmp_path / "run", ONE)
    RunDirectory.open(path).close()
    handle = os.open(path / ".lock", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_SH)

    threading.Timer(0.03, os.close, [handle]).start()
    with RunDirectory.open(path):
        assert is_being_written(path)
