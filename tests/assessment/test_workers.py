"""Where draws are made changes nothing: threads, processes, and what happens when they fail."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from capscope import Budget, Settings, assess, resume
from capscope.assessment.workers import WorkerSettings, start_workers
from capscope.errors import CapscopeError, ProblemError, RunError
from capscope.problems import ProblemLoader
from capscope.report.overview import run_lines
from capscope.strategy.registry import STRATEGIES
from support import worker_faults
from support.journal_rows import dump
from support.processes import SECONDS, started
from support.toy_worlds import board_problem, slippery_board
from support.worker_faults import FOLDER, arm

BOARD = f"{Path(worker_faults.__file__)}:faulty_board"
SETTINGS = Settings(draws=4, batch=4, depth=4, random_length=5, iterations=30)
PROCESSES = WorkerSettings(2, "processes")


@pytest.fixture
def faults(tmp_path, monkeypatch):
    """A folder of faults to come; empty, so that there are none."""
    folder = tmp_path / "faults"
    folder.mkdir()
    monkeypatch.setenv(FOLDER, str(folder))
    return folder


def run_board(run, workers=1, strategy="adaptive", executions=60, source=BOARD):
    return assess(
        source, strategy=strategy, settings=SETTINGS, budget=Budget(executions=executions),
        run=run, workers=workers,
    )  # fmt: skip


@pytest.mark.parametrize("strategy", STRATEGIES.all)
def test_processes_leave_the_same_journal_as_one_thread(strategy, faults, tmp_path):
    run_board(tmp_path / "thread", 1, strategy)
    ended = run_board(tmp_path / "processes", PROCESSES, strategy)
    assert dump(tmp_path / "processes") == dump(tmp_path / "thread")
    assert ended.workers_lost == 0


def test_processes_that_are_killed_lose_nothing_and_the_run_says_so(faults, tmp_path):
    whole = run_board(tmp_path / "whole")
    # Two at most, or they could hit the same draw three times, which is an error.
    arm(faults, "kill", 1)
    arm(faults, "exit", 1)
    patched = run_board(tmp_path / "patched", PROCESSES)
    assert dump(tmp_path / "patched") == dump(tmp_path / "whole")
    assert patched.workers_lost == 2
    told = " ".join(" ".join(run_lines(patched)).split())
    assert "2 workers lost and their executions repeated" in told
    assert not any("lost" in line for line in run_lines(whole))


def test_a_draw_that_takes_every_worker_down_is_an_error_that_keeps_the_run(faults, tmp_path):
    arm(faults, "kill")
    with pytest.raises(RunError, match=r"draw \d+ of query \d+ was lost 3 times.*SIGKILL"):
        run_board(tmp_path / "run", PROCESSES)
    for path in faults.iterdir():
        path.unlink()
    run_board(tmp_path / "whole")
    resume(tmp_path / "run", workers=PROCESSES, trust=True)
    assert dump(tmp_path / "run") == dump(tmp_path / "whole")


def test_a_draw_that_hangs_is_ended_with_its_process_and_made_again(faults, tmp_path):
    run_board(tmp_path / "whole")
    arm(faults, "hang", 1)
    patched = run_board(tmp_path / "patched", WorkerSettings(2, "processes", draw_timeout=10.0))
    assert dump(tmp_path / "patched") == dump(tmp_path / "whole")
    assert patched.workers_lost == 1


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("processes", r"draw \d+ of query \d+ took longer than 0.5 s, 2 times; fix what hangs"),
        ("threads", r"draw \d+ of query \d+ took longer than 0.5 s, and a thread cannot be ended"),
    ],
)
def test_a_draw_that_always_hangs_is_an_error(backend, message, faults, tmp_path, monkeypatch):
    monkeypatch.setattr(worker_faults, "HUNG", 5.0)  # a thread goes on after the test
    arm(faults, "hang")
    with pytest.raises(RunError, match=message):
        run_board(tmp_path / "run", WorkerSettings(1, backend, draw_timeout=0.5))
    assert (tmp_path / "run" / "journal.sqlite").exists()


# What cannot travel, or is something else where it arrives, is said before anything is asked.


def test_a_function_that_cannot_travel_is_named_before_there_is_a_run(tmp_path):
    with pytest.raises(RunError, match=r"<lambda> cannot travel to the workers"):
        run_board(tmp_path / "run", PROCESSES, source=lambda: board_problem())
    with pytest.raises(RunError, match="a Problem object serves one worker, in this process"):
        run_board(tmp_path / "run", WorkerSettings(1, "processes"), source=board_problem())
    assert not (tmp_path / "run").exists()


def test_a_function_of_a_module_travels(tmp_path):
    run_board(tmp_path / "thread", source=slippery_board)
    run_board(tmp_path / "processes", PROCESSES, source=slippery_board)
    assert dump(tmp_path / "thread") == dump(tmp_path / "processes")


def test_a_problem_that_is_another_one_in_a_worker_is_refused(tmp_path):
    with pytest.raises(RunError, match="a worker has another fingerprint of the problem"):
        run_board(tmp_path / "run", PROCESSES, source=worker_faults.board_that_changes)
    assert not (tmp_path / "run").exists()


def test_a_problem_that_cannot_be_loaded_in_a_worker_is_an_error_of_the_problem(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("CAPSCOPE_TEST_MAIN", str(os.getpid()))
    source = f"{Path(worker_faults.__file__)}:board_that_does_not_load_elsewhere"
    with pytest.raises(ProblemError, match="OSError: no such device"):
        run_board(tmp_path / "run", PROCESSES, source=source)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"number": 0}, "--workers must be at least 1"),
        ({"draw_timeout": 0.0}, "--draw-timeout must be above 0"),
        ({"backend": "threads", "address": "auto"}, "--address is for --backend ray"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given, message):
    with pytest.raises(CapscopeError, match=message):
        WorkerSettings(**given)


def test_an_unknown_backend_is_refused(tmp_path):
    with pytest.raises(RunError, match="no backend 'gpus'; there are threads, processes, ray"):
        run_board(tmp_path / "run", WorkerSettings(backend="gpus"), source=slippery_board)


# Other work.


def doubled(number, problem):
    if number == 13:
        raise ProblemError("unlucky")
    return problem.name, 2 * number


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_results_of_other_work_come_in_order_and_errors_as_they_are(backend, faults):
    loader = ProblemLoader(BOARD)
    with start_workers(WorkerSettings(2, backend), loader(), loader) as workers:
        found = list(workers.map(partial(doubled, number) for number in range(12)))
        assert found == [("board", 2 * number) for number in range(12)]
        with pytest.raises(ProblemError, match="unlucky"):
            list(workers.map(partial(doubled, number) for number in range(12, 15)))
        assert list(workers.map([partial(doubled, 1)])) == [("board", 2)]


# Processes end with the run.


def children_of(pid):
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, timeout=SECONDS
    )
    return [int(word) for word in listed.stdout.split()]


def running(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes by /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_processes_that_hang_end_with_a_run_that_is_killed_or_interrupted_once(
    number, code, faults, tmp_path
):
    arm(faults, "hang")
    command = [
        sys.executable, "-m", "capscope", "assess", BOARD, "--workers", "2", "--backend",
        "processes", "--run", str(tmp_path / "run"),
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with started(command, env=environment, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: len(list(faults.iterdir())) <= 999)  # both hang
        workers = children_of(process.pid)
        assert len(workers) == 2
        process.send_signal(number)
        assert process.wait(SECONDS) == code
        wait_until(lambda: not any(map(running, workers)))
