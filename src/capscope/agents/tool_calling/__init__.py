"""Agents that call tools: a loop on any OpenAI-compatible server, and loops of the user's own.

The built-in agent (`ToolCallingAgent`) shows the model the tools and carries out its calls, one
simulator step each, until it answers without a call. An agent that runs its own loop (a function,
or any framework) gets the prompt and the tools as plain functions (`OwnLoopAgent`), and a server on
loopback (`proxy`) through which its calls to the model are seeded, cached, counted and, when the
attempt has ended, refused.
"""

from capscope.agents.tool_calling.agent import ToolCallingAgent, ToolCallingSettings
from capscope.agents.tool_calling.own_loop import AttemptOver, OwnLoopAgent
from capscope.agents.tool_calling.prompts import Prompts
from capscope.agents.tool_calling.proxy import LlmEndpoint

__all__ = [
    "AttemptOver",
    "LlmEndpoint",
    "OwnLoopAgent",
    "Prompts",
    "ToolCallingAgent",
    "ToolCallingSettings",
]
