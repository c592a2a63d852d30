"""What all tests share: a plain terminal, a working Ctrl-C, an end, and the command line."""

import faulthandler
import os
import signal
import sys
from collections import namedtuple

import pytest

# Programs print otherwise where these are set; Typer and Rich read some when they are imported.
_ASKS = {"FORCE_COLOR", "NO_COLOR", "PY_COLORS", "COLORTERM", "COLUMNS", "LINES"}
_ASKS |= {"GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
for _name in _ASKS & set(os.environ):
    del os.environ[_name]

Done = namedtuple("Done", "code out err")
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


@pytest.fixture
def capscope(monkeypatch, capsys, tmp_path):
    """Run a command line in an empty directory."""
    from capscope.cli import main

    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["capscope", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def refusal(capscope):
    """Run a command line that must be refused; return the line."""

    def run(*arguments):
        done = capscope(*arguments)
        assert done.code == 2, done
        assert done.out == ""
        assert done.err.count("\n") == 1, done.err
        assert "Traceback" not in done.err
        assert done.err.startswith("capscope: ")
        return done.err.strip()

    return run
