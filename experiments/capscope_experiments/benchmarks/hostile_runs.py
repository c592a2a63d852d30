"""Hostile run directories, and mutated copies of the files for people in them.

A run directory comes from someone else. Whatever is in it, a command that reads it, `resume` and
`evaluate` end in limited time with an answer or one line, run no code from it, and write nothing
but the files of the run.
"""

import contextlib
import io
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from capscope import Budget, assess
from capscope.cli import main as command_line
from capscope.journal import checked_tables
from capscope.journal.run_directory import JOURNAL, LOCK, MODEL, REPORT, SUMMARY
from capscope_experiments.benchmarks.damaged_journals import answers, outcome_of

LONGEST = 60.0
"""CPU seconds for one command."""
COMMANDS = (
    ("show", "RUN"),
    ("show", "RUN", "--findings", "--json"),
    ("explain", "RUN"),
    ("report", "RUN", "--no-pictures", "--output", "page.html"),
    ("resume", "RUN"),
    ("evaluate", "RUN", "--sequences", "1"),
)
Change = Callable[[Path], None]
_FILES = (JOURNAL, f"{JOURNAL}-wal", SUMMARY, MODEL, REPORT, LOCK)
_LOOP = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"


class HostileResult(NamedTuple):
    """What became of the commands on a directory."""

    name: str
    problems: tuple[str, ...]
    """What must not happen; empty if nothing did."""


def _in_place(name: str, make: Change) -> Change:
    def change(run: Path) -> None:
        (run / name).unlink(missing_ok=True)
        make(run / name)

    return change


def _link(path: Path) -> None:
    path.symlink_to(path.parents[1] / "precious")


def _dangling(path: Path) -> None:
    path.symlink_to(path.parents[1] / "new")


def _sql(statement: str, *values: Any, sign: bool = True) -> Change:
    def change(run: Path) -> None:
        with closing(sqlite3.connect(run / JOURNAL, isolation_level=None)) as db:
            db.execute(statement, values)
            if sign:
                checked_tables.sign(db)

    return change


def _meta(key: str, **changed: Any) -> Change:
    def change(run: Path) -> None:
        with closing(sqlite3.connect(run / JOURNAL)) as db:
            query = "SELECT value FROM meta WHERE key = ?"
            stored = json.loads(db.execute(query, (key,)).fetchone()[0])
        value = json.dumps({**stored, **changed})
        _sql("UPDATE meta SET value = ? WHERE key = ?", value, key)(run)

    return change


def _bytes(name: str, content: bytes) -> Change:
    def change(run: Path) -> None:
        (run / name).write_bytes(content)

    return change


def _sparse(run: Path) -> None:
    with (run / JOURNAL).open("r+b") as file:
        file.truncate(1 << 40)


