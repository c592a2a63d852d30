"""`report.html`: what is said and how it looks, put together and written down."""

from __future__ import annotations

from pathlib import Path

from capscope.present.digest import digest_run
from capscope.present.digest.states import Pictures
from capscope.present.page import report_page
from capscope.record.run_directory import write_atomically


def write_report(run: Path, target: Path, pictures: Pictures | None = None) -> Path:
    """Write the report of a run directory and return where it is."""
    write_atomically(target, report_page(digest_run(run, pictures)))
    return target
