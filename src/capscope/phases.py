"""What a long computation is doing, for progress displays.

A phase is an entry of the log `capscope.phases`, level INFO. Nothing is shown unless a program asks
for it, as the command line does.
"""

import logging

PHASES = logging.getLogger("capscope.phases")


def begin_phase(what: str) -> None:
    """Announce the current phase, like `reading runs/one`."""
    PHASES.info("%s", what)
