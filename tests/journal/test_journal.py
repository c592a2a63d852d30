import json
import random
import shutil
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capscope import Budget
from capscope.errors import JournalError
from capscope.journal.draws import LONGEST_TRANSCRIPT, Draw, Execution, QueryRecord, Start
from capscope.journal.journal import Journal
from capscope.journal.run_meta import InitialPosition, InitialPositions, StopReason
from capscope.logic import Intent
from capscope.problem import Attempt, Ending
from capscope.problem.positions import SavedPosition
from support.small_journals import (
    INTENTS,
    META,
    QUERY,
    START,
    add_draw,
    at,
    everything,
    simple_draw,
    snapshots,
    written,
)

STATES = st.integers(0, 2**80 - 1)
ATTEMPTS = st.builds(
    Attempt,
    st.lists(STATES, min_size=1, max_size=4).map(tuple),
    st.integers(0, 100),
    st.sampled_from(Ending),
    st.integers(0, 10**6),
    st.text(st.characters()),
    st.text(st.characters()),
    st.lists(st.one_of(st.integers(), st.text()), max_size=3).map(tuple),
)
DRAWS = st.builds(
    Draw,
    st.lists(st.builds(Execution, st.integers(0, 5), ATTEMPTS), max_size=4).map(tuple),
    st.integers(0, 1000),
    st.integers(0, 10**9),
    st.floats(0, 1e6),
    st.booleans(),
    st.one_of(st.none(), st.builds(SavedPosition, st.binary(), st.binary())),
    st.floats(0, 1e6),
)
KEPT = st.dictionaries(st.tuples(STATES, st.integers(0, 3)), st.binary(), max_size=3)


def as_read(draw):
    bare = [
        Execution(c, attempt._replace(transcript="", actions=())) for c, attempt in draw.executions
    ]
    return replace(draw, executions=tuple(bare))


def transcripts(journal, recorded):
    return [
        journal.transcript(0, index, number)
        for index, (draw, _) in enumerate(recorded)
        for number in range(len(draw.executions))
    ]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


@pytest.fixture
def journal(path):
    with closing(Journal.create(path, META)) as journal:
        yield journal


def test_a_new_journal_knows_what_the_run_was_started_with(journal):
    assert journal.read_meta() == META
    began = InitialPositions(2, True, (0b1, 0b10))
    journal.set_meta(budget=Budget(executions=99))
    journal.set_meta(initial_positions=began)
    journal.set_meta(file_digests=["a", "ünïcödé"])
    journal.set_meta(unrecorded_cost=0.25)
    journal.set_stopped(StopReason.budget("executions"), Budget(executions=99))
    meta = journal.read_meta()
    assert (meta.budget, meta.initial_positions) == (Budget(executions=99), began)
    assert (meta.file_digests, meta.unrecorded_cost) == (("a", "ünïcödé"), 0.25)
    assert meta.stop_reason == StopReason.budget("executions")
    journal.set_meta(budget=Budget(executions=100))
    assert journal.read_meta().stop_reason is None


def test_states_have_as_many_bits_as_there_are_atoms(journal):
    wide = (1 << 20_000) - 1
    began = InitialPositions(1, states=(wide,), each=(InitialPosition("0" * 32, wide, 1),))
    journal.set_meta(initial_positions=began)
    assert journal.read_meta().initial_positions == began


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(DRAWS, KEPT), max_size=4))
def test_draws_and_snapshots_are_read_as_they_were_written(tmp_path_factory, recorded):
    path = tmp_path_factory.mktemp("run") / "journal.sqlite"
    snapshots_kept = {}
    with closing(Journal.create(path, META)) as journal:
        journal.begin_query(0, QUERY)
        for index, (draw, kept) in enumerate(recorded):
            add_draw(journal, 0, index, draw, kept)
            snapshots_kept.update(kept)
        journals = [journal, Journal.open(path), Journal.open(path, read_only=True)]
        for each in journals:
            with closing(each):
                assert each.draws(0) == [as_read(draw) for draw, _ in recorded]
                for index, (draw, _) in enumerate(recorded):
                    made = [attempt.actions for _, attempt in draw.executions]
                    assert each.actions(0, index) == made
                assert transcripts(each, recorded) == [
                    attempt.transcript.encode(errors="backslashreplace").decode()
                    for draw, _ in recorded
                    for _, attempt in draw.executions
                ]
                for state, _ in snapshots_kept:
                    slots = sorted(slot for other, slot in snapshots_kept if other == state)
                    kept = [snapshots_kept[state, slot] for slot in slots]
                    assert snapshots(each, state) == kept
    shutil.rmtree(path.parent)


