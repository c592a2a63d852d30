"""What the documentation shows, run for real: its files are written, its commands given.

A page is read from top to bottom like a session at a terminal, in one folder:

- a block with a caption is a file of that name, and is written;
- a `console` block has commands after `$`, each followed by its output;
- a `pycon` block is a session at the Python prompt;
- other blocks are only read: `text` is for outlines, `sh` for what a test must not do (install).

`…` in an output matches anything; alone on a line it matches any number of lines. A command that
fails is followed by `echo $?`. The other pages continue where the tutorial ended. Run as a script,
this module updates outputs that no longer agree, in the given pages:
`PYTHONPATH=tests python tests/support/shown_sessions.py docs/tutorial.md`.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from markdown_it import MarkdownIt

from capscope.cli import main as capscope_main

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs"
TUTORIAL = PAGES / "tutorial.md"
_EXIT_CODE = "echo $?"
_KEPT = ("HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH")
_TIMES = re.compile(r"\b\d+\.\d+(?= ?s\b)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    caption: str | None
    text: str
    first_line: int
    """Of its text, in the page, from 0."""


class Exchange(NamedTuple):
    """A command as it was typed, and its output as the page shows it."""

    typed: list[str]
    shown: list[str]

    @property
    def command(self):
        """The command in one line."""
        return "\n".join(self.typed).removeprefix("$ ").replace("\\\n>", "").replace("\\\n", "")


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type != "fence":
            continue
        language = token.info.removeprefix("{code-block}").strip()
        lines = token.content.split("\n")
        head = 0
        while language != token.info.strip() and re.match(r":\w|$", lines[head]):
            head += 1
        caption = re.search(r"^:caption: (.*)$", "\n".join(lines[:head]), re.MULTILINE)
        yield Block(
            language,
            caption and caption[1],
            "\n".join(lines[head:]),
            token.map[0] + 1 + head,
        )


def exchanges(block: Block) -> list[Exchange]:
    """Split a console block into commands with their outputs."""
    found: list[Exchange] = []
    for line in block.text.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            found.append(Exchange([line], []))
        elif found and not found[-1].shown and found[-1].typed[-1].endswith("\\"):
            found[-1].typed.append(line)
        elif found:
            found[-1].shown.append(line)
        else:
            raise AssertionError(f"a console block begins with a command, not with {line!r}")
    return found


def agrees(shown: str, printed: str) -> bool:
    """Return whether a shown output matches what was printed.

    >>> agrees("in … s\\n…\\nend", "in 1.2 s\\nmuch\\nmore\\nend")
    True
    """
    lines = ["(?:.*\n)*?" if x.strip() == "…" else _line(x) for x in shown.rstrip().split("\n")]
    return re.fullmatch("".join(lines), printed.rstrip() + "\n") is not None


def _line(text: str) -> str:
    return re.escape(text.rstrip()).replace("…", ".*?") + " *\n"


class _Checker(doctest.OutputChecker):
    def check_output(self, want, got, optionflags):
        return agrees(want, got)


def _environment() -> dict[str, str]:
    """Return the environment of a reader's terminal.

    Variables such as CI and FORCE_COLOR are left out: they change what programs print.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # pytest would look for its settings in every folder above this one.
    own = "--config-file=/dev/null --rootdir=."
    return {**kept, "PATH": path, "COLUMNS": "80", "PYTEST_ADDOPTS": own}


