"""Each mistake of a user: exit code 2 and one line on standard error that says what to do."""

import re
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from capscope.cli import main
from support.small_journals import change

BOARD = f"{Path(__file__).parents[1] / 'support' / 'toy_worlds.py'}:slippery_board"
SMALL = [
    "--strategy",
    "random",
    "--set",
    "draws=2",
    "--set",
    "random-length=5",
    "--set",
    "patience=2",
]
SMALL += ["--set", "walks=2", "--set", "walk-steps=10"]


@pytest.fixture(scope="module")
def kept_run(tmp_path_factory):
    """A small finished run; copy it before damaging it."""
    path = tmp_path_factory.mktemp("kept") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["capscope", "assess", BOARD, *SMALL, "--run", str(path)])
        with pytest.raises(SystemExit) as end:
            main()
    assert not end.value.code
    return path


@pytest.fixture
def run(kept_run, tmp_path):
    return Path(shutil.copytree(kept_run, tmp_path / "run"))


# Problems.

TAKES_PROBLEM = ["assess", "check"]


@pytest.mark.parametrize("command", TAKES_PROBLEM)
def test_an_unknown_problem_comes_with_a_suggestion(refusal, command):
    line = refusal(command, "blockworld")
    assert "no problem 'blockworld'; did you mean blocksworld?" in line


@pytest.mark.parametrize("command", TAKES_PROBLEM)
def test_an_unknown_problem_without_a_similar_name_points_to_the_list(refusal, command):
    assert "`capscope list` shows them." in refusal(command, "xyzzy")
    assert "no problem ''" in refusal(command, "")


@pytest.mark.parametrize("command", TAKES_PROBLEM)
def test_a_missing_python_file_is_named(refusal, command, tmp_path):
    assert refusal(command, "mine.py:make") == f"capscope: no file {tmp_path / 'mine.py'}"


FILES = {
    "raises on import": ("1 / 0", "raised ZeroDivisionError: division by zero"),
    "is not Python": ("def make(:", "raised SyntaxError: invalid syntax (mine.py, line 1)"),
    "imports what is missing": ("import nonesuch_package", "No module named 'nonesuch_package'"),
    "raises": ("def make():\n    raise ValueError('two\\nlines')", "ValueError: two lines"),
    "returns something else": ("def make():\n    return 7", "returned int, not a capscope Problem"),
    "wants arguments": ("def make(size):\n    return size", "missing 1 required positional"),
    "is missing": ("def build():\n    pass", "has no function 'make'; it has build"),
    "is no function": ("make = 3\ndef build():\n    pass", "has no function 'make'"),
}


@pytest.mark.parametrize("command", TAKES_PROBLEM)
@pytest.mark.parametrize(("source", "named"), FILES.values(), ids=FILES)
def test_a_factory_that_fails_is_reported_with_its_file(refusal, tmp_path, command, source, named):
    (tmp_path / "mine.py").write_text(source)
    line = refusal(command, "mine.py:make")
    assert named in line
    assert str(tmp_path / "mine.py") in line
    assert not (tmp_path / "runs").exists()


DOMAIN = """(define (domain lamp)
  (:predicates (lit))
  (:action light
     :precondition (not (lit))
     :effect (lid)))
"""
PROBLEM = "(define (problem night) (:domain lamp) (:init) (:goal (lit)))\n"


@pytest.mark.parametrize("command", TAKES_PROBLEM)
def test_a_mistake_in_a_domain_file_names_file_and_line(refusal, tmp_path, command):
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "problem.pddl").write_text(PROBLEM)
    line = refusal(command, "domain.pddl", "problem.pddl")
    assert f"{tmp_path / 'domain.pddl'}:5: predicate lid is not declared" in line


@pytest.mark.parametrize("command", TAKES_PROBLEM)
def test_a_domain_file_needs_a_problem_file(refusal, command):
    line = refusal(command, "domain.pddl")
    assert "domain.pddl needs a problem file after it" in line
    assert "cannot be read (No such file or directory)" in refusal(command, "a.pddl", "b.pddl")


