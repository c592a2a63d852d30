"""Jobs of a bench in a Ray cluster: each in a fresh actor, which takes one CPU.

Jobs read and write run directories, so their folder has to be one that all nodes see. That, and
whether the nodes have the same version of capscope, is checked before the first job.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from capscope.assessment.workers.ray_cluster import connect_to_ray, first_line
from capscope.errors import CapscopeError
from capscope.journal.run_directory import versions
from capscope_experiments.jobs import STARTED, Job, JobMessage, outcome_of

_WAITING = "waits for a CPU of the cluster"
_SECONDS_TO_CHECK = 120.0


class JobActor:
    """The far side of a job."""

    def __init__(self) -> None:
        self._status = STARTED

    def run(self, job: Job) -> JobMessage:
        """Do the job."""
        return outcome_of(job, self._report)

    def status(self) -> str:
        """Return what the job reported last."""
        return self._status

    def _report(self, status: str) -> None:
        self._status = status


@dataclass(eq=False)
class ClusterJob:
    """A job in an actor."""

    ray: Any
    actor: Any
    result: Any
    status: Any

    def close(self) -> None:
        """End the actor."""
        with suppress(Exception):
            self.ray.kill(self.actor, no_restart=True)


class RayCluster:
    """Starts jobs in actors of a cluster."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        # `status` must not wait until `run` returns.
        self._actor = ray.remote(num_cpus=1, max_restarts=0, max_concurrency=2)(JobActor)

    def start(self, job: Job) -> ClusterJob:
        """Start a job."""
        actor = self._actor.remote()
        return ClusterJob(self._ray, actor, actor.run.remote(job), actor.status.remote())

    def messages(
        self, running: Sequence[ClusterJob], seconds: float
    ) -> list[tuple[ClusterJob, JobMessage]]:
        """Wait so long for results, and return what has come."""
        results = [job.result for job in running]
        ready, _ = self._ray.wait(results, num_returns=1, timeout=seconds)
        return [
            (job, self._received(job.result) if job.result in ready else self._status(job))
            for job in running
        ]

    def _received(self, result: Any) -> JobMessage:
        try:
            message: JobMessage = self._ray.get(result)
        except self._ray.exceptions.RayTaskError as error:
            return JobMessage("failed", f"its actor cannot run it: {first_line(error)}")
        except self._ray.exceptions.RayError as error:
            return JobMessage("lost", f"its actor is gone: {first_line(error)}")
        return message

    def _status(self, job: ClusterJob) -> JobMessage:
        if not self._ray.wait([job.status], timeout=0)[0]:
            return JobMessage("status", _WAITING)
        try:
            said: str = self._ray.get(job.status)
        except self._ray.exceptions.RayError:
            said = STARTED  # the next call for its result says what happened
        job.status = job.actor.status.remote()
        return JobMessage("status", said)


@contextmanager
def connected_cluster(
    address: str | None, workers: int, folder: Path, files: Sequence[Path] = ()
) -> Iterator[RayCluster]:
    """Connect to a cluster whose nodes see a folder and have these files."""
    # The nodes of a cluster that is started here import the experiments from where they are.
    known = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, known))
    ray = connect_to_ray(address, workers)
    try:
        check_nodes(ray, folder, files)
        yield RayCluster(ray)
    finally:
        ray.shutdown()


def check_nodes(ray: Any, folder: Path, files: Sequence[Path]) -> None:
    """Raise if a node does not see the folder, or has other files or another capscope."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder.resolve() / f".cluster-{secrets.token_hex(4)}"
        mark.write_text(secrets.token_hex(8), encoding="utf-8")
    except OSError as error:
        raise CapscopeError(f"cannot write to {folder}: {error.strerror}") from error
    try:
        for node in ray.nodes():
            if node["Alive"]:
                _check_node(ray, node, mark, files)
    finally:
        mark.unlink(missing_ok=True)


def _check_node(ray: Any, node: dict[str, Any], mark: Path, files: Sequence[Path]) -> None:
    strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], False)
    look = ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=strategy)(_seen)
    where = f"the node {node['NodeManagerAddress']} of the cluster"
    try:
        found = ray.get(look.remote((mark, *files)), timeout=_SECONDS_TO_CHECK)
    except ray.exceptions.RayError as error:
        raise CapscopeError(f"{where} cannot run the experiments: {first_line(error)}") from error
    here = _seen((mark, *files))
    if found[mark] != here[mark]:
        raise CapscopeError(
            f"{where} does not see {mark.parent}; choose --runs in a folder that all nodes share"
        )
    if found != here:
        other = next(what for what in here if found[what] != here[what])
        raise CapscopeError(f"{where} has no {other} or another one; install the same everywhere")


def _seen(files: Sequence[Path]) -> dict[str | Path, str]:
    """Return what a node has: the digests of files, and the version of capscope."""
    found: dict[str | Path, str] = {"capscope of this version": versions()["capscope"]}
    for file in files:
        found[file] = sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    return found
