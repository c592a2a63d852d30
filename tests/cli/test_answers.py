"""What the commands print: answers on standard output, everything else on standard error."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from capscope.cli import output
from capscope.sanitize import sanitize
from support.processes import SECONDS, started
from support.toy_worlds import RAISES_HERE

TOYS = Path(__file__).parents[1] / "support" / "toy_worlds.py"
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


@pytest.fixture
def answer(capscope):
    """Run a command with --json; return its one object."""

    def run(*arguments, code=0):
        done = capscope(*arguments, "--json")
        assert done.code == code, done.err
        assert done.out.count("\n") == 1
        found = json.loads(done.out)
        assert isinstance(found, dict)
        return found

    return run


ASSESSED = {
    "problem",
    "strategy",
    "seed",
    "run",
    "stopped_because",
    "agent_failures",
    "initial_positions",
    "aliasing",
    "queries",
    "executions",
    "simulator_steps",
    "states",
    "capabilities",
    "transitions",
    "seconds",
}
EVALUATED = {
    "model_agreement",
    "model_agreement_sampled",
    "model_agreement_sampled_learned_weights",
    "calibration_error",
    "support_right",
    "outcomes_foreseen",
    "unknown_share",
    "unknown_share_sampled",
    "sequences",
    "dataset",
    "pairs_tried",
    "pairs_reachable",
    "executions",
    "simulator_steps",
}


def test_list_names_every_problem_and_whether_it_is_installed(capscope, answer):
    problems = answer("list")["problems"]
    names = [problem["name"] for problem in problems]
    assert {"blocksworld", "tireworld", "first-responders", "depot"} <= set(names)
    told = {"name", "summary", "extra", "installed", "options"}
    assert all(told <= problem.keys() for problem in problems)
    text = capscope("list").out
    assert all(name in text for name in names)


def test_assess_and_resume_say_what_was_found_and_where_it_is(answer):
    found = answer("assess", f"{TOYS}:slippery_board", *SMALL, "--seed", 3)
    assert found.keys() >= ASSESSED
    assert (found["problem"], found["strategy"], found["seed"]) == ("board", "random", 3)
    assert found["stopped_because"] == "no news"
    # The name of the problem file tells runs apart, and what was typed nowhere is the default.
    assert found["run"] == "runs/toy_worlds-slippery_board-random-3"
    assert Path(found["run"], "model.json").exists()
    again = answer("resume", found["run"], "--trust")
    assert {**again, "seconds": 0} == {**found, "seconds": 0}


def test_a_budget_on_the_command_line_is_kept_and_can_be_raised(answer):
    found = answer("assess", f"{TOYS}:slippery_board", *SMALL, "--max-executions", 7)
    assert found["executions"] == 7
    assert found["stopped_because"] == "budget of executions spent"
    assert answer("resume", found["run"], "--trust")["executions"] == 7
    assert answer("resume", found["run"], "--trust", "--max-executions", 11)["executions"] == 11
    assert answer("resume", found["run"], "--trust", "--max-queries", 3)["queries"] == 3


def test_show_and_export_print_the_model(answer, capscope):
    run = answer("assess", f"{TOYS}:slippery_board", *SMALL)["run"]
    model = json.loads(Path(run, "model.json").read_text())
    assert answer("show", run) == model
    assert answer("export", run) == model
    assert json.loads(capscope("export", run, "--to", "json").out) == model
    assert answer("export", run, "--output", "copy.json") == {
        "written": "copy.json",
        "format": "json",
        "files": ["copy.json"],
    }
    assert json.loads(Path("copy.json").read_text()) == model


def test_show_surprises_lists_the_findings(answer, capscope):
    source = f"{TOYS.with_name('quirky_worlds.py')}:careless_lamps"
    run = answer("assess", source, "--max-executions", 1000)["run"]
    found = answer("show", run, "--findings")
    assert found["problem"] == "lamps"
    finding = found["findings"][0]
    assert (finding["kind"], finding["request"]) == ("does more", "on(x)")
    assert finding["change"] == "on(another lamp)"
    text = capscope("show", run, "--findings").out
    assert finding["sentence"] in " ".join(text.split())
    assert finding in answer("show", run, "on(a)", "--findings")["findings"]
    assert finding not in answer("show", run, "not on(a)", "--findings")["findings"]


def test_explain_says_what_was_asked(answer, capscope):
    run = answer("assess", f"{TOYS}:slippery_board", *SMALL)["run"]
    found = answer("explain", run, 0)
    assert found["query"] == 0
    assert {"predicted", "informative", "xi", "start", "policy", "draws"} <= found.keys()
    assert capscope("explain", run, 0).out.startswith("query 0: ")


def test_evaluate_compares_with_the_truth_if_it_is_known(answer, capscope):
    run = answer("assess", "tireworld", *SMALL, "--max-queries", 5)["run"]
    found = answer("evaluate", run, "--trust", "--sequences", 10)
    assert found.keys() >= EVALUATED
    assert 0 < found["model_agreement"] < 1
    assert found["pairs_tried"] <= found["pairs_reachable"] == 400
    text = capscope("evaluate", run, "--trust", "--sequences", 10, "--achieving-only").out
    assert "filter: only rules and capabilities that achieve their intent" in text
    other = answer("assess", f"{TOYS}:slippery_board", *SMALL)["run"]
    found = answer("evaluate", other, "--trust", "--sequences", 10)
    assert found["model_agreement"] is found["pairs_reachable"] is None
    assert "unknown" in capscope("evaluate", other, "--trust", "--sequences", 10).out


def test_check_exits_with_0_if_nothing_is_wrong_and_with_1_if_something_is(
    answer, capscope, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(TOYS.parents[1]), prepend=os.pathsep)
    assert answer("check", f"{TOYS}:slippery_board") == {
        "problem": "board",
        "ok": True,
        "findings": [],
        "notes": [],
    }
    done = capscope("check", f"{TOYS}:slippery_board")
    assert (done.code, done.out) == (0, "board: nothing wrong found\n")
    found = answer("check", f"{TOYS}:board_with_handles", code=1)
    assert not found["ok"]
    assert [finding["check"] for finding in found["findings"]] == ["process"]


@pytest.mark.parametrize("lie", ["BoardThatStaysWhereItIs", "BoardThatForgetsASwitch"])
def test_check_says_that_a_restore_lies_and_assess_points_to_check(lie, capscope, tmp_path):
    (tmp_path / "mine.py").write_text(
        f"from support.toy_worlds import *\ndef make(): return board_problem({lie}())"
    )
    done = capscope("check", "mine.py:make")
    assert done.code == 1
    assert done.out.startswith("restore: restoring a snapshot led to a different state")
    assert done.err == ""
    done = capscope("assess", "mine.py:make", *SMALL)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert "run `capscope check` on the problem" in done.err


def test_an_agent_that_raises_does_not_stop_a_run_on_the_command_line(capscope, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from support.toy_worlds import *\ndef make(): return board_problem(agent=RaisesAtOnce())"
    )
    done = capscope("assess", "mine.py:make", *SMALL)
    assert done.code == 0
    assert "no news" in done.out
    assert done.err == ""


@pytest.mark.parametrize(
    ("agent", "ending", "ways", "detail"),
    [
        (
            "RaisesAtOnce()",
            "agent raised",
            "raised an exception",
            f"RuntimeError ({RAISES_HERE}): no idea",
        ),
        (
            "Scripted('z\\x1bz')",
            "invalid action",
            "chose an action that is not available",
            "there is no switch z\x1bz",
        ),
        (
            "Scripted(ConversationRefused('the context is too short'))",
            "conversation refused",
            "had a conversation that the server of its model refused",
            "the context is too short",
        ),
    ],
)
def test_agent_failures_are_warned_about_wherever_a_run_is_shown(
    capscope, answer, tmp_path, agent, ending, ways, detail
):
    (tmp_path / "mine.py").write_text(
        "from capscope.errors import ConversationRefused\nfrom support.toy_worlds import *\n"
        f"def make(): return board_problem(agent={agent})"
    )
    capscope("assess", "mine.py:make", *SMALL, "--run", "broken")
    told = capscope("show", "broken", "--findings").out.splitlines()
    (warning,) = [line for line in told if line.startswith("warning: ")]
    assert warning.isprintable()
    number = warning.split()[2]
    said = f"all {number} executions in which the agent had to act ended because it {ways} (first: "
    assert said in warning
    assert sanitize(detail) in warning
    shown = sanitize(f" !! the agent {ways}: {detail}")
    for command in (["resume", "--trust"], ["show"]):
        lines = capscope(command[0], "broken", *command[1:]).out.splitlines()
        assert shown in lines
        assert f"      {number} of {number} executions in which it had to act" in lines
    diff = capscope("diff", "broken", "broken").out.replace("\n", " ")
    assert f"A: {warning}" in diff
    assert f"B: {warning}" in diff
    (failure,) = answer("resume", "broken", "--trust")["agent_failures"]
    assert (failure["ending"], failure["detail"]) == (ending, detail)
    assert failure["executions"] == int(number)
    assert answer("show", "broken", "--findings")["agent_failures"] == [failure]
    # The command that the warning names works.
    assert ending in capscope("show", "broken", failure["capability"], "--draws").out


def test_a_run_without_agent_failures_has_no_warning(capscope, answer):
    source = f"{TOYS}:slippery_board"
    assert "warning" not in capscope("assess", source, *SMALL, "--run", "fine").out
    assert answer("resume", "fine", "--trust")["agent_failures"] == []
    assert "warning" not in capscope("show", "fine").out
    assert "warning" not in capscope("diff", "fine", "fine").out


def test_a_simulator_that_raises_stops_a_run_in_one_line_and_it_resumes_once_fixed(
    capscope, tmp_path
):
    source = """