@pytest.mark.parametrize("command", TAKES_PROBLEM)
def test_two_problems_are_refused(refusal, command):
    assert "name one problem" in refusal(command, "blocksworld", "tireworld")
    assert "name one problem" in refusal(command, "blocksworld", "problem.pddl")


# Settings, budgets, strategies, intents.

MISTAKES = {
    ("--set", "draws=0"): "--set draws must be at least 1, not 0",
    ("--set", "xi=-1"): "--set xi must be at least 0, not -1",
    ("--set", "xi=nan"): "--set xi must be at least 0, not nan",
    ("--set", "patience=0"): "--set patience must be at least 1, not 0",
    ("--set", "random-length=-3"): "--set random-length must be at least 1, not -3",
    ("--max-steps", "-1"): "a budget of -1 simulator_steps cannot be spent",
    ("--max-seconds", "nan"): "a budget of nan seconds cannot be spent",
    ("--strategy", "oracle"): "no strategy 'oracle'; choose one of adaptive, exhaustive,",
    ("--intents", "lit(z)"): "atom lit(z) is not in the vocabulary (3 atoms, nearest: lit(",
    ("--intents", "lit(a"): "'lit(a' is not an atom; write it like on(a,b)",
    ("--intents", "lit(a) and not lit(a)"): "names an atom twice",
    ("--intents", ""): "'' is not an atom",
    (
        "--intents",
        "lit(a),lit(b)",
    ): "has a comma between atoms; join atoms with `and`, or give them",
    ("--intents", "lti(b)"): "atom lti(b) is not in the vocabulary (3 atoms, nearest: lit(b)",
}


