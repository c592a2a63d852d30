"""Everything that a journal holds, to compare two of them."""

import sqlite3
from contextlib import closing


def dump(run):
    """Read every table of a journal, row by row, leaving out seconds and what depends on them."""
    with closing(sqlite3.connect(run / "journal.sqlite")) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master ORDER BY name")]
        tables = [name for name in tables if not name.startswith(("sqlite_", "checksums"))]
        assert {"meta", "intents", "states", "queries", "draws", "ends", "snapshots"} <= set(tables)
        content = {}
        for table in tables:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            kept = ", ".join(column for column in columns if column != "seconds")
            content[table] = db.execute(f"SELECT {kept} FROM {table} ORDER BY 1, 2").fetchall()
        return content
