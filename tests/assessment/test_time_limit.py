"""A budget of seconds is for everything, the report included."""

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from math import inf

import pytest

from capscope import Budget, Settings, assess, load, resume
from capscope.assessment.time_limit import (
    OutOfTime,
    TimedPictures,
    TimeLimit,
    interrupted_at,
    until,
)
from capscope.journal.run_meta import StopReason
from support.processes import SECONDS
from support.toy_worlds import slippery_board, slow_board

NEVER_ENDS = Settings(patience=10**6)


def test_without_a_budget_of_seconds_there_is_no_limit():
    assert TimeLimit.of(5.0, None) == TimeLimit(inf, inf)
    assert TimeLimit().to_ask() == inf
    assert TimeLimit().enforced(lambda: 5) == 5


@pytest.mark.parametrize(
    ("seconds", "reserved"), [(0, 0), (1, 0.5), (3, 1), (10, 2), (100, 20), (10_000, 120)]
)
def test_a_part_of_the_time_is_kept_for_the_report(seconds, reserved):
    limit = TimeLimit.of(7.0, seconds)
    assert limit.ends == 7.0 + seconds
    assert limit.ends - limit.asking_ends == pytest.approx(reserved)


def test_work_is_refused_when_it_is_too_late():
    with pytest.raises(OutOfTime):
        TimeLimit(0.0, time.monotonic() - 1).enforced(lambda: pytest.fail("it began"))


def spin():
    while True:
        pass


def sleep():
    time.sleep(200)


def catch_once():
    """Take the first interruption for an error of one's own."""
    try:
        spin()
    except BaseException:
        sleep()


def catch_and_raise():
    try:
        spin()
    except BaseException as error:
        raise ValueError("what was that?") from error


def lose_one_in_a_finalizer():
    """Swallow the first interruption, as a callback of a weak reference would."""

    class Finalized:
        def __del__(self):
            spin()

    Finalized()
    sleep()


@pytest.mark.parametrize(
    "work", [spin, sleep, catch_once, catch_and_raise, lose_one_in_a_finalizer]
)
@pytest.mark.parametrize("limited", [interrupted_at, until])
def test_work_that_does_not_return_is_interrupted_in_the_main_thread(limited, work):
    before, alarm = signal.getsignal(signal.SIGURG), signal.getsignal(signal.SIGALRM)
    begun = time.monotonic()
    with pytest.raises(OutOfTime):
        limited(begun + 0.2, work)
    assert 0.2 <= time.monotonic() - begun < 60
    assert signal.getsignal(signal.SIGURG) is before
    assert signal.getsignal(signal.SIGALRM) is alarm


@pytest.mark.parametrize("work", [spin, sleep])
def test_work_that_does_not_return_is_left_behind_in_another_thread(work, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "sleep", lambda: time.sleep(2))
    found = []

    def limited():
        try:
            until(time.monotonic() + 0.2, work if work is spin else sleep)
        except OutOfTime as error:
            found.append(error)

    thread = threading.Thread(target=limited)
    thread.start()
    thread.join(60)
    assert len(found) == 1


def test_work_that_returns_is_not_interrupted_afterwards():
    assert interrupted_at(time.monotonic() + 0.2, lambda: 5) == 5
    until_later = time.monotonic() + 0.5
    while time.monotonic() < until_later:
        pass


def test_errors_of_the_work_are_its_own():
    for limited in (interrupted_at, until):
        with pytest.raises(ZeroDivisionError):
            limited(time.monotonic() + 60, lambda: 1 / 0)


def test_the_nearer_deadline_of_nested_work_counts():
    begun = time.monotonic()

    def outer():
        with pytest.raises(OutOfTime):
            interrupted_at(begun + 0.1, spin)
        return "went on"

    assert interrupted_at(begun + 100, outer) == "went on"
    with pytest.raises(OutOfTime):
        interrupted_at(begun + 0.2, lambda: interrupted_at(begun + 100, spin))


