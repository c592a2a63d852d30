"""Results that took long to make, each in a JSON file with the terms that it was made under.

A result is used again only under the same terms; anything else is made anew. So a bench that was
interrupted, or asked for something else, never shows a number that belongs to another question.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from capscope.record.run_directory import write_atomically


def kept(path: Path, terms: Any) -> Any | None:
    """Return the result kept in a file; None if there is none that was made under these terms."""
    try:
        document = json.loads(path.read_text("utf-8"))
        # Compared as JSON: a tuple comes back as a list.
        same = document["terms"] == json.loads(json.dumps(terms))
        return document["result"] if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not there, or not written by us: it is made again


def keep(path: Path, terms: Any, result: Any) -> None:
    """Keep a result."""
    document = {"terms": terms, "result": result}
    write_atomically(path, json.dumps(document) + "\n")
