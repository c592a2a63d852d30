"""Pictures of positions, drawn by the simulators of the problems that were assessed."""

from __future__ import annotations

import threading
from collections.abc import Callable

from capscope.problems import picture_drawer

_MOST_PROBLEMS = 8


class PictureBook:
    """Draws positions of any problem; each problem is loaded once.

    A simulator draws one position at a time: it has to be put there first.
    """

    def __init__(self, wanted: bool | None = None) -> None:
        self._wanted = wanted
        self._lock = threading.Lock()
        self._drawers: dict[str, Callable[[bytes], bytes] | None] = {}

    def of(self, source: str) -> Callable[[bytes], bytes] | None:
        """Return a function that draws positions of a problem; None if it cannot be drawn."""
        with self._lock:
            if source not in self._drawers:
                self._drawers = dict(list(self._drawers.items())[1 - _MOST_PROBLEMS :])
                self._drawers[source] = self._load(source)
            draw = self._drawers[source]
        if draw is None:
            return None

        def drawn(snapshot: bytes) -> bytes:
            with self._lock:
                return draw(snapshot)

        return drawn

    def _load(self, source: str) -> Callable[[bytes], bytes] | None:
        try:
            return picture_drawer(source, self._wanted)
        except Exception:  # whatever a problem does when it is loaded, the page has no pictures
            return None
