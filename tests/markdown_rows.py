"""Read the tables that reports are made of, and their links."""

import re


def cells(text, *key):
    """Return the cells of the table row that begins so, by the heads of its table."""
    heads = None
    for line in text.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if row[:2] == ["problem", "strategy"]:
            heads = row
        elif tuple(row[:2]) == key:
            return dict(zip(heads, row, strict=True))
    return None


def links(text):
    """List the files that a text shows or points to."""
    return re.findall(r"\]\(([^)#:]+)\)", text)
