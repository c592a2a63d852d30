"""`capscope check` on a Gymnasium problem in a user's own file, another process included."""

import os
from pathlib import Path

import pytest

pytest.importorskip("gymnasium")

from support import odd_environments

HEAD = "import support.odd_environments as odd\n"
NOTE = "note: the time limit of 100 steps was removed"


@pytest.fixture
def checked(capscope, monkeypatch, tmp_path):
    """Write a file and check the problem in it."""
    folder = Path(odd_environments.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)

    def check(text, *options):
        (tmp_path / "mine.py").write_text(HEAD + text)
        return capscope("check", "mine.py:problem", *options)

    return check


@pytest.mark.parametrize("restore", ["replay", "copy"])
def test_a_problem_from_a_file_is_restored_in_another_process(checked, restore):
    done = checked(f"problem = odd.corridor_problem(restore={restore!r})")
    assert (done.code, done.out) == (0, "Corridor: nothing wrong found\n")


def test_what_may_surprise_a_user_is_noted(checked):
    parts = "'FrozenLake-v1', odd.VOCABULARY, lambda _: [], lambda _: 0"
    done = checked(f"problem = odd.gymnasium_problem({parts})")
    first, *notes = done.out.splitlines()
    assert (done.code, first) == (0, "FrozenLake-v1: nothing wrong found")
    assert notes[0].startswith(NOTE)


def test_a_failed_check_is_one_line_and_exit_code_1(checked):
    done = checked("problem = odd.corridor_problem(odd.CorridorThatRemembersEpisodes)")
    assert done.code == 1
    assert done.out.startswith("restore: ")
    assert ".tired" in done.out


def test_a_missing_restore_is_reported_without_a_traceback(checked):
    done = checked("problem = odd.corridor_problem(restore='native')")
    assert done.code == 1
    assert done.out.startswith('walk: restore="native" needs Corridor to have get_state()')


def test_an_agent_that_chooses_unavailable_actions_is_exit_code_1(checked):
    done = checked("problem = odd.corridor_problem(policy=lambda cell: 7)")
    assert done.code == 1
    assert done.out.startswith("agent: asked for ")
