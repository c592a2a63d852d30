"""What a reader must know of a run before its model: all of it, wherever a run is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from capscope.assessment.beginnings import Beginnings
from capscope.data.mishaps import Mishap
from capscope.findings.left_out import LeftOut
from capscope.report.beginnings import beginning_notes
from capscope.report.left_out import left_out_notes
from capscope.report.mishaps import mishap_warnings
from capscope.symbolic import State


def run_notes(
    mishaps: Sequence[Mishap],
    beginnings: Beginnings,
    left_out: LeftOut,
    always: State,
    run: object = "DIR",
) -> Iterator[str]:
    """Say that the agent broke down, where else a run may begin, what the words leave out."""
    yield from mishap_warnings(mishaps, run)
    yield from beginning_notes(beginnings)
    yield from left_out_notes(left_out, always)
