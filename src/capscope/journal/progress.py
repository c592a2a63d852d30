"""How far a run is, read cheaply enough to ask every second while the run goes on.

Loading a run checks its whole file and decodes every draw, which may take seconds. This reads what
was added since the last time. Whether anything was added shows in the sizes and times of the files,
so that a run that does not change is not even opened.

The file is opened by SQLite only. Closing a file that was opened otherwise would release the locks
that SQLite holds on it in the same process.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from capscope.errors import JournalError
from capscope.journal.identity import RunMeta
from capscope.journal.journal import Journal
from capscope.journal.journal_file import (
    JournalStamp,
    connect_for_reading,
    file_stamp,
    recognize,
    understood,
)
from capscope.journal.run_directory import JOURNAL, refuse_odd_files

_SECONDS_TO_WAIT = 0.5
"""For another process that has locked the file."""
_ADDED = (
    "SELECT count(*), coalesce(sum(json_array_length(attempts)), 0), "
    "coalesce(sum(simulator_steps), 0) FROM draws WHERE (query, draw) > (?, ?)"
)
_LAST = "SELECT query, draw FROM draws ORDER BY query DESC, draw DESC LIMIT 1"


@dataclass(frozen=True)
class RunProgress:
    """How far a run was at one moment."""

    meta: RunMeta
    queries: int = 0
    """Queries begun."""
    draws: int = 0
    executions: int = 0
    simulator_steps: int = 0
    """Those of the draws; discovery is not included."""
    last_draw: tuple[int, int] = (-1, -1)
    """Query and number of the latest draw."""


def journal_stamp(run: Path) -> JournalStamp:
    """Return a value that changes whenever the journal of a run directory does."""
    return file_stamp(run / JOURNAL)


def read_progress(run: Path, earlier: RunProgress | None = None) -> RunProgress:
    """Return how far a run is; only what was added since `earlier` is counted."""
    path = run / JOURNAL
    if not path.is_file():
        raise JournalError(f"no journal at {path}; is {run} a run directory?")
    refuse_odd_files(run)
    with understood(path):
        recognize(path, _SECONDS_TO_WAIT)
    with understood(path), closing(connect_for_reading(path, _SECONDS_TO_WAIT)) as db:
        db.execute("BEGIN")  # all numbers are from one moment
        before = earlier or RunProgress(Journal.meta_of(path, db))
        queries = db.execute("SELECT coalesce(max(id), -1) + 1 FROM queries").fetchone()[0]
        last = db.execute(_LAST).fetchone()
        if last is not None and last < before.last_draw:  # another run in the same place
            before = RunProgress(before.meta)
        draws, executions, steps = db.execute(_ADDED, before.last_draw).fetchone()
        return RunProgress(
            Journal.meta_of(path, db),
            queries,
            before.draws + draws,
            before.executions + executions,
            before.simulator_steps + steps,
            before.last_draw if last is None else last,
        )
