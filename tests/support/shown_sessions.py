"""What the documentation shows, run for real: its files are written, its commands given.

A page is read from top to bottom like a session at a terminal, in one folder:

- a block with a caption, or a `title` for GitHub, is a file of that name, and is written; so is an
  example that is included with a caption;
- a `console` block has commands after `$`, each followed by its output;
- a `pycon` block is a session at the Python prompt;
- other blocks are only read: `text` is for outlines, `sh` for what a test must not do (install).

`…` in an output matches anything; alone on a line it matches any number of lines. A command that
fails is followed by `echo $?`. The other pages continue where the tutorial ended.

Run as a script, this module runs the pages again and updates the outputs that no longer agree, all
pages if none is named:

    PYTHONPATH=tests python -m support.shown_sessions --update [PAGE ...]

The front page repeats lines of the tutorial, and follows it.

What a page leaves out by `…` stays left out as long as the lines around it differ in numbers only;
otherwise the whole output is shown, for the writer to shorten. The prose is not touched: read the
difference afterwards.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Iterator, Sequence
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
_ELLIPSIS = "…"
_NUMBER = r"(?<![\w-])[-+]?\d[\d,.]*(?:e-?\d+)?"  # not those in names
FRONT = PAGES / "index.md"


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
        info, _, title = token.info.partition(" title=")
        language = info.removeprefix("{code-block}").strip()
        lines = token.content.split("\n")
        head = 0
        while language != info.strip() and re.match(r":\w|$", lines[head]):
            head += 1
        caption = re.search(r"^:caption: (.*)$", "\n".join(lines[:head]), re.MULTILINE)
        text = "\n".join(lines[head:])
        if info.startswith("{literalinclude}"):
            language, text = "python", _included(page, info.split()[1], token.content)
            caption = re.search(r"^:caption: (.*)$", token.content, re.MULTILINE)
        yield Block(
            language,
            caption[1] if caption else title.strip('"') or None,
            text,
            token.map[0] + 1 + head,
        )


def _included(page: Path, path: str, options: str) -> str:
    """Return the lines of a Python file that a page includes."""
    first = re.search(r"^:lines: (\d+)-$", options, re.MULTILINE)
    lines = (page.parent / path).read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(lines[int(first[1]) - 1 if first else 0 :])


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
        words = shlex.split(exchange.command, comments=True)
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
        runner = _Prompt()
        self._at_prompt(block, where, runner)
        if runner.told:
            yield "".join(runner.told)

    def _at_prompt(self, block: Block, where: str, runner: _Prompt) -> None:
        test = doctest.DocTestParser().get_doctest(block.text, self.names, where, where, 0)
        with contextlib.chdir(self.folder):
            runner.run(test, out=runner.told.append, clear_globs=False)
        self.names = test.globs

    def answers(self, block: Block, page: Path) -> list[str]:
        """Return the lines of a block of a session, with the outputs of today."""
        if block.language == "pycon":
            runner = _Prompt()
            self._at_prompt(block, page.name, runner)
            return runner.updated(block)
        lines: list[str] = []
        for exchange, asked in self.given(block):
            printed = self.printed_by(exchange).rstrip()
            if self.code and not asked:
                raise SystemExit(f"{page}: `{exchange.command}` failed: {printed}")
            lines += [*exchange.typed, *updated(exchange.shown, printed)]
        return lines


class _Prompt(doctest.DocTestRunner):
    """Runs a session at the Python prompt, and keeps the outputs that differ."""

    def __init__(self) -> None:
        super().__init__(checker=_Checker(), verbose=False)
        self.told: list[str] = []
        self.differing: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out, test, example, got):
        self.differing.append((example, got))
        super().report_failure(out, test, example, got)

    def report_unexpected_exception(self, out, test, example, exc_info):
        self.differing.append((example, f"unexpected {exc_info[0].__name__}: {exc_info[1]}"))
        super().report_unexpected_exception(out, test, example, exc_info)

    def updated(self, block: Block) -> list[str]:
        """Return the lines of a block with the outputs that were printed."""
        lines = block.text.rstrip("\n").split("\n")
        for example, got in reversed(self.differing):
            first = example.lineno + example.source.count("\n")
            shown = example.want.rstrip("\n").split("\n") if example.want else []
            lines[first : first + len(shown)] = updated(shown, got.rstrip())
        return lines


def updated(shown: list[str], printed: str) -> list[str]:
    """Return how a page shows an output: as before, as far as it still agrees.

    >>> updated(["in … s", "…", "end of 7"], "in 1.2 s\\nmuch\\nend of 8")
    ['in … s', '…', 'end of 8']
    """
    if agrees("\n".join(shown), printed):
        return shown
    lines = printed.split("\n") if printed else []
    return shortened(shown, lines) or [_TIMES.sub(_ELLIPSIS, line) for line in lines]


def shortened(shown: list[str], lines: list[str]) -> list[str] | None:
    """Leave out of some lines what was left out before; None if more than numbers changed."""
    if _ELLIPSIS not in "".join(shown):
        return None
    # A part is what stands between two dots that are alone on their line.
    parts: list[list[str]] = [[]]
    for line in shown:
        if line.strip() == _ELLIPSIS:
            parts.append([])
        else:
            parts[-1].append(line)
    new: list[str] = []
    place = 0
    for number, part in enumerate(parts):
        last = len(lines) - len(part)
        first = last if number == len(parts) - 1 and part else place
        until = place if number == 0 else last
        found = next((k for k in range(first, until + 1) if _same(part, lines[k:])), None)
        if found is None or last < place:
            return None
        new += [_ELLIPSIS] * (number > 0)
        new += map(_like, part, lines[found:])
        place = found + len(part)
    return new


def _same(part: list[str], lines: list[str]) -> bool:
    return all(
        re.fullmatch(_but_for_numbers(old), new) for old, new in zip(part, lines, strict=False)
    )


def _like(old: str, new: str) -> str:
    match = re.fullmatch(_but_for_numbers(old), new)
    assert match is not None, "the lines were compared before"
    return _ELLIPSIS.join(match.groups())


def _but_for_numbers(line: str) -> str:
    pieces = (re.split(_NUMBER, piece) for piece in line.rstrip().split(_ELLIPSIS))
    return ".*?".join(f"({_NUMBER.join(map(re.escape, piece))})" for piece in pieces) + " *"


def rewritten(page: Path, folder: Path) -> str:
    """Return a page with its outputs updated where they no longer agree."""
    session = Session(folder)
    lines = page.read_text(encoding="utf-8").split("\n")
    grown = 0
    for block in blocks(page):
        if block.language not in ("console", "pycon"):
            list(session._do(block, page))
            continue
        new = session.answers(block, page)
        first = block.first_line + grown
        old = len(block.text.rstrip("\n").split("\n"))
        lines[first : first + old] = new
        grown += len(new) - old
    return "\n".join(lines)


def rewritten_front() -> str:
    """Return the front page with the numbers of the lines that it repeats from the tutorial."""
    (block,) = (block for block in blocks(FRONT) if block.language == "text")
    old = block.text.rstrip("\n")
    shown = [_ELLIPSIS, *itertools.chain(*((line, _ELLIPSIS) for line in old.split("\n")))]
    new = shortened(shown, TUTORIAL.read_text(encoding="utf-8").split("\n"))
    text = FRONT.read_text(encoding="utf-8")
    if new is None:
        sys.stderr.write(f"{FRONT} shows lines that the tutorial no longer has; choose others\n")
        return text
    return text.replace(old, "\n".join(line for line in new if line != _ELLIPSIS))


def update(pages: Sequence[Path]) -> None:
    """Update the outputs of pages."""
    with tempfile.TemporaryDirectory() as scratch:
        after_tutorial = Path(scratch, "tutorial")
        after_tutorial.mkdir()
        if TUTORIAL in pages:
            TUTORIAL.write_text(rewritten(TUTORIAL, after_tutorial), encoding="utf-8")
            FRONT.write_text(rewritten_front(), encoding="utf-8")
        else:
            Session(after_tutorial).follow(TUTORIAL)
        for page in pages:
            if page != TUTORIAL:
                folder = shutil.copytree(after_tutorial, Path(scratch, page.stem))
                page.write_text(rewritten(page, folder), encoding="utf-8")


def has_sessions(page: Path) -> bool:
    """Return whether a page shows commands with their outputs."""
    return any(block.language in ("console", "pycon") for block in blocks(page))


def main() -> None:
    """Update what the command line names."""
    arguments = argparse.ArgumentParser(description="Run the sessions that the pages show.")
    arguments.add_argument("--update", action="store_true", required=True)
    arguments.add_argument("pages", nargs="*", type=Path, help="all if none is named")
    named = [page.resolve() for page in arguments.parse_args().pages]
    update(
        named or [p for p in (*sorted(PAGES.rglob("*.md")), ROOT / "README.md") if has_sessions(p)]
    )


if __name__ == "__main__":
    main()
