"""`report.html`: what is said and how it looks, put together and written down."""

from __future__ import annotations

from pathlib import Path

from capscope.assessment.run import write_atomically
from capscope.report.digest import digest_run
from capscope.report.digest.states import Pictures
from capscope.report.page import report_page


def write_report(run: Path, target: Path, pictures: Pictures | None = None) -> Path:
    """Write the report of a run directory and return where it is."""
    write_atomically(target, report_page(digest_run(run, pictures)))
    return target
