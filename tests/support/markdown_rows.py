"""Read the tables that reports are made of, and their links."""

import re


def cells(text, *key):
    """Return the cells of the table row that begins so, by the heads of its table."""
    return next((row for row in rows(text) if tuple(row.values())[: len(key)] == key), None)


def rows(text):
    """Yield the rows of all tables, by the heads of theirs."""
    heads = None
    for line in text.splitlines():
        row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not row:
            heads = None
        elif heads is None:
            heads = row
        elif set(row[0]) != {"-"}:
            yield dict(zip(heads, row, strict=True))


def links(text):
    """List the files that a text shows or points to."""
    return re.findall(r"\]\(([^)#:]+)\)", text)
