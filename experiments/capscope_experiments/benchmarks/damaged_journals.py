"""Damaged journals: each is refused with one line, or answers as if nothing had happened.

Damage is what disks and programs do by mistake: flipped bits, overwritten and missing blocks, wrong
values, missing rows, foreign tables. In every fourth journal the values are wrong and the
checksums right, as if on purpose: it may answer anything, but not fail.
"""

import json
import random
import shutil
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from capscope import Budget, Settings, assess, load
from capscope.errors import CapscopeError
from capscope.export.model_json import model_of_run
from capscope.insight.first_screen import run_screen_lines
from capscope.journal.checked_tables import sign
from capscope.journal.run_directory import JOURNAL
from capscope.report.draws import draw_lines
from capscope.report.overview import findings_lines, rule_lines, run_document

_VALUES: tuple[Any, ...] = (
    "text", "", 1.5, -1, 0, 2**62, -(2**62), 1e300, b"\x00\xff", "[]", "{}", "null", "7",
    "[[0,[0],1,0]]", '[["a",[0],1,0]]', "[[0,[],1,0]]", "[[0,[0,1],-5,3]]", "[" * 3000, "\ud7ff",
    '{"kind": 5}', "0x" + "f" * 5000, "[1e999]", '["not not x"]', '{"a": {"b": []}}', "-0x1", True,
)  # fmt: skip
Damage = Callable[[Path, random.Random], None]


def _flip(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 1, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _overwrite(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    size = rng.choice((1, 16, 512, 4096))
    first = rng.randrange(len(data))
    filler = rng.choice((bytes(size), rng.randbytes(size), data[:size]))
    data[first : first + size] = filler[: len(data) - first]
    path.write_bytes(data)


def _truncate(path: Path, rng: random.Random) -> None:
    size = rng.choice((rng.randrange(path.stat().st_size), 4096 * rng.randrange(1, 8)))
    with path.open("r+b") as file:
        file.truncate(size)


def _change_row(db: sqlite3.Connection, rng: random.Random) -> None:
    names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    table = rng.choice([name for (name,) in names if name != "checksums"])
    column = rng.choice([row[1] for row in db.execute(f"PRAGMA table_info({table})")])
    where = rng.choice(("", f"WHERE {column} = (SELECT max({column}) FROM {table})"))
    if rng.random() < 0.3:
        db.execute(f"DELETE FROM {table} {where}")
    else:
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = ? {where}", (rng.choice(_VALUES),))


def _change_meta(db: sqlite3.Connection, rng: random.Random) -> None:
    """Replace a value somewhere in the entries about the run."""
    key, text = rng.choice(db.execute("SELECT key, value FROM meta").fetchall())
    value = json.loads(text)
    place: Any = value
    while isinstance(place, dict | list) and place:
        at = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[at], dict | list) or not place[at] or rng.random() < 0.3:
            place[at] = rng.choice((None, "x", -1, 1e999, [], {}, [[]], True, "\ud800", 2**80))
            break
        place = place[at]
    db.execute("UPDATE meta SET value = ? WHERE key = ?", (json.dumps(value), key))


def _change_schema(db: sqlite3.Connection, rng: random.Random) -> None:
    db.execute(
        rng.choice((
            "CREATE TABLE mine (x)",
            "CREATE VIEW v AS SELECT 1",
            "DROP TABLE draws",
            "DROP TABLE checksums",
            "ALTER TABLE draws ADD COLUMN more TEXT",
            "ALTER TABLE states RENAME COLUMN bits TO bytes",
            "CREATE TRIGGER t AFTER INSERT ON draws BEGIN DELETE FROM states; END",
            "PRAGMA user_version = 2",
            "PRAGMA user_version = 9",
            "PRAGMA application_id = 5",
        ))
    )  # fmt: skip


def _by_sql(*changes: Callable[[sqlite3.Connection, random.Random], None]) -> Damage:
    def damage(path: Path, rng: random.Random) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            try:
                rng.choice(changes)(db, rng)
            except sqlite3.Error:
                db.execute("DELETE FROM states WHERE id = 1")

    return damage


def _signed(path: Path, rng: random.Random) -> None:
    """Change values and make the checksums fit."""
    _by_sql(_change_row, _change_meta)(path, rng)
    connection = sqlite3.connect(path, isolation_level=None)
    with closing(connection) as db, suppress(TypeError, ValueError):
        sign(db)


_DAMAGES: tuple[tuple[str, Damage], ...] = (
    ("flipped bits", _flip),
    ("flipped bits", _flip),
    ("changed values", _by_sql(_change_row, _change_meta)),
    ("changed values, right checksums", _signed),
    ("overwritten", _overwrite),
    ("truncated", _truncate),
    ("other tables", _by_sql(_change_schema)),
    ("changed values, right checksums", _signed),
)


def answers(path: Path) -> str:
    """Return what commands say about a run, as one text."""
    run = load(path)
    said = [json.dumps(run_document(run)), json.dumps(model_of_run(run))]
    said += [*run_screen_lines(run), *rule_lines(run, None), *findings_lines(run, None, None)]
    if run.capabilities and len(run.executions):
        said += draw_lines(run, run.capabilities[0], 5, True)
        said += run.explain(0).lines
    return "\n".join(said).replace(str(path), "RUN")


def outcome_of(path: Path, intact: str | None) -> str:
    """Return `refused`, `same answer`, `other answer` or what escaped."""
    try:
        found = answers(path)
    except CapscopeError as error:
        return "refused" if "\n" not in str(error) else "several lines"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "same answer" if found == intact else "other answer"


def measure(journals: int, seed: int = 0) -> tuple[Counter[tuple[str, str]], float]:
    """Damage journals and read them; count outcomes by damage, and give the slowest in seconds."""
    counts: Counter[tuple[str, str]] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        whole, damaged = Path(folder, "whole"), Path(folder, "damaged")
        settings = Settings(draws=4, depth=6)
        assess("tireworld", run=whole, settings=settings, budget=Budget(executions=150))
        intact = answers(whole)
        for number in range(journals):
            rng = random.Random(f"{seed} {number}")
            kind, damage = _DAMAGES[number % len(_DAMAGES)]
            shutil.rmtree(damaged, ignore_errors=True)
            shutil.copytree(whole, damaged)
            damage(damaged / JOURNAL, rng)
            begun = time.process_time()
            counts[kind, outcome_of(damaged, intact)] += 1
            slowest = max(slowest, time.process_time() - begun)
    return counts, slowest


def unacceptable(counts: Counter[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the outcomes that must not happen."""
    fine = {"refused", "same answer"}
    return {
        (kind, outcome): number
        for (kind, outcome), number in counts.items()
        if outcome not in fine and (outcome != "other answer" or "right checksums" not in kind)
    }


def main(journals: int = 500) -> None:
    """Print the outcomes of damaged journals."""
    counts, slowest = measure(journals)
    for (kind, outcome), number in sorted(counts.items()):
        print(f"{number:5,} {kind}: {outcome}", flush=True)
    bad = sum(unacceptable(counts).values())
    print(f"{bad} of {journals} not acceptable; slowest {slowest:.1f} s of CPU")


if __name__ == "__main__":
    main()
