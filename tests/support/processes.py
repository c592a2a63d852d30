"""Child processes that never outlive the test that started them."""

import os
import signal
import subprocess
from contextlib import contextmanager, suppress

SECONDS = 120
"""How long a test waits for a child process. On an idle machine, none takes more than a few."""


@contextmanager
def started(command, **options):
    """Start a command in its own process group; kill the whole group when the block ends.

    `Popen` as a context manager waits for the child without a limit, even if the block fails.
    """
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError, PermissionError):  # macOS: all of them are zombies
                os.killpg(process.pid, signal.SIGKILL)
