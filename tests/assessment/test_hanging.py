"""A budget of seconds ends a run whose agent or simulator does not return."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from capscope import Budget, Settings, assess, load, resume
from capscope.assessment.workers import WorkerSettings
from capscope.errors import RunError
from capscope.journal.journal import Journal
from capscope.journal.run_meta import StopReason
from support import hanging_worlds
from support.hanging_worlds import HANG
from support.journal_rows import dump
from support.processes import SECONDS

FILE = Path(hanging_worlds.__file__)
SETTINGS = Settings(draws=4, batch=4, random_length=5, walks=2, walk_steps=8)
ENOUGH = Budget(executions=60)
SPENT = StopReason.budget("seconds")


def run_board(run, world, budget, workers=1):
    return assess(
        f"{FILE}:{world}", strategy="random", settings=SETTINGS, budget=budget, run=run,
        workers=workers,
    )  # fmt: skip


@pytest.mark.parametrize("world", ["hanging_agent", "hanging_board"])
@pytest.mark.parametrize("how", ["spin", "sleep", "catch"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_does_not_return_is_ended_and_the_run_can_be_resumed(
    world, how, workers, tmp_path, monkeypatch
):
    run_board(tmp_path / "whole", world, ENOUGH)
    monkeypatch.setenv(HANG, how)
    begun = time.monotonic()
    ended = run_board(tmp_path / "run", world, Budget(seconds=3.0), workers)
    assert time.monotonic() - begun < 60
    assert ended.stop_reason == SPENT
    assert 0 < ended.usage.executions < 60
    assert not ended.agent_failures  # it is not an outcome of the agent
    assert (tmp_path / "run" / "model.json").exists()
    monkeypatch.delenv(HANG)
    assert load(tmp_path / "run").usage.executions == ended.usage.executions
    resume(tmp_path / "run", budget=ENOUGH, workers=workers, trust=True)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_draws_that_were_complete_when_an_earlier_one_hung_are_kept(tmp_path, monkeypatch):
    run_board(tmp_path / "whole", "hanging_at_times", ENOUGH)
    monkeypatch.setenv(HANG, "sleep")
    run_board(tmp_path / "run", "hanging_at_times", Budget(seconds=3.0), workers=2)
    with closing(Journal.open(tmp_path / "run" / "journal.sqlite", read_only=True)) as journal:
        assert [draw.cut for draw in journal.draws(0)] == [False, True, False]
    monkeypatch.delenv(HANG)
    resume(tmp_path / "run", budget=ENOUGH, workers=2, trust=True)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


@pytest.mark.parametrize(("how", "workers"), [("spin", 2), ("native", 1)])
def test_processes_that_do_not_return_are_ended(how, workers, tmp_path, monkeypatch):
    run_board(tmp_path / "whole", "hanging_agent", ENOUGH)
    monkeypatch.setenv(HANG, how)
    begun = time.monotonic()
    processes = WorkerSettings(workers, "processes")
    ended = run_board(tmp_path / "run", "hanging_agent", Budget(seconds=8.0), processes)
    assert time.monotonic() - begun < 60
    assert ended.stop_reason == SPENT
    monkeypatch.delenv(HANG)
    resume(tmp_path / "run", budget=ENOUGH, workers=processes, trust=True)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_a_run_that_is_not_kept_ends_as_well(monkeypatch):
    monkeypatch.setenv(HANG, "sleep")
    begun = time.monotonic()
    ended = run_board(None, "hanging_agent", Budget(seconds=1.0))
    assert time.monotonic() - begun < 60
    assert ended.stop_reason == SPENT
    assert ended.usage.executions > 0


@pytest.mark.parametrize("how", ["spin", "sleep"])
def test_a_simulator_that_hangs_before_anything_is_asked_is_an_error(how, tmp_path, monkeypatch):
    monkeypatch.setenv(HANG, how)
    begun = time.monotonic()
    with pytest.raises(RunError, match="the time was over while intents were discovered"):
        run_board(tmp_path / "run", "board_that_hangs_at_once", Budget(seconds=1.0))
    assert time.monotonic() - begun < 60
    assert not (tmp_path / "run").exists()


def test_a_command_whose_native_code_does_not_return_is_ended_with_a_message(tmp_path, monkeypatch):
    monkeypatch.setenv(HANG, "native")
    monkeypatch.setenv("PYTHONPATH", str(FILE.parents[1]), prepend=os.pathsep)
    command = [sys.executable, "-m", "capscope", "assess", f"{FILE}:hanging_agent"]
    command += [
        "--strategy",
        "random",
        "--set",
        "random-length=5",
        "--max-seconds",
        "3",
        "--run",
        "run",
    ]
    begun = time.monotonic()
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert time.monotonic() - begun < 90
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == ""
    assert "everything observed is kept. Continue with: capscope resume run --trust" in done.stderr
    monkeypatch.delenv(HANG)
    again = [sys.executable, "-m", "capscope", "resume", "run", "--trust", "--max-executions", "60"]
    done = subprocess.run(
        again, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "60 executions" in done.stdout
