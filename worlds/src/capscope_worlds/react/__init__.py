"""A language model as an agent: it reads an observation, thinks, and writes a plan of actions.

The loop (`agent`), the prompts (`prompt`) and the parser (`answer`) only deal with text and names
of actions. How a world is described and its goals are phrased is a `Guide`; `grid` has the one for
grids.
"""

from capscope_worlds.react.agent import SMALL_MODEL_SETTINGS, ReactAgent, ReactSettings
from capscope_worlds.react.answer import ActionPlan, UnreadableAnswer
from capscope_worlds.react.grid import GRID_GUIDE
from capscope_worlds.react.prompt import Guide, GuideExample

__all__ = [
    "GRID_GUIDE",
    "SMALL_MODEL_SETTINGS",
    "ActionPlan",
    "Guide",
    "GuideExample",
    "ReactAgent",
    "ReactSettings",
    "UnreadableAnswer",
]
