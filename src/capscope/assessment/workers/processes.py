"""Workers that are processes on this machine: they help if an agent or a simulator computes.

Each is a fresh interpreter (nothing is forked, so threads, sockets and GPU contexts of this one do
not matter), connected by a pair of sockets. It does not import the main module of the program, so
scripts need no guard. It ends when its end of the connection is closed, whatever it is doing then:
a run that was killed leaves no processes behind.
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

from capscope.assessment.workers.contract import MakeProblem, WorkerLost
from capscope.assessment.workers.remote import RemoteWorker
from capscope.assessment.workers.service import Failed, WorkerService
from capscope.errors import ProblemError
from capscope.problem import Problem

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from capscope.assessment.workers.processes import serve_process; "
    "serve_process(int(sys.argv[1]))"
)
_STOP = "stop"


class ProcessLink:
    """A connection to a process that is started with it."""

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
        """Tell the worker that the answer is no longer needed."""
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


class ProcessBackend:
    """Starts processes."""

    def __init__(
        self, problem: Problem, make: MakeProblem, draw_timeout: float | None = None
    ) -> None:
        self._problem = problem
        self._make = make
        self._draw_timeout = draw_timeout

    def start(self) -> RemoteWorker:
        """Start a process."""
        return RemoteWorker(ProcessLink(), self._problem, self._make, self._draw_timeout)

    def close(self) -> None:
        """Do nothing: processes have nothing in common."""


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
                message = Failed(ProblemError(f"a message cannot be read by a worker: {error}"))
            if message == _STOP:
                stopped.set()
            else:
                inbox.put(message)

    Thread(target=listen, daemon=True).start()
    WorkerService(inbox.get, connection.send, stopped).serve()
