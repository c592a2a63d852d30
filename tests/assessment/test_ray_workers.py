"""Draws and jobs in a Ray cluster of two nodes on this machine; in the end one is killed."""

import os
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from capscope import Budget, Settings, WorkerSettings, assess
from capscope.assessment.worker_links import _connect
from capscope.errors import CapscopeError, RunError
from capscope_experiments.benchmarks.killed_runs import children_of
from capscope_experiments.cluster_jobs import connected_cluster
from capscope_experiments.jobs import run_jobs
from support.journal_rows import dump
from support.odd_jobs import Answering, DyingOnce
from support.toy_worlds import slippery_board

SETTINGS = Settings(batch=4, depth=4)


@pytest.fixture(scope="module")
def cluster():
    tests = Path(__file__).parents[1]
    with pytest.MonkeyPatch.context() as patched, warnings.catch_warnings():
        patched.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # The nodes are other processes; what pytest adds to its path they do not have.
        for folder in (tests, tests.parent / "experiments"):
            patched.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        patched.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        warnings.simplefilter("ignore")
        import ray
        from ray.cluster_utils import Cluster

        node = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
        nodes = Cluster(initialize_head=True, head_node_args=node)
        try:
            other = nodes.add_node(**node)
            nodes.wait_for_nodes()
            yield nodes, other
        finally:
            ray.shutdown()
            nodes.shutdown()


def test_a_job_runs_in_an_actor_and_again_if_that_is_lost(cluster, tmp_path):
    nodes, _ = cluster
    told = []
    jobs = [Answering("a", answer=1), DyingOnce("b", file=tmp_path / "begun")]
    with connected_cluster(nodes.address, 2, tmp_path / "runs") as found:
        answers = list(run_jobs(jobs, 2, told.append, found.link))
    assert [answer for answer in answers if isinstance(answer, int)] == [1]
    [(answer, process)] = [answer for answer in answers if isinstance(answer, tuple)]
    assert (answer, process == os.getpid()) == (1, False)
    assert told[-1].done == 2
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_node_that_has_another_file_is_refused_before_the_first_job(cluster, tmp_path):
    nodes, _ = cluster
    own = Path("/proc/self/stat")  # every process has its own
    with (
        pytest.raises(CapscopeError, match=r"has no /proc/self/stat or another one; install"),
        connected_cluster(nodes.address, 2, tmp_path / "runs", [own]),
    ):
        pytest.fail("it was not refused")


def power_off(nodes, node):
    """Kill a node with its actors, which otherwise go on until they notice that it is gone."""
    raylet = node.all_processes["raylet"][0].process.pid
    actors = children_of(raylet)
    nodes.remove_node(node, allow_graceful=False)
    for pid in actors:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_cluster_leaves_the_same_journal_as_one_thread_although_a_node_is_killed(
    cluster, tmp_path
):
    nodes, other = cluster
    at = []

    def killed(event):
        if event.usage.queries == 5:
            power_off(nodes, other)
            at.append(event.usage.executions)

    given = {"strategy": "exhaustive", "settings": SETTINGS, "budget": Budget(executions=200)}
    assess(slippery_board, **given, run=tmp_path / "thread")
    ended = assess(
        slippery_board, **given, run=tmp_path / "cluster", listener=killed,
        workers=WorkerSettings(2, "ray", nodes.address),
    )  # fmt: skip
    assert dump(tmp_path / "cluster") == dump(tmp_path / "thread")
    assert len(at) == 1 and at[0] < ended.usage.executions
    # Free workers take turns, so the one that was killed is asked again, and found to be lost.
    assert ended.workers_lost == 1


class PretendedRay:
    """Notes how it is asked to connect; a wrong address is refused as by Ray."""

    def __init__(self):
        self.given = {}

    def init(self, **given):
        if given["address"] == "nowhere:6379":
            raise ConnectionError("could not find any running Ray instance\nat nowhere")
        self.given = given


def test_without_an_address_a_cluster_of_its_own_is_started():
    ray = PretendedRay()
    _connect(ray, None, 3)
    assert (ray.given["address"], ray.given["num_cpus"]) == ("local", 3)
    _connect(ray, "auto", 3)
    assert ray.given["address"] == "auto"
    assert "num_cpus" not in ray.given


def test_a_cluster_that_cannot_be_reached_is_an_error_of_one_line():
    with pytest.raises(RunError, match=r"cluster at nowhere:6379: could not find any running Ray"):
        _connect(PretendedRay(), "nowhere:6379", 1)


def test_a_missing_package_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RunError, match=r"--backend ray needs an extra: pip install .*ray"):
        assess(slippery_board, run=tmp_path / "run", workers=WorkerSettings(1, "ray"))
    assert not (tmp_path / "run").exists()
