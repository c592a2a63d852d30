"""Journals with something of everything in them."""

import itertools
import sqlite3
from contextlib import closing

from capscope import Budget, Settings, Vocabulary
from capscope.journal.checked_tables import sign
from capscope.journal.draws import Draw, Execution, QueryRecord, Start
from capscope.journal.journal import Journal
from capscope.journal.run_meta import RunIdentity, RunMeta
from capscope.logic import Intent
from capscope.problem import Attempt, Ending
from capscope.problem.positions import SavedPosition

VOCABULARY = Vocabulary.of_atoms(["done", "lit", "open"])
META = RunMeta(
    RunIdentity(
        "board.py:board", "abc", VOCABULARY.fingerprint, "exhaustive", 3, settings=Settings(depth=7)
    ),
    "board",
    VOCABULARY,
    Budget(executions=9),
    {"capscope": "0.1.0"},
)
INTENTS = [Intent.parse(text) for text in ("not clear(b) and on(a,b)", "done", "not done")]


def at(snapshot):
    """Return a position that its snapshot names."""
    return SavedPosition.unnamed(snapshot)


START = Start(0b101, at(b"\x00start"))
QUERY = QueryRecord(START, 4, 0.1, 0.75, True)


def simple_draw(*trajectory, detail=""):
    attempt = Attempt(trajectory, len(trajectory) - 1, Ending.STOPPED, 0, detail)
    return Draw((Execution(0, attempt),), len(trajectory) - 1, 0, 0.5, False)


def add_draw(journal, query, index, draw, kept=(), start=START):
    """Add a draw; the positions kept are given by their snapshots."""
    positions = {place: at(snapshot) for place, snapshot in dict(kept).items()}
    journal.add_draw((query, index), start, draw, positions)


def snapshots(journal, state):
    """Return the snapshots of the positions kept for a state."""
    return [position.snapshot for position in journal.positions(state)]


def written(path, draws=30):
    """Write a journal with something of everything, and close it."""
    with closing(Journal.create(path, META)) as journal:
        journal.add_intents(INTENTS, 0)
        journal.begin_query(0, QUERY)
        for index in range(draws):
            draw = simple_draw(*range(index, index + 3), detail=f"thought {index} " * 20)
            add_draw(journal, 0, index, draw, {(index, 0): b"snapshot" * 10})
        journal.finish_query(0, {"kind": "sequence"}, 1.5)
    return path


def draws_of(journal):
    """Yield the draws of each query, one query after the other."""
    for query in itertools.count():
        if journal.query(query) is None:
            return
        yield journal.draws(query)


def everything(journal):
    """Read all that a journal holds."""
    return (
        journal.read_meta(),
        journal.intents(),
        journal.query(0),
        journal.draws(0),
        [journal.positions(state) for state in range(40)],
    )


def change(path, *statements, signed=True):
    """Change a journal behind its back; `signed` if the checksums are made to fit."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(*((statement,) if isinstance(statement, str) else statement))
        if signed:
            sign(db)
