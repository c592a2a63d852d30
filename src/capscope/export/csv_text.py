"""Tables as comma-separated text, safe to open in a spreadsheet.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula and runs it. Names
come from the assessed world and may begin so. Such a text gets an apostrophe in front, the sign by
which spreadsheets mark plain text; a text that begins with an apostrophe gets another, so that
striking one from the front of a text always gives the name back. Numbers are never touched.
"""

from __future__ import annotations

import csv
import io

from capscope.export.tables import Table

_READ_AS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


def csv_text(table: Table) -> str:
    """Write a table down as in RFC 4180: a line of names, then a line a row."""
    text = io.StringIO()
    # The end of a line that the standard names: with another, a lone "\r" would not be quoted.
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([_cell(value) for value in row] for row in table.rows)
    return text.getvalue()


def _cell(value: str | float | bool) -> str | float:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value.startswith(_READ_AS_FORMULA):
        return f"'{value}"
    return value
