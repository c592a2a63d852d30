"""Files that are not intact journals: one line that says what to do, and not a byte changed."""

import itertools
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.errors import JournalError
from capscope.journal import journal_file
from capscope.journal.journal import Journal
from capscope.journal.journal_file import FORMAT_VERSION
from support.small_journals import META, QUERY, add_draw, change, everything, simple_draw, written


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


def refusal(path, **options):
    """Return the message with which a file is refused; it must be left as it was."""
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(JournalError) as caught, closing(Journal.open(path, **options)) as journal:
        everything(journal)
    assert (path.read_bytes() if path.exists() else None) == before
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_a_busy_machine_does_not_make_a_journal_suspicious(path, monkeypatch):
    # Checking takes limited time, but of the processor: others may have it for minutes.
    clock = SimpleNamespace(thread_time=lambda: 0.0, monotonic=itertools.count(0, 1e9).__next__)
    monkeypatch.setattr(journal_file, "time", clock)
    monkeypatch.setattr(journal_file, "_OPERATIONS_BETWEEN_LOOKS", 1)
    Journal.open(written(path)).close()
    clock.thread_time = itertools.count(0, 1e9).__next__
    assert "checking it takes too long" in refusal(path)


def test_a_missing_file_is_named(path):
    assert "no journal at" in refusal(path)
    assert f"is {path.parent} a run directory?" in refusal(path)


def test_a_directory_is_no_journal(path):
    path.mkdir()
    with pytest.raises(JournalError, match="no journal at"):
        Journal.open(path)


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0 oh no"])
@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_that_is_no_database_is_left_alone(path, content, read_only):
    path.write_bytes(content)
    assert "damaged or not a journal; it was left untouched" in refusal(path, read_only=read_only)


def test_an_empty_file_is_left_alone(path):
    path.touch()
    assert "is not a capscope journal; it was left untouched" in refusal(path)


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_foreign_database_is_left_alone(path, mode):
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("CREATE TABLE draws (mine TEXT)")
        db.commit()
    assert "is not a capscope journal; it was left untouched" in refusal(path)


def test_a_foreign_database_in_use_is_left_alone(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = wal")
        db.execute("CREATE TABLE draws (mine TEXT)")
        assert "is not a capscope journal" in refusal(path)


@pytest.mark.parametrize("version", [1, 3, FORMAT_VERSION + 1])
def test_a_journal_of_another_format_names_both_versions(path, version):
    change(written(path), f"PRAGMA user_version = {version}")
    message = refusal(path)
    assert f"has format {version}, this capscope reads {FORMAT_VERSION}" in message
    assert "use the version that wrote it, or start a new run" in message


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.99])
def test_a_truncated_journal_is_found_and_left_alone(path, share):
    whole = written(path).read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    assert "it was left untouched" in refusal(path)


def test_a_damaged_page_is_found_and_left_alone(path):
    content = bytearray(written(path).read_bytes())
    content[4096 * 2 : 4096 * 3] = b"\xff" * 4096
    path.write_bytes(content)
    assert "it was left untouched" in refusal(path)


def test_a_damaged_journal_of_a_killed_run_keeps_what_was_not_merged_yet(path, tmp_path):
    with closing(Journal.create(path, META)) as journal:
        journal.begin_query(0, QUERY)
        for index in range(50):
            add_draw(journal, 0, index, simple_draw(0, 1, detail=f"{index}" * 200))
        journal._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        add_draw(journal, 0, 50, simple_draw(0, 1))
        copy = Path(shutil.copytree(tmp_path, tmp_path / "killed")) / path.name
    content = bytearray(copy.read_bytes())
    content[4096 * 5 :] = b"\xff" * len(content[4096 * 5 :])
    copy.write_bytes(content)
    log = copy.with_name(f"{copy.name}-wal")
    before = log.read_bytes()
    assert before
    assert "it was left untouched" in refusal(copy)
    assert log.read_bytes() == before


