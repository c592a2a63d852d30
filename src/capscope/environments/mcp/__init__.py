"""Worlds behind an MCP server: its tools, over stdio, and what a tool that reads returns.

`capscope.tools` is the public way to use them.
"""

from capscope.environments.mcp.world import ControlTools, McpWorld

__all__ = ["ControlTools", "McpWorld"]