def test_an_agents_words_survive_whatever_they_are(journal, path):
    details = ["\x00", "\ud800", "👩‍🚀 \u202e", "'); DROP TABLE draws; --", "line\nline", "\uffff"]
    for index, detail in enumerate(details):
        add_draw(journal, 0, index, simple_draw(0, 1, detail=detail))
    with closing(Journal.open(path)) as again:
        assert [draw.executions[0].attempt.detail for draw in again.draws(0)] == details


def test_a_query_is_written_down_before_it_is_finished(journal):
    assert journal.query(0) is None
    journal.begin_query(0, QUERY)
    assert journal.query(0) == QUERY
    journal.finish_query(0, {"kind": "sequence", "asks": [1, 2]}, 2.5)
    done = journal.query(0)
    assert (done.finished, done.seconds) == (True, 2.5)
    assert json.loads(done.policy) == {"kind": "sequence", "asks": [1, 2]}
    assert done.start == QUERY.start


def test_intents_keep_their_numbers(journal):
    journal.add_intents(INTENTS[:2], 0)
    journal.add_intents(INTENTS[1:], 1)
    journal.add_intents(INTENTS, 0)
    assert journal.intents() == INTENTS


def test_a_snapshot_replaces_the_one_in_its_slot(journal):
    journal.keep_position(5, 1, at(b"old"))
    journal.keep_position(5, 0, at(b"first"))
    journal.keep_position(5, 1, at(b"new"))
    assert snapshots(journal, 5) == [b"first", b"new"]
    assert snapshots(journal, 6) == []


def test_ends_are_kept_of_the_latest_query_only(journal):
    def draw(end):
        return Draw((), 0, 0, 0.0, False, None if end is None else at(end))

    add_draw(journal, 0, 0, draw(b"old"))
    add_draw(journal, 1, 0, draw(b"new"))
    assert journal.draws(0) == [draw(None)]
    assert journal.draws(1) == [draw(b"new")]


def test_a_reopened_journal_holds_the_same_and_goes_on(path):
    with closing(Journal.open(written(path))) as journal:
        before = everything(journal)
        add_draw(journal, 0, 30, simple_draw(7, 999))
    with closing(Journal.open(path)) as journal:
        assert everything(journal)[:3] == before[:3]
        assert journal.draws(0) == [*before[3], simple_draw(7, 999)]


def test_a_draw_is_on_disk_once_it_was_added(journal, path, tmp_path):
    journal.begin_query(0, QUERY)
    add_draw(journal, 0, 0, simple_draw(1, 2))
    # What a kill at this moment leaves behind.
    copy = Path(shutil.copytree(tmp_path, tmp_path / "killed")) / path.name
    with closing(Journal.open(copy)) as left:
        assert left.draws(0) == [simple_draw(1, 2)]


def test_an_existing_file_is_not_overwritten(path):
    path.write_text("precious")
    with pytest.raises(JournalError, match="exists; resume the run or choose another directory"):
        Journal.create(path, META)
    assert path.read_text() == "precious"


def test_what_a_kill_left_of_a_journal_under_creation_is_in_nobodys_way(path):
    for end in ("", "-wal", "-shm"):
        path.with_name(f".{path.name}.draft{end}").write_text("half")
    with closing(Journal.create(path, META)) as journal:
        assert journal.read_meta() == META
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_journal_is_write_ahead_as_soon_as_it_has_its_name(path, monkeypatch):
    # Otherwise SQLite writes a rollback file when it is opened first; a run that was killed then
    # could not be resumed, because nobody knows where such a file comes from.
    versions = []
    monkeypatch.setattr(
        Journal, "open", classmethod(lambda _, at: versions.append(at.read_bytes()[18:20]))
    )
    Journal.create(path, META)
    assert versions == [b"\x02\x02"]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_reader_does_not_write(path):
    with closing(Journal.open(written(path), read_only=True)) as journal:
        with pytest.raises(JournalError, match="was opened readonly"):
            journal.set_meta(unrecorded_cost=1.0)
        assert journal.read_meta() == META


def test_a_reader_may_look_while_a_run_is_under_way(journal, path):
    journal.begin_query(0, QUERY)
    with closing(Journal.open(path, read_only=True)) as reader:
        add_draw(journal, 0, 0, simple_draw(START.state))
        assert reader.draws(0) == [simple_draw(START.state)]