@pytest.mark.parametrize(("given", "named"), MISTAKES.items(), ids=" ".join)
def test_a_bad_option_is_named_and_nothing_is_started(refusal, tmp_path, given, named):
    assert named in refusal("assess", BOARD, *given)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["assess"],
        ["assess", BOARD, "--seed", "many"],
        ["assess", BOARD, "--bogus"],
        ["show"],
        ["show", "run", "--limit", "0"],
        ["evaluate", "run", "--trust", "--sequences", "-1"],
        ["nonesuch"],
    ],
    ids=str,
)
def test_a_command_line_that_cannot_be_read_points_to_the_help(capscope, arguments):
    done = capscope(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Error: " in done.err
    assert "--help" in done.err
    assert "Traceback" not in done.err


def test_a_world_without_change_is_reported(refusal, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from support.toy_worlds import *\n"
        "class Still(Board):\n"
        "    def step(self, action):\n"
        "        return self.lit\n"
        "def make():\n"
        "    return board_problem(Still())\n"
    )
    line = refusal("assess", "mine.py:make", *SMALL)
    assert "no change was seen in 20 random steps of board" in line


# Run directories.

TAKES_RUN = ["resume", "show", "explain", "evaluate", "export"]


@pytest.mark.parametrize("command", TAKES_RUN)
def test_a_run_that_does_not_exist_is_named(refusal, tmp_path, command):
    line = refusal(command, "nowhere")
    assert "no run directory nowhere; `capscope assess` makes one" in line
    (tmp_path / "file").touch()
    assert "no run directory file" in refusal(command, "file")
    assert "cannot look into" in refusal(command, "x" * 300)


@pytest.mark.parametrize("command", TAKES_RUN)
def test_a_foreign_directory_is_left_untouched(refusal, tmp_path, command):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a").write_text("dear")
    assert "is letters a run directory?" in refusal(command, "letters")
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["a"]


@pytest.mark.parametrize("command", TAKES_RUN)
def test_a_foreign_database_is_left_untouched(refusal, tmp_path, command):
    (tmp_path / "mine").mkdir()
    journal = tmp_path / "mine" / "journal.sqlite"
    with closing(sqlite3.connect(journal)) as db:
        db.execute("CREATE TABLE diary (day TEXT)")
    before = journal.read_bytes()
    assert "is not a capscope journal; it was left untouched" in refusal(command, "mine")
    assert journal.read_bytes() == before


@pytest.mark.parametrize("command", TAKES_RUN)
def test_a_truncated_journal_is_reported_and_left_untouched(refusal, run, command):
    journal = run / "journal.sqlite"
    journal.write_bytes(journal.read_bytes()[:9000])
    before = journal.read_bytes()
    assert "it was left untouched" in refusal(command, run)
    assert journal.read_bytes() == before


CHANGES = [
    "UPDATE meta SET value = '{'",
    "DELETE FROM meta",
    "DELETE FROM meta WHERE key = 'identity'",
    "DELETE FROM meta WHERE key = 'vocabulary'",
    "UPDATE intents SET literals = '7'",
    "UPDATE intents SET literals = '[\"nonesuch\"]' WHERE id = 1",
    "DELETE FROM intents WHERE id > 0",
    "UPDATE draws SET attempts = '[[99,[0],1,0]]'",
    "UPDATE draws SET attempts = '[[0,[99999],1,0]]'",
    "DROP TABLE draws",
]


@pytest.mark.parametrize("command", TAKES_RUN)
@pytest.mark.parametrize("statement", CHANGES)
def test_what_something_else_wrote_into_a_journal_is_reported(refusal, run, command, statement):
    change(run / "journal.sqlite", statement, signed=statement != "DROP TABLE draws")
    refusal(command, run)


def test_assess_on_a_directory_that_holds_a_run_names_resume(refusal, run):
    before = (run / "journal.sqlite").read_bytes()
    line = refusal("assess", BOARD, *SMALL, "--run", run)
    assert f"already holds a run; continue it with `capscope resume {run}`" in line
    assert (run / "journal.sqlite").read_bytes() == before


@pytest.mark.parametrize("name", ["file", "file/below", "x" * 300])
def test_a_run_directory_that_cannot_be_made_is_reported(refusal, tmp_path, name):
    (tmp_path / "file").touch()
    assert "cannot make the run directory" in refusal("assess", BOARD, *SMALL, "--run", name)


def test_a_run_whose_problem_is_gone_cannot_be_resumed_or_evaluated(refusal, capscope, tmp_path):
    (tmp_path / "mine.py").write_text("from support.toy_worlds import slippery_board")
    assert capscope("assess", "mine.py:slippery_board", *SMALL, "--run", "run").code == 0
    (tmp_path / "mine.py").unlink()
    for command in ("resume", "evaluate"):
        assert f"no file {tmp_path / 'mine.py'}" in refusal(command, "run", "--trust")


def test_a_problem_that_has_changed_is_named_when_resuming(refusal, capscope, tmp_path):
    source = (
        "from support.toy_worlds import *\ndef make(): return board_problem(Board(), horizon={})"
    )
    (tmp_path / "mine.py").write_text(source.format(5))
    assert capscope("assess", "mine.py:make", *SMALL, "--run", "run").code == 0
    (tmp_path / "mine.py").write_text(source.format(6))
    assert "run was started differently: horizon was 5, now 6" in refusal(
        "resume", "run", "--trust"
    )


# What is asked of a run.


def test_an_unknown_capability_comes_with_known_ones(refusal, run):
    assert "assessed; nearest: lit(" in refusal("show", run, "lit(z)")
    assert "no capability lti(b) among the" in (line := refusal("show", run, "lti(b)"))
    assert "nearest: lit(b)" in line
    assert "'lit(a' is not an atom" in refusal("show", run, "lit(a")


def test_an_unknown_query_comes_with_those_there_are(refusal, run):
    line = refusal("explain", run, "9999")
    assert re.search(r"has queries 0 to \d+; there is no query 9999", line)


def test_an_unknown_format_comes_with_those_there_are(refusal, run):
    assert "no format 'xml'; choose one of json" in refusal("export", run, "--to", "xml")


@pytest.mark.parametrize("output", ["nowhere/model.json", "file/model.json", "folder", ".", ""])
def test_an_output_that_cannot_be_written_is_reported(refusal, run, tmp_path, output):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert "cannot write " in refusal("export", run, "--output", output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "run"]


def test_an_unknown_suite_comes_with_those_there_are(refusal):
    assert "no suite 'nonesuch'; choose one of efficiency" in refusal("bench", "nonesuch")
