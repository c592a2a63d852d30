"""The command line: a thin layer over `capscope.run.Run`."""

import sys

from capscope.version import __version__


def main() -> None:
    """Run the command line; the version is printed without importing the commands."""
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        sys.stdout.write(f"capscope {__version__}\n")
        return
    from capscope.cli.commands import run_command

    run_command(sys.argv[1:])
