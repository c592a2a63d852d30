"""Nobody but capscope ends the program while agents run; tried in processes of their own."""

import os
import subprocess
import sys

import pytest

from support.processes import SECONDS

GUARDED = """
import os, sys
from capscope.problem.attempt import only_by_itself

def guarded(text):
    with only_by_itself():
        exec(text)
"""
ASSESSED = """
import os
from capscope import Budget, assess
from support.toy_worlds import Presser, board_problem

class Ending(Presser):
    def begin(self, intent, seed):
        os._exit(0)

def test_the_agent():
    assess(board_problem(agent=Ending()), budget=Budget(executions=5))
"""


def python(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=SECONDS,
        check=False, env=environment, **options,
    )  # fmt: skip


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)", "from os import _exit; _exit(0)"])
def test_ending_the_program_is_an_error_of_the_problem(end):
    done = python("-c", f"{GUARDED}\nguarded({end!r})")
    assert done.returncode == 1
    assert "ProblemError: code of the problem tried to end the program" in done.stderr


def test_a_forked_child_may_end_itself():
    fork = "pid = os.fork()\nif pid == 0: os._exit(0)\nprint(os.waitpid(pid, 0)[1])"
    done = python("-c", f"{GUARDED}\nguarded({fork!r})")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_nested_blocks_are_guarded_to_the_end_and_then_all_is_as_before():
    nested = "guarded('global kept; kept = os._exit')\nassert os._exit is kept"
    after = "assert os._exit is before\nkept(7)"
    done = python("-c", f"{GUARDED}\nbefore = os._exit\nguarded({nested!r})\n{after}")
    assert done.returncode == 7, done.stderr


def test_a_test_whose_agent_ends_the_program_fails(tmp_path):
    (tmp_path / "test_mine.py").write_text(ASSESSED)
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the agent of board tried to end the program" in done.stdout
    assert "1 failed" in done.stdout
