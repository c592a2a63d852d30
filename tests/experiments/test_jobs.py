import os
import re

import pytest

from capscope.errors import CapscopeError
from capscope_experiments.benchmarks.killed_runs import children_of
from capscope_experiments.jobs import Durations, run_jobs, show_nothing
from support.odd_jobs import (
    Answering,
    Dying,
    DyingOnce,
    DyingWhileSending,
    Exiting,
    Listening,
    Named,
    Raising,
    Waiting,
)


@pytest.fixture(autouse=True)
def earlier_children():
    """Require that no process is left; tests of other files may have left some."""
    earlier = set(children_of(os.getpid()))
    yield earlier
    assert set(children_of(os.getpid())) <= earlier


@pytest.fixture
def fifo(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


def assert_gone(process):
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_one_worker_does_all_jobs_in_order_in_this_process():
    told = []
    jobs = [Answering("a", answer=1), Answering("b", answer=[2]), Answering("c")]
    found = list(run_jobs(jobs, 1, told.append))
    assert found == [(1, os.getpid()), ([2], os.getpid()), (None, os.getpid())]
    assert [(s.done, s.total, dict(s.running)) for s in told] == [
        (done, 3, {name: word})
        for done, name in enumerate("abc")
        for word in ("started", f"thinking of {name}")
    ]
    assert told[0].seconds_left is None
    assert told[-1].seconds_left is not None


def test_several_workers_do_each_job_in_its_own_process():
    told = []
    large = "x" * 10**6
    jobs = [Answering("a", answer=1), Answering("b", answer=large), Answering("c", answer=3)]
    found = dict(run_jobs(jobs, 2, told.append))
    assert found.keys() == {1, large, 3}
    assert len({*found.values(), os.getpid()}) == 4
    assert max(len(standing.running) for standing in told) == 2
    words = {name: word for standing in told for name, word in standing.running.items()}
    assert words.keys() == {"a", "b", "c"}
    assert [standing.done for standing in told] == sorted(standing.done for standing in told)
    last = told[-1]
    assert (last.done, last.total, last.running, last.seconds_left) == (3, 3, {}, 0.0)


@pytest.mark.parametrize("workers", [1, 2])
def test_no_jobs_give_no_results(workers):
    assert list(run_jobs([], workers, show_nothing)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_job_is_reported_with_the_name_of_the_job(workers):
    jobs = [Raising("blocks 3", error=CapscopeError("the disk is full"))]
    with pytest.raises(CapscopeError, match=r"^blocks 3: the disk is full; all runs are saved"):
        list(run_jobs(jobs, workers, show_nothing))


def test_an_unexpected_exception_in_this_process_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        list(run_jobs([Raising("a", error=ZeroDivisionError("gears"))], 1, show_nothing))


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (
            Raising("it", error=ZeroDivisionError("gears")),
            r"Traceback[\s\S]*in __call__[\s\S]*gears",
        ),
        (Exiting("it"), r"Traceback[\s\S]*SystemExit: 5"),
        (Dying("it"), r"process \d+ ended with exit code 7"),
        (DyingWhileSending("it"), r"process \d+ ended with exit code 8"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_job_that_fails_in_its_own_process_is_reported_by_name(job, reason):
    with pytest.raises(CapscopeError, match=f"^it: {reason}"):
        list(run_jobs([job], 2, show_nothing))


def test_a_job_whose_process_is_lost_is_begun_again(tmp_path):
    job = DyingOnce("it", file=tmp_path / "begun")
    assert list(run_jobs([job], 2, show_nothing)) == [1]


def test_when_one_job_fails_the_others_are_stopped(fifo):
    jobs = [Waiting("a", fifo=fifo), Listening("b", fifo=fifo, fails=True), Dying("never begun")]
    with pytest.raises(CapscopeError, match=r"^b: saw") as raised:
        list(run_jobs(jobs, 2, show_nothing))
    assert_gone(int(re.search(r"saw (\d+)", str(raised.value))[1]))


def test_a_consumer_that_is_interrupted_stops_the_running_jobs(fifo):
    waiting = None
    with pytest.raises(KeyboardInterrupt):
        for waiting in run_jobs(
            [Waiting("a", fifo=fifo), Listening("b", fifo=fifo)], 2, show_nothing
        ):
            os.kill(waiting, 0)
            raise KeyboardInterrupt
    assert_gone(waiting)


def test_an_interruption_stops_the_running_jobs(earlier_children):
    under_way = []

    def tell(standing):
        if standing.running == {"a": "waiting"}:
            under_way.extend(set(children_of(os.getpid())) - earlier_children)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run_jobs([Waiting("a")], 2, tell))
    assert len(under_way) == 1
    assert_gone(under_way[0])


QUICK, SLOW, OTHER = Named("1", "quick"), Named("2", "slow"), Named("3", "other")


def test_before_the_first_job_is_done_there_is_no_estimate():
    assert Durations([QUICK, SLOW], 2).seconds_left(elapsed=50.0) is None


def test_a_waiting_job_takes_as_long_as_those_of_its_kind():
    durations = Durations([QUICK, SLOW, QUICK, SLOW, QUICK], 1)
    durations.add(QUICK, 1.0)
    durations.add(SLOW, 100.0)
    durations.add(QUICK, 3.0)
    assert (durations.done, durations.total) == (3, 5)
    assert durations.seconds_left(elapsed=0.0) == 100.0 + 2.0
    assert durations.seconds_left(elapsed=40.0) == 62.0


def test_a_job_of_a_kind_not_seen_yet_takes_as_long_as_the_mean_of_all():
    durations = Durations([QUICK, SLOW, OTHER], 1)
    durations.add(QUICK, 1.0)
    durations.add(SLOW, 3.0)
    assert durations.seconds_left(elapsed=0.0) == 2.0


def test_workers_share_the_time_left_and_it_is_never_negative():
    durations = Durations([QUICK] * 5, 2)
    durations.add(QUICK, 10.0)
    assert durations.seconds_left(elapsed=0.0) == 20.0
    assert durations.seconds_left(elapsed=1000.0) == 0.0
