"""Results that take long to compute, each in a JSON file with the terms it was computed under.

A result is reused only under the same terms and recomputed otherwise, so an interrupted or changed
bench never shows a number that belongs to another question.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from capscope.record.run_directory import write_atomically


def load_result(path: Path, terms: Any) -> Any | None:
    """Return the result in a file; None if there is none that was computed under these terms."""
    try:
        document = json.loads(path.read_text("utf-8"))
        # Compared as JSON: a tuple comes back as a list.
        same = document["terms"] == json.loads(json.dumps(terms))
        return document["result"] if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing, or not written by us: it is computed again


def save_result(path: Path, terms: Any, result: Any) -> None:
    """Save a result with its terms; its folder is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps({"terms": terms, "result": result}) + "\n")
