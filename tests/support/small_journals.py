"""Journals with something of everything in them."""

import itertools
from contextlib import closing

from capscope.record.journal import Draw, Execution, Journal, QueryRecord
from capscope.symbolic import Intent
from capscope.world import Attempt, Ending

META = {"identity": {"seed": 3, "name": "board"}, "list": [1, 2.5, None]}
INTENTS = [Intent.parse(text) for text in ("not clear(b) and on(a,b)", "done", "not done")]
QUERY = QueryRecord(0b101, b"\x00start", 4, 0.1, 0.75, True)


def simple_draw(*trajectory, detail=""):
    attempt = Attempt(trajectory, len(trajectory) - 1, Ending.STOPPED, 0, detail)
    return Draw((Execution(0, attempt),), len(trajectory) - 1, 0, 0.5, False)


def written(path, draws=30):
    """Write a journal with something of everything, and close it."""
    with closing(Journal.create(path, META)) as journal:
        journal.add_intents(INTENTS, 0)
        journal.begin_query(0, QUERY)
        for index in range(draws):
            draw = simple_draw(*range(index, index + 3), detail=f"thought {index} " * 20)
            journal.add_draw(0, index, draw, {(index, 0): b"snapshot" * 10})
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
        [journal.snapshots(state) for state in range(40)],
    )
