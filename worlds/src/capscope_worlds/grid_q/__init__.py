"""A reinforcement-learning agent in a grid: tabular Q-learning, softmax policy.

The package includes the values learned in the four quadrants; `examples/train_grid_q.py` makes
them, and those for any other grid.
"""

from importlib.resources import files
from pathlib import Path

from capscope_worlds.grid_q.policy import ROOM_PREDICATE, TEMPERATURE, GridQAgent
from capscope_worlds.grid_q.values import ActionValues

__all__ = ["FOUR_QUADRANTS_VALUES", "ROOM_PREDICATE", "TEMPERATURE", "ActionValues", "GridQAgent"]

FOUR_QUADRANTS_VALUES = Path(str(files(__name__))) / "four-quadrants.npz"
"""The file with the values that come with capscope."""