def test_a_second_writer_is_told_to_wait(journal, path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        journal._db.execute("PRAGMA busy_timeout = 0")
        with pytest.raises(JournalError, match="another process is writing"):
            add_draw(journal, 0, 0, simple_draw(0, 1))
        other.execute("ROLLBACK")
    add_draw(journal, 0, 0, simple_draw(0, 1))
    assert journal.draws(0) == [simple_draw(0, 1)]


# A full disk.


def fill_disk(journal, pages=0):
    used = journal._db.execute("PRAGMA page_count").fetchone()[0]
    journal._db.execute(f"PRAGMA max_page_count = {used + pages}")


def free_disk(journal):
    journal._db.execute("PRAGMA max_page_count = 1000000")


def test_a_full_disk_is_said_to_be_full_and_nothing_recorded_is_lost(journal, path):
    journal.begin_query(0, QUERY)
    fill_disk(journal, pages=8)
    recorded = []
    with pytest.raises(
        JournalError, match="the disk is full; finished draws, if any, are kept"
    ) as full:
        for index in range(1000):
            draw = simple_draw(index, index + 1, detail="long thoughts " * 40)
            add_draw(journal, 0, index, draw, {(index, 0): b"snapshot" * 20})
            recorded.append(draw)
    assert recorded
    assert "\n" not in str(full.value)
    assert journal.draws(0) == recorded
    with closing(Journal.open(path, read_only=True)) as reader:
        assert reader.draws(0) == recorded
        assert snapshots(reader, 0) == [b"snapshot" * 20]


def test_writing_goes_on_when_there_is_space_again_and_states_keep_their_numbers(journal, path):
    journal.begin_query(0, QUERY)
    add_draw(journal, 0, 0, simple_draw(10, 11))
    fill_disk(journal)
    # The states are numbered before the draw fails: none of the numbers may stay taken.
    lost = simple_draw(*range(100, 400), detail="much " * 5000)
    for _ in range(2):
        with pytest.raises(JournalError, match="disk"):
            add_draw(journal, 0, 1, lost, {(500, 0): b"x" * 10_000})
    assert journal.draws(0) == [simple_draw(10, 11)]
    assert snapshots(journal, 500) == []
    free_disk(journal)
    add_draw(journal, 0, 1, simple_draw(300, 10, 200), {(200, 0): b"here"})
    add_draw(journal, 0, 2, lost)
    for each in (journal, Journal.open(path)):
        with closing(each):
            assert each.draws(0) == [simple_draw(10, 11), simple_draw(300, 10, 200), lost]
            assert snapshots(each, 200) == [b"here"]
            assert each.query(0) == QUERY


def test_a_draw_that_failed_can_be_added_again_as_it_is(journal, path):
    draw = simple_draw(*range(100, 200))
    fill_disk(journal)
    with pytest.raises(JournalError, match="disk is full"):
        add_draw(journal, 0, 0, draw, {(100, 0): b"x" * 100_000})
    free_disk(journal)
    journal.keep_position(555, 0, at(b"other"))
    add_draw(journal, 0, 0, draw)
    assert journal.draws(0) == [draw]
    with closing(Journal.open(path)) as again:
        assert again.draws(0) == [draw]


@pytest.mark.parametrize(
    "write",
    [
        lambda journal: journal.set_meta(file_digests=["x" * 100_000]),
        lambda journal: journal.add_intents([Intent.parse(f"p{i}") for i in range(5000)], 0),
        lambda journal: journal.begin_query(
            0, QueryRecord(Start(1, at(b"x" * 100_000)), 0, 0.0, 0.0, False)
        ),
        lambda journal: journal.keep_position(77, 0, at(b"x" * 100_000)),
    ],
)
def test_no_kind_of_entry_is_half_written_on_a_full_disk(journal, path, write):
    fill_disk(journal)
    with pytest.raises(JournalError, match="disk is full"):
        write(journal)
    assert (journal.read_meta(), journal.intents(), journal.query(0)) == (META, [], None)
    free_disk(journal)
    write(journal)
    with closing(Journal.open(path)) as again:
        assert (again.read_meta() == META) is (journal.read_meta() == META)
        assert again.intents() == journal.intents()
        assert again.query(0) == journal.query(0)
        assert snapshots(again, 77) == snapshots(journal, 77)


def told(text, executions=1):
    attempts = [Attempt((0, 1), 1, Ending.STOPPED, transcript=text)] * executions
    return Draw(tuple(Execution(0, each) for each in attempts), 1, 0, 0.5, False)


def test_what_transcripts_have_in_common_is_kept_once(journal, path):
    instruction = "".join(random.Random(1).choices("abcdefghij ", k=20_000))
    for index in range(20):
        add_draw(journal, 0, index, told(f"{instruction}{index}"))
    with closing(sqlite3.connect(path)) as db:
        sizes = [size for (size,) in db.execute("SELECT length(text) FROM transcripts")]
    assert sizes[0] > 5_000
    assert max(sizes[1:]) < 200
    with closing(Journal.open(path)) as again:
        assert again.transcript(0, 7, 0) == f"{instruction}7"


def test_the_end_of_a_transcript_that_is_too_long_is_omitted(journal):
    add_draw(journal, 0, 0, told("äb" * 3_000_000))
    kept = journal.transcript(0, 0, 0)
    assert kept.startswith("äb" * 1_000_000)
    assert kept.endswith("… (the rest of 9,000,000 bytes is omitted)")
    assert len(kept.encode()) <= LONGEST_TRANSCRIPT


def test_a_transcript_belongs_to_one_execution_and_may_be_missing(journal):
    add_draw(journal, 0, 0, simple_draw(0, 1))
    add_draw(journal, 0, 1, told("words", executions=2))
    found = [journal.transcript(0, *place) for place in ((0, 0), (1, 0), (1, 1), (1, 2), (2, 0))]
    assert found == ["", "words", "words", "", ""]


def test_a_transcript_is_written_with_its_draw_or_not_at_all(journal, path):
    add_draw(journal, 0, 0, told("first"))
    with pytest.raises(JournalError):
        add_draw(journal, 0, 0, told("second"))
    assert journal.transcript(0, 0, 0) == "first"
    add_draw(journal, 0, 1, told("third"))
    assert journal.transcript(0, 1, 0) == "third"


@pytest.mark.parametrize(
    "blob", [b"", b"no zlib", b"\x78\x9c\x4b", zlib.compress(bytes(50_000_000))]
)
def test_a_transcript_that_cannot_be_unpacked_is_an_error_of_the_journal(journal, path, blob):
    add_draw(journal, 0, 0, told("first"))
    add_draw(journal, 0, 1, told("second"))
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE transcripts SET text = ? WHERE draw = 1", (blob,))
        db.commit()
    assert journal.transcript(0, 0, 0) == "first"
    with pytest.raises(JournalError, match="holds something capscope did not write"):
        journal.transcript(0, 1, 0)


def test_a_large_snapshot_is_kept_once_and_removed_with_its_last_use(journal, path):
    large = [SavedPosition.unnamed(bytes([i]) * 10_000) for i in range(3)]

    def stored():
        with closing(sqlite3.connect(path)) as db:
            return db.execute("SELECT count(*), sum(length(data)) FROM contents").fetchone()

    for slot in range(4):
        journal.keep_position(5, slot, large[0])
    assert journal.positions(5) == [large[0]] * 4
    assert stored() == (1, 10_000)
    for slot in range(4):
        journal.keep_position(5, slot, large[1 + slot % 2])
    assert stored() == (2, 20_000)
    assert journal.positions(5) == [large[1], large[2]] * 2
    assert large[0].name != large[1].name


def test_large_snapshots_have_a_bound(journal, monkeypatch):
    monkeypatch.setattr("capscope.journal.checked_tables.MOST_BYTES", 25_000)
    for i in range(2):
        journal.keep_position(i, 0, SavedPosition.unnamed(bytes([i]) * 10_000))
    with pytest.raises(JournalError, match=r"take more than 25,000 bytes; .* --set snapshots=1"):
        journal.keep_position(3, 0, SavedPosition.unnamed(b"3" * 10_000))
    journal.keep_position(0, 0, SavedPosition.unnamed(b"small"))
    journal.keep_position(3, 0, SavedPosition.unnamed(b"3" * 10_000))


def test_a_large_snapshot_that_is_damaged_is_an_error_of_the_journal(journal, path):
    journal.keep_position(5, 0, SavedPosition.unnamed(b"x" * 10_000))
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE contents SET data = zeroblob(10000)")
        db.commit()
    with pytest.raises(JournalError, match="is missing or damaged"):
        journal.positions(5)
