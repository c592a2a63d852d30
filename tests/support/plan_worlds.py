"""Boards to plan on, where a press may have an irreversible effect, and doors to choose from."""

from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import StateGraph
from support.toy_worlds import Board, board_problem

OPEN, CLOSED = 0b01, 0b10
DOORS = Vocabulary.of_atoms(["a_open", "b_closed", *(f"door{i:02}" for i in range(12))])
DOOR_INTENTS = [Intent.parse(f"door{i:02}") for i in range(12)]

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


def doors(probabilities, executions, rng):
    """Try each door this often; it opens with its probability, or is closed for good."""
    graph = StateGraph(DOORS, DOOR_INTENTS[: len(probabilities)])
    for door, probability in enumerate(probabilities):
        opened = sum(rng.random() < probability for _ in range(executions))
        ends = {OPEN: opened, CLOSED: executions - opened}
        graph.update({Transition(0, door, end): n for end, n in ends.items() if n})
    return graph
