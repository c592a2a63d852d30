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

from capscope.agents.tool_calling import AttemptOver, LlmEndpoint, ToolCallingSettings
from capscope.environments.mcp import ControlTools, McpWorld
from capscope.environments.tools import ToolWorld, ValuesAt
from capscope.tools.asks import Ask, ask
from capscope.tools.problem import tool_problem
from capscope.world.tool_calls import Tool, ToolCall

values = ValuesAt
"""The values at a path of the state, for the parameters of tools: `values("mails.*.id")`."""

__all__ = [
    "Ask",
    "AttemptOver",
    "ControlTools",
    "LlmEndpoint",
    "McpWorld",
    "Tool",
    "ToolCall",
    "ToolCallingSettings",
    "ToolWorld",
    "ask",
    "tool_problem",
    "values",
]
