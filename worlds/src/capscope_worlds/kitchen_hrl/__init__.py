"""A hierarchical reinforcement-learning agent in the kitchen of Overcooked.

It learned on two levels: options by Q-learning, and which option to pick for a goal by Q-learning
over options (an SMDP). The package includes the values; `scripts/train_kitchen_hrl.py` makes them.
"""

from importlib.resources import files
from pathlib import Path

from capscope_worlds.kitchen_hrl.policy import MOST_STEPS, MOST_VISITS, KitchenHrlAgent
from capscope_worlds.kitchen_hrl.values import KitchenIndex, KitchenValues

__all__ = [
    "KITCHEN_VALUES",
    "MOST_STEPS",
    "MOST_VISITS",
    "KitchenHrlAgent",
    "KitchenIndex",
    "KitchenValues",
]

KITCHEN_VALUES = Path(str(files(__name__))) / "cramped-room.npz"
"""The file with the values that come with capscope."""
