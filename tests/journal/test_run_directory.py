import json
import os
import re
import stat
import subprocess
import sys
from contextlib import ExitStack, closing
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from capscope import (
    Budget,
    CapscopeError,
    Limits,
    Settings,
    Vocabulary,
    __version__,
    assess,
    resume,
)
from capscope.assessment import RunSpec
from capscope.errors import JournalError, RunError
from capscope.journal import run_directory
from capscope.journal.journal import Journal
from capscope.journal.run_directory import (
    RunDirectory,
    is_being_written,
    read_progress,
    versions,
    write_atomically,
)
from capscope.logic import to_json
from capscope.problems import load_problem
from support.processes import SECONDS, started
from support.small_journals import change
from support.toy_worlds import Board, Seen, SeenWithAnUndeclaredAtom, board_problem, slippery_board

SMALL = Settings(draws=2, random_length=4, walks=2, walk_steps=6, patience=3)
GIVEN = {"strategy": "random", "settings": SMALL, "seed": 5}
_SUPPORT = str(Path(__file__).parents[1])
_WITH_SUPPORT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([_SUPPORT, *filter(None, [os.environ.get("PYTHONPATH")])]),
}


def admit(opened, spec):
    opened.admit(spec.identity, spec.budget)


def spec(problem=None, **changed):
    return replace(RunSpec(problem or board_problem(), "board", **GIVEN), **changed)


@pytest.fixture
def run(tmp_path):
    assess(board_problem(), run=tmp_path / "run", budget=Budget(queries=2), **GIVEN)
    return tmp_path / "run"


class OtherWords(Seen):
    vocabulary = Vocabulary.of_atoms("abc")


DIFFERENCES = {
    "source": (spec(source="table"), "source was 'board', now 'table'"),
    "fingerprint": (
        spec(replace(board_problem(), fingerprint="new")),
        "fingerprint was '', now 'new'",
    ),
    "vocabulary": (spec(board_problem(abstraction=OtherWords())), "vocabulary was '"),
    "strategy": (spec(strategy="mcqs-s"), "strategy was 'random', now 'mcqs-s'"),
    "seed": (spec(seed=6), "seed was 5, now 6"),
    "horizon": (spec(board_problem(horizon=7)), "horizon was 100, now 7"),
    "temporal length": (
        spec(board_problem(temporal_length=None)),
        "temporal length was 1, now None",
    ),
    "reset every": (spec(board_problem(reset_every=9)), "reset every was None, now 9"),
    "setting": (spec(settings=replace(SMALL, draws=4)), "setting draws was 2, now 4"),
    "intents": (
        spec(settings=replace(SMALL, intents=("lit(a)",))),
        "setting intents was [], now ['lit(a)']",
    ),
}


