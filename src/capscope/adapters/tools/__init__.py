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

from capscope.adapters.tools.agents import AttemptOver, ToolCallingSettings
from capscope.adapters.tools.problem import Ask, ask, tool_problem
from capscope.adapters.tools.proxy import LlmEndpoint
from capscope.adapters.tools.state import values
from capscope.adapters.tools.world import ToolWorld
from capscope.problem.tool_calls import Tool, ToolCall

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
