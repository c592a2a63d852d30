"""Boards to plan on: a press may have an irreversible effect."""

from support.toy_worlds import Board, board_problem

ALL_LIT = 0b111


class Brittle(Board):
    """A board on which pressing the first switch may light all switches and end the episode."""

    def __init__(self, breaks=0.0):
        super().__init__(ends_at=ALL_LIT)
        self.breaks = breaks

    def step(self, action):
        seen = super().step(action)
        if action == "a" and self.rng.random() < self.breaks:
            self.lit = seen = ALL_LIT
        return seen


def brittle_board(breaks=0.0):
    return board_problem(Brittle(breaks), horizon=1)


def hasty_board():
    """The factory for `plan_worlds.py:hasty_board`: one press per attempt, and it may slip."""
    return board_problem(Board(slip=0.3), horizon=1)
