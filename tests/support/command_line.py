"""Fixtures that run commands in this process."""

import sys
from collections import namedtuple

import pytest

Done = namedtuple("Done", "code out err")


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
