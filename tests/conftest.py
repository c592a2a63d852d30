"""What all tests share: a plain terminal, a working Ctrl-C, an end, and the command line."""

import faulthandler
import os
import signal
import sys

import pytest

from support.command_line import capscope, refusal

__all__ = ["capscope", "refusal"]

# Programs print otherwise where these are set; Typer and Rich read some when they are imported.
_ASKS = {"FORCE_COLOR", "NO_COLOR", "PY_COLORS", "COLORTERM", "COLUMNS", "LINES"}
_ASKS |= {"GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
for _name in _ASKS & set(os.environ):
    del os.environ[_name]

_SECONDS_TO_EXIT = 60


def pytest_sessionstart():
    """Let Ctrl-C raise KeyboardInterrupt, also if the tests run in the background of a script.

    A shell starts such commands with SIGINT ignored, and Python then leaves it ignored. Children
    need nothing of their own: a signal that is handled here has its default action in them.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    """Limit the time to exit: the interpreter joins threads, and a test may have left one."""
    faulthandler.dump_traceback_later(_SECONDS_TO_EXIT, exit=True, file=sys.__stderr__)
