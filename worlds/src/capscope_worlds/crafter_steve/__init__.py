"""A policy for Crafter that follows short instructions, learned by imitation.

The package includes the weights; `scripts/train_crafter_steve.py` makes them. The agent is
modelled on Crafter Steve-1 (Park et al., CrafterDojo, 2025), which needs PyTorch, a text encoder
and a prior; this one is a small network on NumPy.
"""

from importlib.resources import files
from pathlib import Path

from capscope_worlds.crafter_steve.agent import InstructionFollower, SteveAgent, SteveAttempt
from capscope_worlds.crafter_steve.network import PolicyNetwork
from capscope_worlds.crafter_steve.view import CrafterFeatures

__all__ = [
    "SKILLS",
    "STEVE_WEIGHTS",
    "CrafterFeatures",
    "InstructionFollower",
    "PolicyNetwork",
    "SteveAgent",
    "SteveAttempt",
]

STEVE_WEIGHTS = Path(str(files(__name__))) / "steve.npz"
"""The weights that come with capscope."""
SKILLS = (
    "craft wood pickaxe",
    "craft wood sword",
    "dig a tunnel",
    "go explore",
    "go to sleep",
    "move to east",
    "move to north",
    "move to south",
    "move to west",
    "obtain coal",
    "obtain diamond",
    "obtain tree",
    "obtain water",
    "place crafting table on grass",
    "place crafting table to build shelter",
    "stay",
)
"""The sixteen skills of the paper, as the policy knows them."""
