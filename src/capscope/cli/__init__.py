"""The command line: a thin layer over `capscope.run.Run`."""

from capscope.cli.main import main

__all__ = ["main"]
