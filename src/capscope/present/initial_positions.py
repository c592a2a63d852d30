"""That resets lead to more positions than a run began from, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator

from capscope.present.text import counted
from capscope.record.initial_positions import InitialPositions


def initial_position_notes(initial_positions: InitialPositions) -> Iterator[str]:
    """Say from where the run began, if it could have begun elsewhere.

    >>> list(initial_position_notes(InitialPositions(1, others=True)))[0]
    'resets lead to further positions: the run began from 1 position (--resets begins from more)'
    """
    if initial_positions.others:
        began = counted(initial_positions.positions, "position")
        yield (
            f"resets lead to further positions: the run began from {began} (--resets begins "
            "from more)"
        )
