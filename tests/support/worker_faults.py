"""Boards whose agent takes its process down, or hangs, as often as files in a folder say.

Usually that happens at the third attempt in a process, so that the draw can be made by another one.
"""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from support.toy_worlds import Board, Presser, board_problem

FOLDER = "CAPSCOPE_TEST_FAULTS"
HUNG = 100.0
"""Seconds; longer than any test waits."""


def arm(folder, fault, times=None):
    """Let a fault happen a number of times, in any process; at every attempt if None."""
    if times is None:
        (Path(folder) / "always").touch()
    for number in range(times or 1000):
        (Path(folder) / f"{fault}-{number}").touch()


def _due(fault):
    """Whether a fault is to happen now; it then will not happen again."""
    for path in sorted(Path(os.environ[FOLDER]).glob(f"{fault}-*")):
        try:
            path.unlink()
        except FileNotFoundError:  # another worker was faster
            continue
        return True
    return False


class Faulty(Presser):
    def __init__(self):
        self.attempts = 0

    def begin(self, intent, seed):
        self.attempts += 1
        if self.attempts > 2 or (Path(os.environ[FOLDER]) / "always").exists():
            if _due("kill"):
                os.kill(os.getpid(), signal.SIGKILL)
            if _due("exit"):
                os._exit(3)
            if _due("hang"):
                time.sleep(HUNG)
        return super().begin(intent, seed)


def faulty_board():
    """The factory for `worker_faults.py:faulty_board`."""
    return board_problem(Board(slip=0.3), Faulty())


def board_that_changes():
    """A problem with another fingerprint in each process."""
    return replace(board_problem(), fingerprint=str(os.getpid()))


def board_that_does_not_load_elsewhere():
    """A problem that only the process of the tests can load."""
    if os.environ["CAPSCOPE_TEST_MAIN"] != str(os.getpid()):
        raise OSError("no such device")
    return board_problem()