@pytest.mark.parametrize(("at_least", "given"), [(0.0, 3.0), (10.0, 10.0)])
def test_a_program_is_ended_soon_after_its_time_however_short_that_is(at_least, given, monkeypatch):
    waits = []

    @contextmanager
    def popen(command, **_):
        waits.append(float(command[-2]))
        yield

    monkeypatch.setattr(subprocess, "Popen", popen)
    limit = replace(TimeLimit.of(time.monotonic(), 3.0), last_words="It is over.")
    with limit.by_force(at_least):
        pass
    (wait,) = waits
    assert given <= wait < given + 1


def test_pictures_end_when_half_of_the_time_is_over(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    draw = TimedPictures(bytes.upper, TimeLimit(0.0, 110.0))
    assert draw(b"a") == b"A"
    now[0] = 105.0
    assert draw(b"a") == b""
    assert draw.omitted == 1


def test_a_run_ends_within_its_seconds_with_its_report(tmp_path):
    begun = time.monotonic()
    run = assess(
        slow_board(),
        strategy="random",
        settings=NEVER_ENDS,
        budget=Budget(seconds=6.0),
        run=tmp_path / "run",
    )
    assert run.stop_reason == StopReason.budget("seconds")
    assert run.usage.seconds <= 6.0 - 1.2 + 0.5
    assert run.omitted is None
    assert run.report_path.exists()
    assert time.monotonic() - begun < 60  # the machine may be busy; asking took no longer


def test_a_run_that_spent_its_seconds_asks_nothing_more_unless_it_gets_more(tmp_path):
    given = {"strategy": "random", "settings": NEVER_ENDS}
    for number in range(3):  # in nearly half of them, the end of the time cuts a draw short
        run = tmp_path / f"run-{number}"
        first = assess(slippery_board(), budget=Budget(seconds=1.0), run=run, **given)
        again = resume(run, problem=slippery_board())
        assert again.usage.executions == first.usage.executions
        assert again.report_path.exists()
    more = resume(run, problem=slippery_board(), budget=Budget(seconds=3.0))
    assert more.usage.executions > first.usage.executions
    assert more.stop_reason == StopReason.budget("seconds")


SLOW_REPORT = """
import sys, time
import capscope.report.page.report as report
def slow(run, pictures=None):
    time.sleep(100)
report.digest_run = slow
from capscope.cli import main
main()
"""


def test_a_report_that_is_not_ready_in_time_is_omitted_and_that_is_said(tmp_path):
    toys = f"{slow_board.__code__.co_filename}:slow_board"
    command = [sys.executable, "-c", SLOW_REPORT, "assess", toys, "--strategy", "random"]
    command += ["--set", "patience=1000000", "--run", "run", "--max-seconds", "8"]
    begun = time.monotonic()
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begun < 60
    told = " ".join(done.stdout.split())
    assert "report omitted (time limit)" in told and "page: capscope report run" in told
    assert not (tmp_path / "run" / "report.html").exists()
    assert json.loads((tmp_path / "run" / "model.json").read_text())["capabilities"]
    assert load(tmp_path / "run").stop_reason == StopReason.budget("seconds")


SLOW_SUMMARY = """
import time
from capscope.model import LearnedModel
LearnedModel.coverage = lambda self: time.sleep(100)
from capscope.cli import main
main()
"""


@pytest.mark.parametrize("json_wanted", [False, True])
def test_a_claim_that_was_not_checked_in_time_is_not_made(tmp_path, json_wanted):
    toys = f"{slippery_board.__code__.co_filename}:slippery_board"
    command = [sys.executable, "-c", SLOW_SUMMARY, "assess", toys, "--run", "run"]
    command += ["--strategy", "exhaustive", "--max-seconds", "5", *["--json"] * json_wanted]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    if json_wanted:
        told = json.loads(done.stdout)
        assert {told[key] for key in ("report", "verdict", "audit", "coverage", "drift")} == {None}
        assert told["executions"] > 0
    else:
        assert "what may be claimed, and the report: omitted (time limit;" in done.stdout
        assert "confidence" not in done.stdout
