"""That resets lead to more positions than a run began from, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from capscope.assessment.beginnings import Beginnings
from capscope.report.text import counted


def beginning_notes(beginnings: Beginnings) -> Iterator[str]:
    """Say from where the run began, if it could have begun elsewhere.

    >>> list(beginning_notes(Beginnings(1, others=True)))[0]
    'resets lead to further positions: the run began from 1 position (--resets begins from more)'
    """
    if beginnings.others:
        began = counted(beginnings.positions, "position")
        yield (
            f"resets lead to further positions: the run began from {began} (--resets begins "
            "from more)"
        )
