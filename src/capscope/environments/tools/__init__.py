"""Worlds of tools: a state, functions over it, and predicates of it.

`capscope.tools` is the public way to use them.
"""

from capscope.environments.tools.state_abstraction import StateAbstraction
from capscope.environments.tools.state_paths import ValuesAt
from capscope.environments.tools.tool import tool_of
from capscope.environments.tools.world import ToolWorld

__all__ = [
    "StateAbstraction",
    "ToolWorld",
    "ValuesAt",
    "tool_of",
]
