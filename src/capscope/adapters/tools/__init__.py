"""Assess agents that call tools: a world of plain functions, and what the agent is asked for.

world = ToolWorld(start=Box(...), tools=[list_mail, archive, delete])
problem = tool_problem(
    world,
    predicates={"archived(mail)": lambda box, mail: box.mails[mail].archived},
    objects={"mail": ["alice", "bob"]},
    asks=[ask("archived(m)", "Archive the mail from {m}.")],
    agent=my_agent,
)
"""

from capscope.adapters.tools.asks import Ask, ask
from capscope.adapters.tools.own_loop import AttemptOver
from capscope.adapters.tools.problem import tool_problem
from capscope.adapters.tools.proxy import LlmEndpoint
from capscope.adapters.tools.state_paths import ValuesAt
from capscope.adapters.tools.tool_calling_agent import ToolCallingSettings
from capscope.adapters.tools.world import ToolWorld
from capscope.problem.tool_calls import Tool, ToolCall

values = ValuesAt
"""The values at a path of the state, for the parameters of tools: `values("mails.*.id")`."""

__all__ = [
    "Ask",
    "AttemptOver",
    "LlmEndpoint",
    "Tool",
    "ToolCall",
    "ToolCallingSettings",
    "ToolWorld",
    "ask",
    "tool_problem",
    "values",
]
