"""What a run leaves in its directory when it ends: the model as JSON, and the report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from capscope.export.model_json import model_of_run
from capscope.journal.run_directory import MODEL, write_atomically
from capscope.phases import begin_phase
from capscope.report.page import write_report

if TYPE_CHECKING:
    from capscope.report.digest import Pictures
    from capscope.run import Run


def write_results(run: Run, pictures: Pictures | None) -> None:
    """Write the model and the report of a run, and compute what is printed at its end."""
    # What is printed comes first: if time runs out, it is there.
    begin_phase("summing up")
    run.sum_up()
    begin_phase(f"writing {MODEL}")
    text = json.dumps(model_of_run(run), indent=1) + "\n"
    write_atomically(run.path / MODEL, text)
    begin_phase("writing the report")
    write_report(run, run.report_path, pictures)