_WIDE = [["p", ["object"] * 12]]
_EIGHT = {f"o{i}": "object" for i in range(8)}
_BOMB = zlib.compress(bytes(500_000_000), 9)
HOSTILE: dict[str, Change] = {
    **{f"{name} is a link": _in_place(name, _link) for name in _FILES},
    **{f"{name} is a link to nothing": _in_place(name, _dangling) for name in _FILES},
    **{f"{name} is a pipe": _in_place(name, os.mkfifo) for name in _FILES},
    **{f"{name} is a directory": _in_place(name, Path.mkdir) for name in _FILES},
    "a rollback journal": _bytes(f"{JOURNAL}-journal", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" * 100),
    "a log of garbage": _bytes(f"{JOURNAL}-wal", b"\x37\x7f\x06\x82" * 1000),
    "a journal of a terabyte": _sparse,
    "an empty journal": _bytes(JOURNAL, b""),
    "a view that never ends": _sql(f"CREATE VIEW v AS {_LOOP}"),
    "a trigger": _sql("CREATE TRIGGER t AFTER INSERT ON draws BEGIN DELETE FROM states; END"),
    "a table of another program": _sql("CREATE TABLE mine (x)"),
    "a transcript that unpacks to 500 MB": _sql(
        "INSERT OR REPLACE INTO transcripts VALUES (0, 0, 0, ?)", _BOMB
    ),
    "a Python file of its own": _meta("identity", source="RUN/evil.py:make"),
    "a Python file by a relative path": _meta("identity", source="evil.py:make"),
    "a device as a domain": _meta("identity", source="/dev/zero.pddl:/dev/zero.pddl"),
    "a strategy that does not exist": _meta("identity", strategy="../evil"),
    "a seed that is not a number": _meta("identity", seed="x" * 1000),
    "a horizon without end": _meta("identity", horizon=2**60),
    "settings out of bounds": _meta("identity", settings={"draws": -5}),
    "twelve arguments over eight objects": _meta("vocabulary", predicates=_WIDE, objects=_EIGHT),
    "a type that is its own ancestor": _meta("vocabulary", parents={"a": "b", "b": "a"}),
    "names that control the terminal": _sql(
        "UPDATE meta SET value = ? WHERE key = 'name'", json.dumps("\x1b[2J\u202e\r\nfine")
    ),
    "a lone surrogate in a name": _sql("UPDATE meta SET value = '\"\\ud800\"' WHERE key = 'name'"),
    "deeply nested JSON": _sql("UPDATE meta SET value = ? WHERE key = 'budget'", "[" * 100_000),
    "a state of a megabyte": _sql(
        "UPDATE states SET bits = ? WHERE id = 1", "0x" + "f" * 1_000_000
    ),
    "a budget that is owed": _meta("budget", executions=-5),
    "a reason that does not exist": _meta("stopped", because={"kind": "magic", "detail": ""}),
    "no positions": _sql("DELETE FROM positions"),
    "a name of a megabyte": _sql(
        "UPDATE meta SET value = ? WHERE key = 'name'", json.dumps("x" * 1_000_000)
    ),
    "draws that overflow": _sql("UPDATE draws SET llm_tokens = ?", 2**62),
}


def _command(arguments: list[str]) -> tuple[int, str, float]:
    """Run a command in this process; return its exit code, what it printed, and CPU seconds."""
    out, begun = io.StringIO(), time.process_time()
    with (
        patch.object(sys, "argv", ["capscope", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        try:
            command_line()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 99
        except BaseException as error:
            return 99, f"{type(error).__name__}: {error}", time.process_time() - begun
    return code, out.getvalue(), time.process_time() - begun


def _problems(arguments: tuple[str, ...], run: Path) -> Iterator[str]:
    given = [str(run) if word == "RUN" else word for word in arguments]
    code, text, seconds = _command(given)
    if code not in (0, 1, 2) or "Traceback" in text:
        yield f"{arguments[0]}: code {code}: {text[-200:]}"
    # On a busy machine, lines say how far a command is.
    lines = [line for line in text.splitlines() if not line.endswith("so far)")]
    if code == 2 and len(lines) != 1:
        yield f"{arguments[0]}: {len(lines)} lines"
    if seconds > LONGEST:
        yield f"{arguments[0]}: {seconds:.0f} s"
    if any(not (c.isprintable() or c == "\n") for c in text):
        yield f"{arguments[0]}: control characters"


@contextlib.contextmanager
def _whole_run() -> Iterator[Path]:
    """Make a run and something precious beside it, in a folder of its own."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            assess("tireworld", run=Path(folder, "whole"), budget=Budget(executions=60))
            Path(folder, "precious").write_text("mine")
            Path(folder, "evil.py").write_text("open('it-ran', 'w').close()\n")
            yield Path(folder, "whole")
        finally:
            os.chdir(here)


def measure(names: list[str] | None = None) -> list[HostileResult]:
    """Run every command on every hostile directory."""
    results = []
    with _whole_run() as whole:
        for name in names or HOSTILE:
            run = whole.with_name("run")
            found: list[str] = []
            for arguments in COMMANDS:
                shutil.rmtree(run, ignore_errors=True)
                shutil.copytree(whole, run)
                shutil.copy(whole.with_name("evil.py"), run)
                HOSTILE[name](run)
                found += _problems(arguments, run)
            if whole.with_name("precious").read_text() != "mine":
                found.append("wrote to where a link leads")
            if whole.with_name("new").exists():
                found.append("made the file that a link names")
            if whole.with_name("it-ran").exists():
                found.append("ran code of the directory")
            results.append(HostileResult(name, tuple(found)))
    return results


def measure_copies(files: int, seed: int = 0) -> int:
    """Mutate `run.json` and `model.json`; return how often an answer was not as before.

    Nothing reads them: they are for people and other tools.
    """
    other = 0
    with _whole_run() as whole:
        before = answers(whole)
        intact = {name: (whole / name).read_bytes() for name in (SUMMARY, MODEL)}
        for number in range(files):
            rng = random.Random(f"{seed} {number}")
            name = (SUMMARY, MODEL)[number % 2]
            data = bytearray(intact[name])
            for _ in range(rng.choice((1, 10, 1000))):
                data[rng.randrange(len(data))] = rng.randrange(256)
            cut = data[: rng.choice((len(data), rng.randrange(len(data)) + 1))]
            (whole / name).write_bytes(cut)
            other += outcome_of(whole, before) != "same answer"
            (whole / name).write_bytes(intact[name])
    return other


def main(copies: int = 1000) -> None:
    """Print what became of each directory, and of the copies."""
    results = measure()
    for result in results:
        print(f"{result.name}: {'; '.join(result.problems) or 'fine'}", flush=True)
    fine = sum(not result.problems for result in results)
    print(f"{fine} of {len(results)} directories are read or refused without harm", flush=True)
    print(f"{measure_copies(copies)} of {copies} mutated copies changed an answer")


if __name__ == "__main__":
    main()