from support.toy_worlds import *
class Fragile(Board):
    left = {}
    def step(self, action):
        self.left -= 1
        if self.left == 0:
            raise OSError("the robot's battery is empty")
        return super().step(action)
def make(): return board_problem(Fragile(slip=0.3))
"""
    (tmp_path / "mine.py").write_text(source.format(0))
    assert capscope("assess", "mine.py:make", *SMALL, "--run", "whole").code == 0
    (tmp_path / "mine.py").write_text(source.format(50))
    done = capscope("assess", "mine.py:make", *SMALL, "--run", "broken")
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert "OSError: the robot's battery is empty" in done.err
    assert "what was observed so far is kept" in done.err
    (tmp_path / "mine.py").write_text(source.format(0))
    done = capscope("resume", "broken", "--trust")
    assert done.code == 0
    assert "mine.py:make has changed since the run was started" in done.err
    assert capscope("resume", "broken", "--trust").err == ""
    assert "changed during the run to" in Path("broken/report.html").read_text()
    assert "changed during the run to" not in Path("whole/report.html").read_text()
    assert Path("broken/model.json").read_bytes() == Path("whole/model.json").read_bytes()


def test_show_prints_the_same_for_a_run_whose_problem_is_gone(capscope, tmp_path):
    (tmp_path / "mine.py").write_text("from support.toy_worlds import slippery_board")
    capscope("assess", "mine.py:slippery_board", *SMALL, "--run", "run")
    commands = [("show", "run"), ("show", "run", "lit(a)"), ("export", "run"), ("explain", "run")]
    before = [capscope(*command) for command in commands]
    (tmp_path / "mine.py").unlink()
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    assert [capscope(*command) for command in commands] == before
    assert {done.code for done in before} == {0}
    assert {done.err for done in before} == {""}


def test_show_can_be_limited_and_says_what_is_omitted(capscope):
    capscope("assess", f"{TOYS}:slippery_board", *SMALL, "--run", "run")
    text = capscope("show", "run", "*", "--limit", 2).out
    assert "4 more: capscope show run" in text
    shown = text.split("\n\n")[1:-1]
    assert len(shown) == 2
    every = capscope("show", "run", "*").out.removesuffix("\n").split("\n\n")
    assert every[-6:-4] == shown


def test_show_takes_a_pattern_and_shows_all_that_match(answer, capscope):
    capscope("assess", f"{TOYS}:slippery_board", *SMALL, "--run", "run")
    whole = answer("show", "run")
    matched = [c for c in whole["capabilities"] if c["intent"][0].startswith("lit(")]
    assert len(matched) > 1
    families = [family for family in whole["families"] if family["name"] == "lit(X)"]
    found = answer("show", "run", "lit(*)")
    assert found == {**whole, "families": families, "capabilities": matched}
    text = capscope("show", "run", "lit(*)").out
    for capability in whole["capabilities"]:
        heading = f"\n{capability['intent'][0]}"
        assert (heading in text) is (capability in matched)
    assert answer("show", "run", "lit(a)")["capabilities"] == [matched[0]]
    assert answer("show", "run", "lit(*)", "--findings")["findings"] is not None


def test_a_pattern_that_matches_nothing_names_the_nearest(capscope, refusal):
    capscope("assess", f"{TOYS}:slippery_board", *SMALL, "--run", "run")
    told = refusal("show", "run", "litt(*)")
    assert "none of the 6 capabilities that were assessed matches litt(*); nearest: lit(" in told


def test_the_draws_of_a_pattern_are_those_of_the_one_that_it_matches(capscope, refusal):
    capscope("assess", f"{TOYS}:slippery_board", *SMALL, "--run", "run")
    assert capscope("show", "run", "lit(?)", "--draws", "--limit", 1).code == 2
    told = refusal("show", "run", "lit(*)", "--draws")
    assert "whose executions? The pattern matches" in told
    assert "lit(a), lit(b)" in told
    one = capscope("show", "run", "l*(a)", "--draws")
    assert one == capscope("show", "run", "lit(a)", "--draws")


def test_a_run_that_asked_nothing_is_all_unknown(capscope):
    capscope("assess", f"{TOYS}:slippery_board", *SMALL, "--max-executions", 0, "--run", "run")
    text = capscope("show", "run", "*").out
    assert text.count("  never tried in any of the 1 state seen") == 6
    assert "never tried: lit(X), not lit(X)" in text
    assert "cannot" not in text


def test_progress_goes_to_standard_error_in_plain_lines(capscope, monkeypatch):
    monkeypatch.setattr(output, "_SECONDS_BETWEEN_LINES", 0)
    done = capscope("assess", f"{TOYS}:slippery_board", *SMALL, "--json")
    assert len(done.out.splitlines()) == 1
    found = json.loads(done.out)
    lines = [line for line in done.err.splitlines() if "so far" not in line]
    assert len(lines) == found["queries"]
    assert all("queries" in line and "executions" in line for line in lines)
    assert "\x1b" not in done.err
    assert "queries without news 2 of 2" in lines[-1]


def test_a_command_that_takes_long_tells_each_phase(capscope, monkeypatch):
    monkeypatch.setattr(output, "_SECONDS_BETWEEN_LINES", 0)

    def told(*command):
        done = capscope(*command)
        assert done.code == 0, done.err
        found = re.findall(r"^(?:[^:\n]+: )?(.*) \(\d+ s so far\)$", done.err, re.MULTILINE)
        return [re.sub(r" /.*", " FILE", phase) for phase in found]

    following = "following repeated requests"
    looking = "looking for findings"
    report = ["writing the report", following, looking, "writing the page"]
    summing = ["summing up", looking, following]
    writing = [*summing, "writing model.json", "writing the report", "writing the page"]
    started = told("assess", f"{TOYS}:slippery_board", *SMALL, "--max-queries", 2, "--run", "a")
    assert started == ["loading FILE", "discovering intents", "asking", *writing]
    resumed = told("resume", "a", "--trust", "--max-queries", 3)
    assert resumed == ["loading FILE", "reading what was asked before", "asking", *writing]
    assert told("report", "a") == ["reading a", *report]
    assert told("show", "a") == ["reading a", looking, following]
    assert told("show", "a", "--findings") == ["reading a", looking]
    assert told("export", "a") == ["reading a", "exporting to json", looking]
    assert told("diff", "a", "a", "--html", "d.html") == [
        "reading a",
        "reading a",
        "comparing",
        "writing the page",
    ]
    assert told("evaluate", "a", "--trust", "--sequences", 2) == [
        "reading a",
        "loading FILE",
        "enumerating the truth",
        "comparing the model",
    ]


def test_a_quick_command_tells_no_phase(capscope):
    capscope("assess", f"{TOYS}:slippery_board", *SMALL, "--run", "a")
    for command in (["show", "a"], ["report", "a"], ["export", "a"], ["diff", "a", "a"]):
        assert capscope(*command).err == ""


def test_progress_of_a_resumed_run_shows_its_patience(capscope, monkeypatch):
    capscope("assess", f"{TOYS}:slippery_board", *SMALL, "--max-queries", 1, "--run", "run")
    monkeypatch.setattr(output, "_SECONDS_BETWEEN_LINES", 0)
    done = capscope("resume", "run", "--trust", "--max-queries", 2)
    assert " of 2, predicted disagreement" in done.err


def test_a_closed_pipe_is_not_an_error(capscope, tmp_path):
    capscope("assess", f"{TOYS}:slippery_board", *SMALL, "--run", "run")
    script = "import sys; from capscope.cli import main; main()"
    with started(
        [sys.executable, "-c", script, "show", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as shown:
        shown.stdout.close()
        assert shown.stderr.read() == b""
        assert shown.wait(SECONDS) in (0, 1)  # Click's own code for a closed pipe is 1


def test_the_help_is_printed_for_no_command_at_all(capscope):
    assert "assess" in capscope("--help").out
    for command in ("list", "assess", "resume", "show", "evaluate", "export", "check", "explain"):
        done = capscope(command, "--help")
        assert done.code == 0
        assert "--json" in done.out


def test_singular_nouns_are_used_for_one(capscope, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from support.toy_worlds import *\ndef make(): return board_problem(agent=Scripted())"
    )
    given = ["--intents", "lit(a)", "--max-executions", "1", "--max-queries", "1"]
    out = capscope("assess", "mine.py:make", *given, "--run", "one").out
    out += (
        capscope("show", "one").out + capscope("evaluate", "one", "--trust", "--sequences", "1").out
    )
    out += capscope("explain", "one", "0").out
    assert "1 execution, 0 simulator steps" in out
    assert not re.search(r"(?<![\d,.])1 \w+(s|ies)\b", out), out
    page = (tmp_path / "one" / "report.html").read_text(encoding="utf-8")
    summary = re.search(r"<main.*?<table", page, re.DOTALL)[0]
    assert not re.search(r"(?<![\d,.])1 (queries|executions|capabilities|states|rules)", summary)
