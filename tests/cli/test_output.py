"""Standard output is for answers, whatever agents, simulators and libraries print."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from capscope.cli import output
from support.processes import SECONDS

TESTS = Path(__file__).parents[1]
ASSESS = [
    "assess",
    "mine.py:make",
    "--strategy",
    "random",
    "--max-queries",
    "1",
    "--set",
    "draws=2",
]
AGENT = """
import os, subprocess, sys
from support.toy_worlds import board_problem
from dataclasses import replace

class Agent:
    def begin(self, intent, seed):
        return self
    def act(self, observation):
        {act}
        return 0

def make():
    problem = board_problem()
    {make}
    return replace(problem, agent=Agent())
"""


@pytest.fixture
def capscope(tmp_path, monkeypatch):
    """Run a command in a process of its own, on a problem whose agent does something odd."""

    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)

    def run(command, act="pass", make="pass", **given):
        (tmp_path / "mine.py").write_text(AGENT.format(act=act, make=make))
        return subprocess.run(
            [sys.executable, "-m", "capscope", *command],
            cwd=tmp_path,
            text=True,
            timeout=SECONDS,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **given},
        )

    return run


PRINTS = (
    "print('printed'); os.write(1, b'written\\\\n'); subprocess.run(['echo', 'echoed']); "
    "sys.__stdout__.write('original\\\\n')"
)


def test_what_an_agent_prints_does_not_break_json(capscope):
    done = capscope([*ASSESS, "--json"], act=PRINTS.replace("\\\\", "\\"))
    assert json.loads(done.stdout)["problem"] == "board"
    for word in ("printed", "written", "echoed"):
        assert word in done.stderr


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("sys.exit(0)", "tried to end the program for intent"),
        ("os._exit(0)", "SystemExit (mine.py, line 10): os._exit(0)"),
        ("raise BaseException('gone')", "BaseException (mine.py, line 10): gone"),
        ("os.close(1); sys.exit()", "tried to end the program"),
    ],
)
def test_an_agent_that_ends_the_program_is_an_error_in_one_line(capscope, act, said):
    done = capscope(ASSESS, act=act)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("make", "said"), [("sys.exit(0)", "0"), ("os._exit(0)", "os._exit(0)")])
def test_a_file_that_ends_the_program_is_an_error_in_one_line(capscope, make, said):
    done = capscope(ASSESS, make=make)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"mine.py:make raised SystemExit: {said}" in done.stderr


def test_an_agent_that_closes_standard_output_fails_by_itself(capscope):
    done = capscope(ASSESS, act="sys.stdout.close(); print('more')")
    assert done.returncode == 0
    assert "I/O operation on closed file" in done.stdout


def test_a_command_works_without_standard_output(capscope):
    closed = {"stdout": None, "preexec_fn": lambda: os.close(1)}
    assert capscope(ASSESS, **closed).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_standard_output_is_an_error_in_one_line(capscope):
    with Path("/dev/full").open("w") as full:
        done = capscope(["list"], stdout=full)
    assert done.returncode == 2
    assert "cannot write to standard output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_shown_is_sanitized_in_one_place(monkeypatch):
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    output.print_line("a\x1b[2Jb\u202e\r\nc")
    output.write_message("d\x07")
    assert out.getvalue() == "a\\x1b[2Jb\\u202e\\r\nc\n"
    assert err.getvalue() == "d\\x07\n"


def test_no_other_file_of_the_command_line_writes_to_a_stream():
    folder = Path(output.__file__).parent
    for file in folder.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name not in ("output.py", "__init__.py"):  # the latter prints the version only
            assert not any(word in text for word in ("stdout.write", "stderr.write", " print("))
