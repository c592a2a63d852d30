"""Boards whose agent, or simulator, does not return while an environment variable says so.

An agent hangs from its seventh attempt on, a simulator in any draw but the first two.
"""

import ctypes
import os
import time

from support.toy_worlds import Board, Presser, board_problem

HANG = "CAPSCOPE_TEST_HANG"
"""How to hang: `spin`, `sleep`, `native`, or `catch` to take an interruption for an error."""


def hang():
    how = os.environ.get(HANG)
    while how == "spin":
        pass
    if how == "sleep":
        time.sleep(100)
    if how == "native":
        ctypes.PyDLL(None).sleep(100)  # without a chance for other threads
    if how == "catch":
        try:
            time.sleep(100)
        except BaseException as error:
            raise ValueError("what was that?") from error


class HangingAgent(Presser):
    def __init__(self):
        self.attempts = 0

    def begin(self, intent, seed):
        self.attempts += 1
        if self.attempts > 6:
            hang()
        return super().begin(intent, seed)


class HangingAtTimes(Presser):
    """Hangs in the same draws, in any worker."""

    def begin(self, intent, seed):
        if seed % 11 == 0:
            hang()
        return super().begin(intent, seed)


class HangingBoard(Board):
    restored = steps = 0

    def restore(self, snapshot, seed):
        self.restored += 1
        self.steps = 0
        return super().restore(snapshot, seed)

    def step(self, action):
        self.steps += 1
        if self.restored > 2 and self.steps > 1:
            hang()
        return super().step(action)


class BoardThatHangsAtOnce(Board):
    def step(self, action):
        hang()
        return super().step(action)


def hanging_agent():
    """The factory for `hanging_worlds.py:hanging_agent`."""
    return board_problem(Board(slip=0.3), HangingAgent())


def hanging_at_times():
    return board_problem(Board(slip=0.3), HangingAtTimes())


def hanging_board():
    return board_problem(HangingBoard(slip=0.3))


def board_that_hangs_at_once():
    return board_problem(BoardThatHangsAtOnce())
