"""`capscope view` and `capscope assess --live`, as processes; none of them needs Ctrl-C."""

import json
import subprocess
import sys
import time
from importlib import metadata

import pytest

from capscope import load
from support import command_line
from support.processes import SECONDS, started
from support.small_runs import draw, small_run
from support.view_client import asked, eventually, request

capscope, refusal = command_line.capscope, command_line.refusal  # fixtures

COMMAND = [sys.executable, "-m", "capscope"]
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


def test_view_serves_a_folder_and_prints_its_address(tmp_path):
    small_run(tmp_path / "runs" / "one", [[draw((0, 0, 1))]])
    with started([*COMMAND, "view", "--json"], cwd=tmp_path, **PIPES) as process:
        said = json.loads(process.stdout.readline())
        assert said["folder"] == "runs"
        assert asked(said["address"], "runs.json")["runs"][0]["name"] == "one"


def test_view_ends_with_ctrl_c(capscope, monkeypatch, tmp_path):
    class Interrupted:
        def wait(self):
            raise KeyboardInterrupt

    monkeypatch.setattr("capscope_view.command.Event", Interrupted)
    done = capscope("view", tmp_path)
    assert (done.code, done.err) == (0, "stopped\n")
    assert done.out.endswith(" (press Ctrl-C to stop)\n")


def test_a_folder_that_is_not_there_is_refused(refusal):
    assert "no folder nowhere" in refusal("view", "nowhere")
    assert "no folder runs" in refusal("view")


@pytest.mark.parametrize("command", [("view", "."), ("assess", "blocksworld", "--live")])
def test_without_the_package_it_is_named(refusal, monkeypatch, command, tmp_path):
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [])
    needed = "needs the package capscope-view: pip install 'capscope[view]'"
    assert needed in refusal(*command)
    assert list(tmp_path.iterdir()) == []


WAITING_AGENT = """
import time
from pathlib import Path

from capscope import Limits, Predicate, Problem, Vocabulary
from capscope.problem import FunctionAbstraction, FunctionAgent, FunctionWorld


def act(lit, intent):
    while not Path("go").exists():
        time.sleep(0.01)
    return "press" if intent.literals[0].positive != lit else None


problem = Problem(
    "lamp",
    FunctionWorld(False, lambda lit, action, rng: not lit, ["press"]),
    FunctionAgent(act),
    FunctionAbstraction(Vocabulary([Predicate("lit")], {}), lambda lit: ["lit()"] if lit else []),
    Limits(temporal_length=None, horizon=5),
)
"""


def test_a_live_run_can_be_watched_and_its_page_ends_with_it(tmp_path):
    (tmp_path / "lamp.py").write_text(WAITING_AGENT, encoding="utf-8")
    command = [*COMMAND, "assess", "lamp.py:problem", "--live", "--run", "run", "--json"]
    with started([*command, "--max-executions", "60"], cwd=tmp_path, **PIPES) as process:
        title, _, address = process.stderr.readline().strip().partition(": ")
        assert title == "live"

        def watched():
            runs = asked(address, "runs.json")["runs"]
            return runs and asked(address, f"run/{runs[0]['id']}/status.json")

        status = eventually(watched)
        assert status["activity"] == "running"
        (tmp_path / "go").touch()
        # The page stays until it has the last report of the run.
        while status["report"]["executions"] != 60:
            time.sleep(0.2)
            status = eventually(watched)
            request(address, f"run/{status['id']}/report.html")
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    assert "the live page has ended; look again with: capscope view run" in err
    assert json.loads(out)["executions"] == load(tmp_path / "run").usage.executions == 60
    with pytest.raises(OSError):
        request(address)


def test_the_page_of_a_run_that_is_killed_ends_too(tmp_path):
    pytest.importorskip("plado", reason="needs the extra pddl")
    command = [*COMMAND, "assess", "first-responders", "--live", "--run", "run"]
    with started(command, cwd=tmp_path, **PIPES) as process:
        address = process.stderr.readline().strip().removeprefix("live: ")
        eventually(lambda: asked(address, "runs.json")["runs"])
        process.kill()
        process.wait(SECONDS)

        def gone():
            try:
                request(address)
            except OSError:
                return True
            return False

        eventually(gone)


def test_an_assessment_that_fails_leaves_no_page_and_no_directory(tmp_path):
    with started(
        [*COMMAND, "assess", "nonesuch", "--live", "--run", "run"], cwd=tmp_path, **PIPES
    ) as process:
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert "no problem 'nonesuch'" in err
    assert not (tmp_path / "run").exists()


def test_a_resumed_run_can_be_watched(tmp_path):
    pytest.importorskip("plado", reason="needs the extra pddl")
    begin = ["assess", "blocksworld", "--run", "run", "--max-executions", "20"]
    subprocess.run([*COMMAND, *begin], cwd=tmp_path, check=True, timeout=SECONDS, **PIPES)
    command = ["resume", "run", "--trust", "--live", "--max-executions", "40"]
    done = subprocess.run([*COMMAND, *command], cwd=tmp_path, timeout=SECONDS, **PIPES)
    assert done.returncode == 0
    assert done.stderr.startswith("live: http://127.0.0.1:")
