"""Worlds behind an MCP server: its tools, over stdio, and what a tool that reads returns.

`capscope.adapters.tools` is the public way to use them.
"""

from capscope.adapters.mcp.world import ControlTools, McpWorld

__all__ = ["ControlTools", "McpWorld"]
