"""Reading a run leaves every byte of its directory as it was, and sees all that was recorded."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from capscope import Budget, assess, load
from capscope.errors import JournalError
from capscope.journal.draws import QueryRecord, Start
from capscope.journal.journal import Journal
from capscope.journal.journal_file import explained
from capscope.journal.run_directory import RunDirectory, read_progress
from capscope_view.replay import capability_names, find_draws, replayed_draw
from capscope_view.runs import RunFolder
from support.processes import started
from support.small_runs import DARK, draw
from support.toy_worlds import slippery_board

BUDGET = Budget(executions=30)
_UNDER_WAY = """
import sys
from capscope import assess
from support.toy_worlds import slippery_board

def pause(event):
    if event.usage.queries == 20:
        print(event.usage.executions, flush=True)
        sys.stdin.read()

assess(slippery_board(), run=sys.argv[1], strategy="random", listener=pause)
"""
_PATH = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Runs in all states: the directory, and the number of executions that were recorded."""
    folder = tmp_path_factory.mktemp("runs")
    ended = assess(slippery_board(), run=folder / "ended", strategy="random", budget=BUDGET)
    found = {"ended": (ended.path, ended.usage.executions)}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_PATH)}
    command = [sys.executable, "-c", _UNDER_WAY, folder / "running"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started(command, **pipes, env=environment) as process:
        executions = int(process.stdout.readline())
        # What a killed process leaves is what is there now.
        for name in ("killed", "killed-without-notes"):
            shutil.copytree(folder / "running", folder / name)
            found[name] = folder / name, executions
        (folder / "killed-without-notes" / "journal.sqlite-shm").unlink()
        found["running"] = folder / "running", executions
        yield found


def contents(folder):
    return {str(path): path.is_file() and path.read_bytes() for path in folder.rglob("*")}


STATES = ["ended", "killed", "killed-without-notes", "running"]
COMMANDS = [
    ["show", "RUN"],
    ["show", "RUN", "--findings"],
    ["show", "RUN", "lit(a)", "--draws"],
    ["explain", "RUN"],
    ["diff", "RUN", "RUN"],
    ["hazards", "RUN", "lit(b)"],
    ["plan", "RUN", "--goal", "lit(a)"],
    ["export", "RUN", "--to", "csv", "--output", "tables"],
    ["report", "RUN", "--output", "page.html"],
]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_that_reads_changes_nothing(capscope, states, state, command):
    if command[0] == "plan":
        pytest.importorskip("stormpy", reason="needs the extra plan")
    run, _ = states[state]
    before = contents(run)
    done = capscope(*(run if word == "RUN" else word for word in command))
    assert done.code == 0, done
    assert contents(run) == before


@pytest.mark.parametrize("state", STATES)
def test_every_recorded_execution_is_seen_and_nothing_is_changed(states, state):
    run, executions = states[state]
    before = contents(run)
    assert read_progress(run).executions == executions
    assert load(run).usage.executions == executions
    assert contents(run) == before


@pytest.mark.parametrize("state", STATES)
def test_the_local_page_changes_nothing(states, state):
    run, executions = states[state]
    before = contents(run)
    (status,) = RunFolder(run).statuses()
    assert status.executions == executions
    assert capability_names(run)
    assert find_draws(run, None)["draws"]
    assert replayed_draw(run, None, lambda source: None)["executions"]
    assert contents(run) == before


@pytest.mark.parametrize("state", ["ended", "killed", "killed-without-notes"])
def test_a_run_on_a_medium_that_cannot_be_written_to_is_read(states, state, tmp_path):
    run, executions = states[state]
    shutil.copytree(run, tmp_path / "run")
    for path in (*(tmp_path / "run").iterdir(), tmp_path / "run"):
        path.chmod(0o555)
    try:
        assert load(tmp_path / "run").usage.executions == executions
    finally:
        (tmp_path / "run").chmod(0o755)


def test_what_a_reader_saw_of_a_killed_run_is_there_when_it_is_resumed(states, tmp_path):
    run, executions = states["killed"]
    shutil.copytree(run, tmp_path / "run")
    load(tmp_path / "run")
    with RunDirectory.open(tmp_path / "run"):
        pass
    assert load(tmp_path / "run").usage.executions == executions
    assert not (tmp_path / "run" / "journal.sqlite-wal").exists()


def test_a_run_that_is_resumed_while_it_is_read_is_not_read_half(states, tmp_path):
    shutil.copytree(states["ended"][0], tmp_path / "run")
    path = tmp_path / "run" / "journal.sqlite"
    with (
        closing(Journal.open(path, read_only=True)) as reader,
        pytest.raises(JournalError, match="was changed while it was read; try again"),
        reader.at_one_moment(),
        closing(Journal.open(path)) as writer,
    ):
        start = Start(0, DARK)
        writer.begin_query(99, QueryRecord(start, 0, 0.0, 1.0, True))
        writer.add_draw((99, 0), start, draw((0, 0, 1)), {})


@pytest.mark.parametrize("said", ["database is locked", "locking protocol"])
def test_a_lock_that_a_stopped_process_keeps_is_no_damage(said, tmp_path):
    with (
        pytest.raises(JournalError, match="another process is writing to this run"),
        explained(tmp_path / "journal.sqlite"),
    ):
        raise sqlite3.OperationalError(said)


def test_nothing_stays_in_the_log_of_a_run_that_ends_while_somebody_has_it_open(states, tmp_path):
    shutil.copytree(states["killed"][0], tmp_path / "run")
    path = tmp_path / "run" / "journal.sqlite"
    with closing(Journal.open(path)) as writer, closing(sqlite3.connect(path)) as reader:
        reader.execute("SELECT count(*) FROM draws").fetchall()
        writer.close()
        assert (tmp_path / "run" / "journal.sqlite-wal").stat().st_size == 0