BAD_ROWS = [
    "UPDATE meta SET value = '{'",
    "UPDATE intents SET literals = '[\"on(a\"]'",
    "UPDATE intents SET literals = '[]'",
    "UPDATE intents SET literals = '7'",
    "UPDATE positions SET state = 99999",
    "UPDATE states SET bits = 'xyz' WHERE id = 3",
    "DELETE FROM states WHERE id = 3",
    "UPDATE draws SET attempts = '[[0,[99999],1,0]]'",
    "UPDATE draws SET attempts = '[[0,[1],1,99]]'",
    "UPDATE draws SET attempts = '[[0]]'",
    "UPDATE draws SET attempts = 'null'",
    "DROP TABLE draws",
]


@pytest.mark.parametrize("statement", BAD_ROWS)
def test_what_something_else_wrote_into_a_journal_is_an_error_of_the_journal(path, statement):
    change(written(path), statement, signed=statement != "DROP TABLE draws")
    assert "it was left untouched" in refusal(path)


def test_a_damaged_schema_is_told_in_one_line(path):
    content = written(path).read_bytes()
    assert b"cut INTEGER NOT NULL" in content
    path.write_bytes(content.replace(b"cut INTEGER NOT NULL", b"cut 'NTEGER NOT NULL"))
    assert "malformed database schema" in refusal(path)


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    return written(tmp_path_factory.mktemp("intact") / "journal.sqlite", draws=5)


@pytest.fixture(scope="module")
def content(intact):
    with closing(Journal.open(intact, read_only=True)) as journal:
        return everything(journal)


@pytest.mark.parametrize("table", ["meta", "states", "intents", "positions", "draws", "snapshots"])
def test_a_row_that_is_missing_is_named(path, table):
    change(
        written(path),
        f"DELETE FROM {table} WHERE rowid = 0" if table == "states" else f"DELETE FROM {table}",
        signed=False,
    )
    message = refusal(path)
    assert f"is damaged ({table}" in message
    assert "instead of" in message


def test_a_value_that_differs_is_named_by_its_queries(path):
    change(written(path), "UPDATE draws SET simulator_steps = 3 WHERE draw = 4", signed=False)
    assert "is damaged (draws of queries 0 to 1023: the checksum differs)" in refusal(path)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) "
        "SELECT x FROM c",
        "CREATE TRIGGER t AFTER INSERT ON draws BEGIN DELETE FROM states; END",
        "CREATE TABLE mine (x)",
        "CREATE INDEX i ON draws (cut)",
    ],
)
def test_a_journal_has_its_tables_and_nothing_else(path, statement):
    change(written(path), statement)
    assert "does not have the tables of a journal" in refusal(path)


@given(st.data())
def test_a_flipped_byte_never_shows_as_anything_but_an_error_of_the_journal(intact, content, data):
    damaged = bytearray(intact.read_bytes())
    place = data.draw(st.integers(0, len(damaged) - 1))
    damaged[place] ^= data.draw(st.integers(1, 255))
    path = intact.with_name("flipped.sqlite")
    path.write_bytes(damaged)
    try:
        with closing(Journal.open(path, read_only=True)) as journal:
            assert everything(journal) == content
    except JournalError as error:
        assert "\n" not in str(error)
    finally:
        assert path.read_bytes() == damaged
        for file in path.parent.glob("flipped.sqlite*"):
            file.unlink()


def test_a_journal_is_read_where_nothing_may_be_written(tmp_path, monkeypatch):
    path = written(tmp_path / "journal.sqlite")
    with closing(Journal.open(path)) as journal:
        before = everything(journal)
    monkeypatch.setattr("os.access", lambda *_: False)
    with closing(Journal.open(path, read_only=True)) as journal:
        assert everything(journal) == before
        assert [child.name for child in tmp_path.iterdir()] == [path.name]
        with pytest.raises(JournalError, match="readonly"):
            journal.set_meta(unrecorded_cost=4.0)