@pytest.mark.parametrize(("other", "named"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_a_run_is_not_resumed_as_another_and_the_difference_is_named(run, other, named):
    before = (run / "journal.sqlite").read_bytes(), (run / "run.json").read_bytes()
    with RunDirectory.open(run) as opened, pytest.raises(RunError) as refused:
        admit(opened, other)
    message = str(refused.value)
    assert message.startswith(f"{run} was started differently: ")
    assert named in message
    assert ";" not in message  # nothing else differs
    assert before == ((run / "journal.sqlite").read_bytes(), (run / "run.json").read_bytes())


def test_every_difference_is_named(run):
    with RunDirectory.open(run) as opened, pytest.raises(RunError) as refused:
        admit(opened, spec(seed=6, settings=replace(SMALL, draws=4, patience=7)))
    for named in ("seed was 5", "setting draws was 2", "setting patience was 3, now 7"):
        assert named in str(refused.value)


def test_a_budget_is_not_a_difference(run):
    with RunDirectory.open(run) as opened:
        admit(opened, spec(budget=Budget(executions=99)))
        assert opened.journal.read_meta().budget == Budget(executions=99)
    assert json.loads((run / "run.json").read_text())["budget"]["executions"] == 99


def test_another_problem_is_refused_when_resuming_from_python(run):
    with pytest.raises(RunError, match="horizon was 100, now 3"):
        resume(run, problem=board_problem(horizon=3))


DOMAIN = """(define (domain lamp)
  (:predicates (lit))
  (:action light :precondition (not (lit)) :effect (lit))
  (:action douse :precondition (lit) :effect (not (lit))))
"""
PROBLEM = "(define (problem night) (:domain lamp) (:init) (:goal (lit)))\n"


def test_a_changed_domain_file_is_refused_with_the_difference_named(tmp_path):
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    source = f"{tmp_path / 'domain.pddl'}:{tmp_path / 'problem.pddl'}"
    assess(source, run=tmp_path / "run", budget=Budget(queries=1), **GIVEN)
    was = load_problem(source).fingerprint
    (tmp_path / "domain.pddl").write_text(DOMAIN.replace("(lit) :effect", "(and (lit)) :effect"))
    now = load_problem(source).fingerprint
    with pytest.raises(RunError) as refused:
        resume(tmp_path / "run", trust=True)
    assert f"fingerprint was {was!r}, now {now!r}" in str(refused.value)
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    resume(tmp_path / "run", trust=True)


def test_run_json_says_what_the_run_was_started_with(run):
    summary = json.loads((run / "run.json").read_text())
    assert summary["seed"] == 5
    assert summary["strategy"] == "random"
    assert summary["settings"] == {**to_json(SMALL), "batch": 1}
    assert summary["vocabulary"] == board_problem().vocabulary.fingerprint
    assert summary["budget"]["queries"] == 2
    assert {"python", "capscope", "numpy"} <= summary["versions"].keys()


def test_assess_does_not_touch_a_directory_that_holds_a_run(run):
    before = (run / "journal.sqlite").read_bytes()
    with pytest.raises(RunError) as refused:
        assess(board_problem(), run=run, **GIVEN)
    assert f"already holds a run; continue it with `capscope resume {run}`" in str(refused.value)
    assert (run / "journal.sqlite").read_bytes() == before


# Two processes and one run.


def test_a_second_handle_on_a_run_is_refused_and_a_reader_is_not(run):
    with RunDirectory.open(run):
        with pytest.raises(RunError, match="another process is working on"):
            RunDirectory.open(run)
        with pytest.raises(RunError, match="another process is working on"):
            resume(run, problem=board_problem())
        RunDirectory.open(run, read_only=True).close()
    RunDirectory.open(run).close()


def test_a_run_under_way_in_another_process_is_refused(run):
    script = "import fcntl, sys; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); "
    script += "print('locked', flush=True); sys.stdin.read()"
    with started(
        [sys.executable, "-c", script, run / ".lock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        other.stdout.readline()
        with pytest.raises(RunError, match="another process is working on"):
            resume(run, problem=board_problem())
        other.communicate(timeout=SECONDS)
    resume(run, problem=board_problem())


def test_two_assessments_cannot_begin_in_one_directory(tmp_path):
    with RunDirectory.create(tmp_path / "run", spec().meta()):
        (tmp_path / "run" / "journal.sqlite").rename(tmp_path / "aside")
        with pytest.raises(RunError, match="another process is working on"):
            RunDirectory.create(tmp_path / "run", spec().meta())


_STARTS = """
import sys
from capscope import Budget, assess
from capscope.errors import RunError
from support.toy_worlds import slippery_board
print("ready", flush=True)
for line in sys.stdin:
    try:
        assess(slippery_board(), run=line.strip(), strategy="random", budget=Budget(queries=4))
        print("ran", flush=True)
    except RunError as error:
        print(error, flush=True)
"""


def rows_of(run):
    with closing(Journal.open(run / "journal.sqlite", read_only=True)) as journal:
        return [
            journal._db.execute(f"SELECT {columns} FROM {table}").fetchall()
            for table, columns in (
                ("draws", "query, draw, position, attempts, simulator_steps, cut"),
                ("queries", "id, position, finished, policy"),
                ("intents", "*"),
                ("states", "*"),
            )
        ]


def test_of_processes_that_start_a_run_at_once_one_makes_it_and_the_others_are_refused(tmp_path):
    alone = assess(
        slippery_board(), run=tmp_path / "alone", strategy="random", budget=Budget(queries=4)
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        command = [sys.executable, "-c", _STARTS]
        starters = [
            stack.enter_context(started(command, **pipes, env=_WITH_SUPPORT)) for _ in range(4)
        ]
        for starter in starters:
            assert starter.stdout.readline() == "ready\n"
        for number in range(8):
            run = tmp_path / f"run-{number}"
            if number % 2:
                run.mkdir()
            for starter in starters:
                print(run, file=starter.stdin, flush=True)
            said = sorted(starter.stdout.readline() for starter in starters)
            refused = r"another process is working on|already holds a run"
            assert [bool(re.search(refused, line)) for line in said].count(True) == 3, said
            assert "ran\n" in said
            assert rows_of(run) == rows_of(alone.path)
            assert (run / "model.json").read_text() == (alone.path / "model.json").read_text()


def test_a_start_that_comes_too_late_removes_nothing_of_the_one_before(tmp_path, monkeypatch):
    with ExitStack() as first:
        locked = run_directory._locked

        def late(path, undo, **options):
            monkeypatch.undo()
            first.enter_context(RunDirectory.create(path, spec().meta()))
            return locked(path, undo, **options)

        monkeypatch.setattr(run_directory, "_locked", late)
        with pytest.raises(RunError, match="another process is working on"):
            RunDirectory.create(tmp_path / "run", spec().meta())
        left = {"journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "run.json", ".lock"}
        assert {path.name for path in (tmp_path / "run").iterdir()} == left


def test_a_lock_that_is_removed_while_it_is_waited_for_is_made_anew(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    flock = fcntl.flock

    def removed(handle, operation):
        monkeypatch.undo()
        (tmp_path / "run" / ".lock").unlink()
        (tmp_path / "run").rmdir()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", removed)
    with RunDirectory.create(tmp_path / "run", spec().meta()):
        assert is_being_written(tmp_path / "run")


def test_a_run_that_could_not_be_opened_is_not_locked(run):
    journal = run / "journal.sqlite"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:5000])
    for _ in range(2):
        with pytest.raises(JournalError):
            resume(run, problem=board_problem())
    journal.write_bytes(whole)
    resume(run, problem=board_problem())


def test_a_run_that_could_not_be_made_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("capscope.journal.run_directory.SUMMARY", "below/nothing")
    with pytest.raises(RunError, match="cannot write"):
        assess(board_problem(), run=tmp_path / "run", **GIVEN)
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    assess(board_problem(), run=tmp_path / "run", **GIVEN)


_FULL = """
import resource, sys
from capscope import Budget, CapscopeError, assess
from support.toy_worlds import board_problem
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    assess(board_problem(), run=sys.argv[1], strategy="random", budget=Budget(executions=40))
except CapscopeError as error:
    print(error)
"""


def test_a_disk_that_fills_before_the_first_query_leaves_nothing(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "note.txt").write_text("mine")
    for kilobytes in (0, 20, 48):
        command = [sys.executable, "-c", _FULL, str(tmp_path / "run"), str(kilobytes * 1024)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, env=_WITH_SUPPORT
        )
        assert len(done.stdout.splitlines()) == 1, done
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["note.txt"]


def test_a_new_run_does_not_take_over_the_log_of_one_that_is_gone(tmp_path):
    with RunDirectory.create(tmp_path / "old", spec().meta()) as old:
        old.journal.set_meta(unrecorded_cost=7.0)
        (tmp_path / "new").mkdir()
        for name in ("journal.sqlite-wal", "journal.sqlite-shm"):
            (tmp_path / "new" / name).write_bytes((tmp_path / "old" / name).read_bytes())
    with RunDirectory.create(tmp_path / "new", spec(seed=5).meta()) as new:
        assert new.journal.read_meta().unrecorded_cost == 0.0
        assert new.journal.read_meta().identity.seed == 5


# Directories that are not runs.


def test_nothing_is_left_in_a_directory_that_is_not_a_run(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    for read_only in (True, False):
        with pytest.raises(JournalError, match=r"is .* a run directory"):
            RunDirectory.open(tmp_path, read_only=read_only)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_directory_that_cannot_be_written_to_is_an_error_of_the_run(run):
    (run / ".lock").unlink()
    (run / ".lock").mkdir()
    with pytest.raises(RunError, match=r"\.lock is not a regular file"):
        RunDirectory.open(run)


class BoardThatNeverChanges(Board):
    def step(self, action):
        return self.lit


class BoardThatDoesNotBegin(Board):
    def __init__(self, error=None):
        super().__init__()
        self.error = error or OSError("no power")

    def reset(self, seed):
        raise self.error


def left_of(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


BEFORE_ASKING = {
    "an unknown atom": (board_problem(abstraction=SeenWithAnUndeclaredAtom()), r"lit\(z\)"),
    "no change on the walk": (board_problem(BoardThatNeverChanges()), "no change was seen"),
    "a reset that raises": (board_problem(BoardThatDoesNotBegin()), "OSError: no power.*fix it$"),
}


@pytest.mark.parametrize("name", BEFORE_ASKING)
def test_a_run_that_fails_before_its_first_query_leaves_nothing_in_the_way(tmp_path, name):
    problem, words = BEFORE_ASKING[name]
    with pytest.raises(CapscopeError, match=words):
        assess(problem, run=tmp_path / "runs" / "mine")
    assert left_of(tmp_path) == ["runs"]
    assess(board_problem(), run=tmp_path / "runs" / "mine")


def test_files_that_existed_before_a_run_that_fails_stay(tmp_path):
    run = tmp_path / "mine"
    run.mkdir()
    (run / "notes.txt").write_text("mine")
    (run / "run.json").write_text("{}")
    with pytest.raises(CapscopeError, match="no change was seen"):
        assess(board_problem(BoardThatNeverChanges()), run=run)
    assert left_of(tmp_path) == ["mine", "mine/notes.txt", "mine/run.json"]


def test_an_interrupt_before_anything_is_asked_leaves_nothing_either(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        assess(board_problem(BoardThatDoesNotBegin(KeyboardInterrupt())), run=tmp_path / "mine")
    assert left_of(tmp_path) == []


def test_a_run_that_has_asked_something_is_never_removed(tmp_path):
    def stop(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assess(board_problem(), run=tmp_path / "mine", listener=stop)
    assert "mine/journal.sqlite" in left_of(tmp_path)
    with pytest.raises(RunError, match="already holds a run"):
        assess(board_problem(), run=tmp_path / "mine")
    # A mistake in resuming it, or in starting another there, is not a reason either.
    with pytest.raises(RunError, match="was started differently"):
        resume(tmp_path / "mine", problem=board_problem(horizon=7))
    assert resume(tmp_path / "mine", problem=board_problem()).usage.executions > 0


@pytest.mark.parametrize("name", ["x" * 300, "file", "file/below"])
def test_a_path_that_cannot_be_a_directory_is_an_error_of_the_run(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot make the run directory"):
        RunDirectory.create(tmp_path / name, spec().meta())
    with pytest.raises(RunError, match=r"no run directory|cannot look into"):
        RunDirectory.open(tmp_path / name)


@pytest.mark.parametrize("key", ["identity", "name", "vocabulary", "budget", "versions"])
def test_a_journal_without_a_required_entry_is_refused(run, key):
    change(run / "journal.sqlite", ("DELETE FROM meta WHERE key = ?", (key,)))
    for read_only in (True, False):
        with pytest.raises(JournalError, match=f"lacks its {key}"):
            RunDirectory.open(run, read_only=read_only)


# Wrong names are found before anything is written.


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"strategy": "oracle"}, "no strategy 'oracle'; choose one of"),
        ({"settings": replace(SMALL, intents=("lit(z)",))}, r"atom lit\(z\) is not in the vocab"),
        ({"settings": replace(SMALL, intents=("lit(a) and lit(a)", "lit("))}, "is not an atom"),
    ],
)
def test_a_wrong_name_leaves_no_directory(tmp_path, wrong, named):
    with pytest.raises(CapscopeError, match=named):
        assess(board_problem(), run=tmp_path / "run", **GIVEN | wrong)
    assert not (tmp_path / "run").exists()


def test_invalid_limits_are_refused():
    for name in ("temporal_length", "horizon", "reset_every"):
        with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
            Limits(**{name: 0})


# Files written as a whole or not at all.


def test_a_file_is_replaced_and_no_draft_is_left(tmp_path):
    path = tmp_path / "file"
    for text in ("old\n", "new ünïcödé\n"):
        write_atomically(path, text)
        assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_text(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def full(self, text, **_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(RunError, match="file: No space left on device; everything observed"):
            write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["nowhere/file", "file/below", "folder", ".", "/", "x" * 300])
def test_a_place_that_cannot_be_written_to_is_an_error_of_the_run(place, tmp_path):
    (tmp_path / "file").write_text("precious")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RunError, match="cannot write "):
        write_atomically(tmp_path / place, "text")
    assert (tmp_path / "file").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


ODD = ["journal.sqlite", "journal.sqlite-wal", "run.json", "model.json", "report.html", ".lock"]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe"])
def test_a_file_of_a_run_that_is_not_regular_is_refused(run, tmp_path, name, kind):
    target = tmp_path / "precious"
    (run / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(run / name)
    else:
        (run / name).symlink_to(target)
    if kind == "link":
        target.write_text("mine")
    for read_only in (True, False):
        with pytest.raises(RunError, match=r"a symbolic link|not a regular file"):
            RunDirectory.open(run, read_only=read_only)
    with pytest.raises(RunError):
        read_progress(run)
    assert not is_being_written(run)
    assert not target.exists() or target.read_text() == "mine"


def test_a_rollback_file_beside_a_journal_is_refused(run):
    (run / "journal.sqlite-journal").write_bytes(b"")
    with pytest.raises(RunError, match="is not part of a run"):
        RunDirectory.open(run, read_only=True)


def test_a_draft_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / f".file.{os.getpid()}.draft").symlink_to(tmp_path / "precious")
    write_atomically(tmp_path / "file", "text")
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "file").read_text() == "text"


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_atomically(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "text"


@pytest.mark.parametrize("place", ["link", "folder/file", "folder/new/file", "pipe"])
def test_what_is_written_below_a_run_directory_stays_there(run, tmp_path, place):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    (run / "link").symlink_to(tmp_path / "precious" / "file")
    (run / "folder").symlink_to(tmp_path / "precious")
    os.mkfifo(run / "pipe")
    with pytest.raises(RunError, match=r"a symbolic link|not a regular file"):
        write_atomically(run / place, "text")
    assert left_of(tmp_path / "precious") == ["file"]
    assert (tmp_path / "precious" / "file").read_text() == "mine"


def test_a_run_directory_may_itself_be_behind_a_link(run, tmp_path):
    (tmp_path / "link").symlink_to(run)
    write_atomically(tmp_path / "link" / "file", "text")
    assert (run / "file").read_text() == "text"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", "text")
    assert os.read(reader, 99) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_run_of_another_board_with_the_same_predicates_differs_in_its_fingerprint(run):
    with pytest.raises(RunError, match="fingerprint was '', now 'v2'"):
        resume(run, problem=replace(board_problem(Board(0.5)), fingerprint="v2"))


def test_a_run_records_the_version_of_the_code_not_that_of_an_old_installation(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: "0.0.1")
    assert versions()["capscope"] == __version__
