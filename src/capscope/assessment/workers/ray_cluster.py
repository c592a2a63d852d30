"""Workers that are actors of a Ray cluster: on this machine, or on many.

Each actor takes one CPU and loads the problem on its own node, where capscope, the problem and the
files that it names have to be installed. Ray executes whatever it is sent: see the how-to.
"""

from __future__ import annotations

import os
from contextlib import suppress
from math import inf
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

from capscope.assessment.workers.contract import MakeProblem, WorkerLost
from capscope.assessment.workers.remote import RemoteWorker
from capscope.assessment.workers.service import WorkerService
from capscope.errors import RunError, install_hint
from capscope.problem import Problem


class WorkerActor:
    """The far side of a worker in an actor: draws are made in a thread of their own."""

    def __init__(self) -> None:
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._outbox: SimpleQueue[Any] = SimpleQueue()
        self._stopped = Event()
        service = WorkerService(self._inbox.get, self._outbox.put, self._stopped)
        Thread(target=service.serve, daemon=True).start()

    def exchange(self, message: Any) -> Any:
        """Take a message and return the one that follows."""
        self._inbox.put(message)
        return self._outbox.get()

    def stop(self) -> None:
        """Let the draw under way end after its current attempt."""
        self._stopped.set()


class RayLink:
    """A connection to an actor that is started with it."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        # `stop` must not wait until `exchange` returns.
        actor = ray.remote(num_cpus=1, max_restarts=0, max_concurrency=2)(WorkerActor)
        self._actor = actor.remote()
        self._reply: Any = None

    def send(self, message: Any) -> None:
        """Send a message."""
        self._reply = self._actor.exchange.remote(message)

    def receive(self, seconds: float) -> Any:
        """Return the next message; raise `TimeoutError` if it takes longer."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(self._reply, timeout=None if seconds == inf else max(seconds, 0))
        except errors.GetTimeoutError:
            raise TimeoutError from None
        except errors.RayTaskError as error:
            reason = first_line(error.cause or error)
            raise RunError(f"a worker of the cluster could not answer: {reason}") from error
        except errors.RayError as error:
            raise WorkerLost(f"an actor of the cluster is gone: {first_line(error)}") from error

    def stop(self) -> None:
        """Tell the worker that the answer is no longer needed."""
        with suppress(Exception):
            self._actor.stop.remote()

    def close(self) -> None:
        """End the actor at once."""
        with suppress(Exception):
            self._ray.kill(self._actor, no_restart=True)


class RayBackend:
    """Starts actors in a cluster; without an address, in one that it starts on this machine."""

    def __init__(
        self,
        problem: Problem,
        make: MakeProblem,
        draw_timeout: float | None,
        address: str | None,
        workers: int,
    ) -> None:
        self._problem = problem
        self._make = make
        self._draw_timeout = draw_timeout
        self._ray = _import_ray()
        self._begun = not self._ray.is_initialized()
        if self._begun:
            _connect(self._ray, address, workers)

    def start(self) -> RemoteWorker:
        """Start an actor."""
        return RemoteWorker(RayLink(self._ray), self._problem, self._make, self._draw_timeout)

    def close(self) -> None:
        """Leave the cluster."""
        if self._begun:
            self._ray.shutdown()


def connect_to_ray(address: str | None, workers: int) -> Any:
    """Connect to a cluster, or start one for so many workers; return the package `ray`."""
    ray = _import_ray()
    _connect(ray, address, workers)
    return ray


def _import_ray() -> Any:
    # Nothing about the runs of capscope's users is to be reported to others.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise RunError(f"--backend ray needs an extra: {install_hint('ray')}") from error
    return ray


def _connect(ray: Any, address: str | None, workers: int) -> None:
    given: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        # Otherwise Ray would join whatever cluster somebody started on this machine.
        given |= {"address": "local", "num_cpus": workers, "include_dashboard": False}
    else:
        given["address"] = address
    try:
        ray.init(**given)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the Ray cluster at {address}" if address else "Ray on this machine"
        raise RunError(f"cannot connect to {where}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """Return the first line of a message of Ray, which has many."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
