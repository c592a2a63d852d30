"""The command line: one file a command."""

from capscope.cli.main import main

__all__ = ["main"]
