"""Nobody but capscope ends the program while agents and simulators run.

`os._exit(0)` in an agent would end it without a word and with the exit code of success, so that a
check in CI passes. While a run is under way it raises `SystemExit` instead, as `sys.exit` does, and
that is an error of the run. In a forked child it does what it always did.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import NoReturn

from capscope.errors import ProblemError

_end_process = os._exit
_lock = Lock()
_guarded = 0
"""How many blocks are guarded; runs may be nested, and made in several threads."""
_process = 0
"""The process that is guarded."""


def _exit(status: int) -> NoReturn:
    if not _guarded or os.getpid() != _process:
        _end_process(status)
    raise SystemExit(f"os._exit({status})")


@contextmanager
def only_by_itself() -> Iterator[None]:
    """Turn what would end the program in the block into an error."""
    _guard(1)
    try:
        yield
    except SystemExit as error:
        raise ProblemError(
            f"code of the problem tried to end the program (SystemExit: {error}); everything "
            "observed is kept: let it raise an exception instead"
        ) from error
    finally:
        _guard(-1)


def _guard(more: int) -> None:
    global _guarded, _process
    with _lock:
        _guarded += more
        _process = os.getpid()
        os._exit = _exit if _guarded else _end_process
