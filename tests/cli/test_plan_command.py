"""`capscope plan`, from a run directory to what is printed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from capscope import Budget, assess
from capscope.errors import install_hint
from support import toy_worlds
from support.processes import SECONDS

WORLDS = Path(__file__).parents[1] / "support" / "plan_worlds.py"


@pytest.fixture(scope="module")
def kept_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("plans") / "run"
    assess(f"{WORLDS}:hasty_board", budget=Budget(executions=1200), run=path)
    return path


@pytest.fixture
def run(kept_run, tmp_path):
    return shutil.copytree(kept_run, tmp_path / "run")


def test_a_plan_is_printed(capscope, run):
    done = capscope("plan", run, "--goal", "lit(a) and not lit(b)")
    assert done.code == 0
    assert done.err == ""
    assert done.out.startswith("board: lit(a) and not lit(b), from the start of the run\n")
    assert "success 1.00 [0." in done.out
    assert "  1. ask for lit(a)   [" in done.out
    assert "nothing changes: ask again" in done.out


def test_a_plan_is_one_json_object(capscope, run):
    done = capscope("plan", run, "--goal", "lit(a) and lit(b)", "--from", "lit(c)", "--json")
    assert done.code == 0
    assert done.out.count("\n") == 1
    found = json.loads(done.out)
    assert found["success"] == 1.0
    assert found["from"] == "lit(c)"
    assert found["trial"] is None
    # The goal holds already in one of the four states with c lit.
    assert len(found["starts"]) == 3
    assert {step["state"] for step in found["policy"]} == {"0x0", "0x1", "0x2", "0x4", "0x5", "0x6"}


def test_a_plan_is_tried_on_the_agent(capscope, run):
    before = (run / "journal.sqlite").read_bytes()
    done = capscope("plan", run, "--goal", "lit(a) and lit(b)", "--try", 40, "--trust")
    assert done.code == 0
    assert "tried 40 times; nothing is recorded in the run" in done.out
    assert "reached the goal 40 times: 1.00 [0.9" in done.out
    assert "1.00 was predicted, which agrees" in done.out
    assert (run / "journal.sqlite").read_bytes() == before
    command = ["--goal", "lit(a) and lit(b)", "--try", 40, "--trust", "--json"]
    trial = json.loads(capscope("plan", run, *command).out)["trial"]
    assert (trial["tries"], trial["successes"], trial["verdict"]) == (40, 40, "as predicted")
    assert trial["ends"] == {"goal reached": 40, "no path known": 0, "too long": 0}
    assert not trial["interrupted"]
    assert json.loads(capscope("plan", run, *command).out)["trial"] == trial
    assert json.loads(capscope("plan", run, *command, "--seed", 1).out)["trial"] != trial


def test_the_length_of_attempts_can_be_limited(capscope, run):
    goal = ["--goal", "lit(a) and lit(b)"]
    done = capscope("plan", run, *goal, "--try", 50, "--trust", "--longest", 2)
    assert "was predicted for 2 executions, which agrees" in done.out
    assert "not finished after 2 executions: " in done.out


def test_an_agent_that_has_changed_is_reported(capscope, run, monkeypatch):
    # Switches that were lit are put out again: nothing that was learned holds any more.
    monkeypatch.setattr(toy_worlds.Pressing, "act", lambda self, observation: None)
    done = capscope("plan", run, "--goal", "lit(a)", "--try", 30, "--trust")
    assert done.code == 0
    assert "reached the goal 0 times" in done.out
    assert "lower than predicted (probability of so few: " in done.out
    assert "not finished after 100 executions: 30 times" in done.out


def test_ctrl_c_keeps_what_was_tried(capscope, run, monkeypatch):
    begin, begun = toy_worlds.Presser.begin, []

    def interrupted(self, intent, seed):
        begun.append(intent)
        if len(begun) > 6:
            raise KeyboardInterrupt
        return begin(self, intent, seed)

    monkeypatch.setattr(toy_worlds.Presser, "begin", interrupted)
    done = capscope("plan", run, "--goal", "lit(a)", "--try", 30, "--trust", "--json")
    assert done.code == 130
    trial = json.loads(done.out)["trial"]
    assert trial["interrupted"]
    assert 0 < trial["tries"] <= 6
    assert f"interrupted after {trial['tries']} of 30 tries" in done.err
    begun.clear()
    done = capscope("plan", run, "--goal", "lit(a)", "--try", 30, "--trust")
    assert done.code == 130
    assert f"tried {trial['tries']} times" in done.out
    begun += [None] * 6
    done = capscope("plan", run, "--goal", "lit(a)", "--try", 30, "--trust", "--json")
    assert json.loads(done.out)["trial"]["verdict"] is None


def test_that_there_is_no_plan_is_an_answer_and_not_an_error(capscope, tmp_path):
    run = tmp_path / "short"
    assess(f"{WORLDS}:hasty_board", budget=Budget(executions=2), run=run)
    done = capscope("plan", run, "--goal", "lit(a) and lit(b) and lit(c)", "--try", 5, "--trust")
    assert done.code == 1
    assert "success 0.00" in done.out
    assert "Whether the agent can achieve it is unknown" in " ".join(done.out.split())
    assert "tried" not in done.out.split("success")[0]
    found = json.loads(capscope("plan", run, "--goal", "lit(a) and lit(b)", "--json").out)
    assert not found["found"]
    assert found["trial"] is None


MISTAKES = {
    "no such atom": (["lit(d)"], "atom lit(d) is not in the vocabulary (3 atoms, nearest: lit("),
    "no goal": ([""], "'' is not an atom"),
    "already holds": (["not lit(a)"], "not lit(a) already holds where the plan starts"),
    "no such state": (["lit(a)", "--from", "0xff"], "state 0xff was never seen"),
    "no such start": (["lit(a)", "--from", "lit(z)"], "atom lit(z) is not in the vocabulary"),
}


@pytest.mark.parametrize(("arguments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line(refusal, run, arguments, words):
    assert words in refusal("plan", run, "--goal", *arguments)


def test_a_directory_without_a_run_is_named(refusal, tmp_path):
    assert "no run directory" in refusal("plan", tmp_path / "none", "--goal", "lit(a)")


def test_without_storm_the_extra_is_named(refusal, run, monkeypatch):
    from capscope.insight.planning import mdp as policy

    monkeypatch.setitem(sys.modules, "stormpy", None)
    policy._storm.cache_clear()
    assert install_hint("plan") in refusal("plan", run, "--goal", "lit(a)")


def test_a_problem_that_is_gone_can_be_planned_for_but_not_tried(capscope, tmp_path):
    copy = shutil.copy(WORLDS, tmp_path / "mine.py")
    run = tmp_path / "mine-run"
    assess(f"{copy}:hasty_board", budget=Budget(executions=300), run=run)
    Path(copy).unlink()
    assert capscope("plan", run, "--goal", "lit(a)").code == 0
    done = capscope("plan", run, "--goal", "lit(a)", "--try", 3, "--trust", "--json")
    assert (done.code, done.out) == (2, "")
    assert f"no file {copy}" in done.err


def test_only_planning_pays_for_storm():
    code = "import capscope, capscope.cli, sys; sys.exit('stormpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=SECONDS).returncode == 0


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("short") / "run"
    assess("blocksworld", seed=1, budget=Budget(executions=100), run=path)
    return path


def test_steps_are_inferred_if_nothing_tried_leads_to_the_goal(capscope, short_run):
    goal = ["--goal", "handfull(robot) and on(a,b)"]
    assert capscope("plan", short_run, *goal, "--no-inferred").code == 1
    done = capscope("plan", short_run, *goal)
    assert done.code == 0
    assert "[inferred, doubt 0.0" in done.out
    tried = json.loads(capscope("plan", short_run, *goal, "--try", 5, "--json").out)
    assert tried["provenance"] == "inferred"
    assert tried["trial"]["inferred"] == {"executions": 5, "as_inferred": 5}
    assert tried["trial"]["successes"] == 5


def test_inferred_steps_can_be_allowed_beside_tried_ones(capscope, short_run):
    goal = ["--goal", "holding(a)", "--json"]
    assert not json.loads(capscope("plan", short_run, *goal).out)["inference_allowed"]
    assert json.loads(capscope("plan", short_run, *goal, "--inferred").out)["inference_allowed"]
