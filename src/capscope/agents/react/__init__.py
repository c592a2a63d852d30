"""A language model as an agent: it reads where it is, thinks, and writes down what to do.

The loop (`agent`), the words around it (`prompt`) and the reading of answers (`answer`) know only
text and the names of actions. What a world looks like and how its goals are said is a `Guide`;
`grid` has the one for grids.
"""

from capscope.agents.react.agent import ReactAgent
from capscope.agents.react.answer import Plan, Unreadable
from capscope.agents.react.grid import GRID_GUIDE
from capscope.agents.react.guide import Example, Guide
from capscope.agents.react.settings import SMALL_MODEL_SETTINGS, ReactSettings

__all__ = [
    "GRID_GUIDE",
    "SMALL_MODEL_SETTINGS",
    "Example",
    "Guide",
    "Plan",
    "ReactAgent",
    "ReactSettings",
    "Unreadable",
]
