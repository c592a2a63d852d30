"""A run directory may come from somebody else: it is data, and the code it names is not run."""

import json
import sqlite3
from contextlib import closing

import pytest

from capscope import Budget, assess, load, problems, resume
from capscope.errors import ProblemError
from capscope_view.replay import PictureBook
from support.small_journals import change

SMALL = {"strategy": "random", "budget": Budget(queries=1)}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run that names a file in its own folder, by a relative path, which says that it ran."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\nfrom support.toy_worlds import slippery_board as make\n"
        "Path('it-ran').touch()\n"
    )
    assess("mine.py:make", run=tmp_path / "run", **SMALL)
    (tmp_path / "it-ran").unlink()
    rename_problem(tmp_path / "run", "mine.py:make")
    return tmp_path / "run"


def rename_problem(run, source):
    """Let a run directory name another problem."""
    with closing(sqlite3.connect(run / "journal.sqlite")) as db:
        (text,) = db.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    renamed = json.dumps({**json.loads(text), "source": source})
    change(run / "journal.sqlite", ("UPDATE meta SET value = ? WHERE key = 'identity'", (renamed,)))


@pytest.fixture
def ran(tmp_path):
    return lambda: (tmp_path / "it-ran").exists()


COMMANDS = [
    ["resume", "run"],
    ["evaluate", "run", "--sequences", "1"],
    ["plan", "run", "--goal", "lit(a)", "--try", "1"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_runs_no_file_that_a_run_directory_names(capscope, run, ran, command):
    done = capscope(*command)
    assert not ran()
    if done.code != 1:  # no way to the goal is known, so nothing was to be tried
        assert done.code == 2
        assert "names the Python file mine.py:make, and loading it runs its code" in done.err
        assert capscope(*command, "--trust").code == 0
        assert ran()


@pytest.mark.parametrize("command", COMMANDS[:2], ids=lambda command: command[0])
def test_a_problem_on_the_command_line_is_loaded(capscope, run, ran, command):
    name, directory, *rest = command
    assert capscope(name, directory, "mine.py:make", *rest).code == 0
    assert ran()


@pytest.mark.parametrize("command", ["show", "explain", "report", "export"])
def test_commands_that_only_read_run_nothing(capscope, run, ran, command):
    assert capscope(command, "run").code == 0
    assert not ran()


@pytest.fixture
def loaded(monkeypatch):
    """The problems that are loaded; none can be."""
    sources = []

    def load_problem(source):
        sources.append(source)
        raise ProblemError("it cannot be loaded here")

    monkeypatch.setattr(problems, "load_problem", load_problem)
    return sources


NAMES_A_FILE = [
    "crafter-steve:map=/some/pipe",
    "crafter-skills:choices=2, map =it",
    "/some/d.pddl:/some/p.pddl",
]


@pytest.mark.parametrize("source", NAMES_A_FILE)
@pytest.mark.parametrize("command", COMMANDS[:2], ids=lambda command: command[0])
def test_a_command_opens_no_file_that_a_run_directory_names(refusal, run, loaded, command, source):
    rename_problem(run, source)
    assert "and loading its problem opens that; if you trust it, add --trust" in refusal(*command)
    assert not loaded
    assert "it cannot be loaded here" in refusal(*command, "--trust")
    assert loaded == [source]


@pytest.mark.parametrize("source", NAMES_A_FILE)
def test_a_report_opens_no_file_that_a_run_directory_names(capscope, run, loaded, source):
    rename_problem(run, source)
    assert capscope("report", "run").code == 0
    assert PictureBook().of(source) is None
    assert not loaded
    assert capscope("report", "run", "--pictures").code == 2
    assert loaded == [source]


def test_a_name_of_a_file_that_comes_with_a_problem_needs_no_trust(refusal, run, loaded):
    rename_problem(run, "crafter-steve:map=quarry")
    assert "it cannot be loaded here" in refusal("resume", "run")
    assert loaded == ["crafter-steve:map=quarry"]


def test_the_same_holds_in_python(run, ran):
    for call in (lambda: resume(run), lambda: load(run).resume(), lambda: load(run).evaluate()):
        with pytest.raises(ProblemError, match="trust=True"):
            call()
    assert not ran()
    resume(run, trust=True)
    assert ran()


def test_a_run_of_this_process_is_continued_without_a_word(run, tmp_path, monkeypatch):
    made = assess("mine.py:make", run=tmp_path / "other", **SMALL)
    made.resume(budget=Budget(queries=2)).resume(budget=Budget(queries=3))
    resume(tmp_path / "other", problem="mine.py:make", budget=Budget(queries=4))