class Session:
    """A reader who follows a page in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__console__"}
        self.code = 0

    def follow(self, page: Path) -> list[str]:
        """Do everything that a page says; return the outputs that differ from what it shows."""
        return [wrong for block in blocks(page) for wrong in self._do(block, page)]

    def printed_by(self, exchange: Exchange) -> str:
        """Run a command and return its output, with standard error if it fails."""
        if exchange.command == _EXIT_CODE:
            asked, self.code = self.code, 0
            return f"{asked}\n"
        words = shlex.split(exchange.command)
        if words[0] == "capscope":
            self.code, out, err = self._capscope(words)
        else:
            done = subprocess.run(
                ["bash", "-c", exchange.command],
                cwd=self.folder,
                env=_environment(),
                capture_output=True,
                text=True,
                timeout=120,
            )
            self.code, out, err = done.returncode, done.stdout, done.stderr
        return out + (err if self.code > 1 else "")

    def _capscope(self, words: list[str]) -> tuple[int, str, str]:
        """Run the command line in this process, to save importing it again."""
        out, err, arguments, modules = io.StringIO(), io.StringIO(), sys.argv, set(sys.modules)
        code = 0
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.dict(os.environ, _environment(), clear=True),
        ):
            sys.argv = words
            try:
                capscope_main()
            except SystemExit as end:
                code = int(end.code or 0)
            finally:
                sys.argv = arguments
                # A problem's file is a module; the next session may have another one of that name.
                for name in set(sys.modules) - modules:
                    if getattr(sys.modules[name], "__file__", None) and self._is_here(name):
                        del sys.modules[name]
        return code, out.getvalue(), err.getvalue()

    def _is_here(self, name: str) -> bool:
        return Path(sys.modules[name].__file__).is_relative_to(self.folder)

    def _do(self, block: Block, page: Path) -> Iterator[str]:
        where = f"{page.name}:{block.first_line + 1}"
        if block.caption:
            (self.folder / block.caption).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            yield from (f"{where}: {wrong}" for wrong in self._console(block))
        elif block.language == "pycon":
            yield from self._prompt(block, where)

    @staticmethod
    def given(block: Block) -> Iterator[tuple[Exchange, bool]]:
        """Yield the exchanges of a block, and whether the exit code is asked for afterwards."""
        found = exchanges(block)
        for exchange, then in itertools.zip_longest(found, found[1:]):
            yield exchange, then is not None and then.command == _EXIT_CODE

    def _console(self, block: Block) -> Iterator[str]:
        for exchange, asked in self.given(block):
            printed = self.printed_by(exchange)
            if self.code and not asked:
                yield f"`{exchange.command}` failed with {self.code}: {printed}"
            elif not agrees("\n".join(exchange.shown), printed):
                shown = "\n".join(exchange.shown)
                yield f"`{exchange.command}` shows\n{shown}\nand prints\n{printed}"

    def _prompt(self, block: Block, where: str) -> Iterator[str]:
        test = doctest.DocTestParser().get_doctest(block.text, self.names, where, where, 0)
        runner = doctest.DocTestRunner(checker=_Checker(), verbose=False)
        told: list[str] = []
        with contextlib.chdir(self.folder):
            runner.run(test, out=told.append, clear_globs=False)
        self.names = test.globs
        if told:
            yield "".join(told)


def rewritten(page: Path, folder: Path) -> str:
    """Return a page with its outputs updated where they no longer agree."""
    session = Session(folder)
    lines = page.read_text(encoding="utf-8").split("\n")
    grown = 0
    for block in blocks(page):
        if block.language != "console":
            list(session._do(block, page))
            continue
        new: list[str] = []
        for exchange, asked in session.given(block):
            printed = _TIMES.sub("…", session.printed_by(exchange)).rstrip()
            if session.code and not asked:
                raise SystemExit(f"{page}: `{exchange.command}` failed: {printed}")
            kept = exchange.shown if agrees("\n".join(exchange.shown), printed) else None
            new += exchange.typed
            new += kept if kept is not None else printed.split("\n") if printed else []
        first = block.first_line + grown
        old = len(block.text.rstrip("\n").split("\n"))
        lines[first : first + old] = new
        grown += len(new) - old
    return "\n".join(lines)


def main(pages: list[Path]) -> None:
    """Update the outputs of pages."""
    with tempfile.TemporaryDirectory() as scratch:
        after_tutorial = Path(scratch, "tutorial")
        after_tutorial.mkdir()
        if TUTORIAL in pages:
            TUTORIAL.write_text(rewritten(TUTORIAL, after_tutorial), encoding="utf-8")
        else:
            Session(after_tutorial).follow(TUTORIAL)
        for page in pages:
            if page != TUTORIAL:
                folder = shutil.copytree(after_tutorial, Path(scratch, page.stem))
                page.write_text(rewritten(page, folder), encoding="utf-8")


if __name__ == "__main__":
    main([Path(name).resolve() for name in sys.argv[1:]])
