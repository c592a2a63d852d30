"""Connections to workers in other processes: on this machine, or in a Ray cluster.

Processes help if an agent or a simulator computes. Each is a fresh interpreter (nothing is forked,
so threads, sockets and GPU contexts of this one do not matter), connected by a pair of sockets. It
does not import the main module of the program, so scripts need no guard. It ends when its end of
the connection is closed, whatever it is doing then: a run that was killed leaves no processes.

An actor of a Ray cluster takes one CPU and loads the problem on its own node, where capscope, the
problem and the files that it names have to be installed. Ray executes whatever it is sent: see the
how-to.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from math import inf
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from capscope.assessment.remote_workers import FarSide, WorkerLost
from capscope.errors import ProblemError, RunError, install_hint

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from capscope.assessment.worker_links import serve_process; "
    "serve_process(int(sys.argv[1]))"
)
_STOP = "stop"


class ProcessLink:
    """A connection to a process that is started with it; what cuts it raises `WorkerLost`."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._connection = Connection(ours.detach())
        self._lock = Lock()  # `stop` comes from another thread
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, str(theirs.fileno()), json.dumps(sys.path)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # Libraries that use all cores would hinder each other.
                env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ},
                process_group=0,  # Ctrl-C is for the loop
            )

    def send(self, message: Any) -> None:
        """Send a message."""
        try:
            with self._lock:
                self._connection.send(message)
        except OSError as error:
            raise WorkerLost(self._what_happened()) from error

    def receive(self, seconds: float) -> Any:
        """Return the next message; raise `TimeoutError` if it takes longer."""
        try:
            if seconds < inf and not self._connection.poll(max(seconds, 0)):
                raise TimeoutError
            return self._connection.recv()
        except TimeoutError:
            raise
        except (EOFError, OSError) as error:
            raise WorkerLost(self._what_happened()) from error

    def stop(self) -> None:
        """Tell the worker, while it makes a draw, that the answer is no longer needed."""
        with suppress(WorkerLost):
            self.send(_STOP)

    def close(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            self._connection.close()

    def _what_happened(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1)
            if code < 0:
                return f"process {self._process.pid} was ended by {signal.Signals(-code).name}"
            return f"process {self._process.pid} ended with exit code {code}"
        return f"process {self._process.pid} closed its connection"


def serve_process(descriptor: int) -> None:
    """Be a worker: answer what comes over a connection until it is closed."""
    os.dup2(2, 1)  # what an agent prints must not mix with the output of the command
    connection = Connection(descriptor)
    inbox: SimpleQueue[Any] = SimpleQueue()
    stopped = Event()

    def listen() -> None:
        # Its own thread, so that the end of the run ends a draw that hangs.
        while True:
            try:
                message = connection.recv()
            except (EOFError, OSError):
                os._exit(0)
            except Exception as error:
                message = ProblemError(f"a message cannot be read by a worker: {error}")
            if message == _STOP:
                stopped.set()
            else:
                inbox.put(message)

    Thread(target=listen, daemon=True).start()
    FarSide(inbox.get, connection.send, stopped).serve()


class WorkerActor:
    """The far side of a worker in an actor: draws are made in a thread of their own."""

    def __init__(self) -> None:
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._outbox: SimpleQueue[Any] = SimpleQueue()
        self._stopped = Event()
        far = FarSide(self._inbox.get, self._outbox.put, self._stopped)
        Thread(target=far.serve, daemon=True).start()

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


Link = ProcessLink | RayLink


class RayCluster:
    """A cluster; without an address, one that is started on this machine."""

    def __init__(self, address: str | None, workers: int) -> None:
        self.ray = _import_ray()
        self._begun = not self.ray.is_initialized()
        if self._begun:
            _connect(self.ray, address, workers)

    def link(self) -> RayLink:
        """Start an actor."""
        return RayLink(self.ray)

    def close(self) -> None:
        """Leave the cluster."""
        if self._begun:
            self.ray.shutdown()


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
        # Otherwise Ray would join any cluster that runs on this machine.
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
