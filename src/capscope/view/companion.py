"""A viewer beside an assessment, in a process of its own.

Making a report takes as much of a core as the assessment itself; in the same process it would slow
the agent down. The viewer lives as long as its standard input is open: it ends with the assessment,
however that ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from capscope.errors import CapscopeError
from capscope.view.server import require_packages, serving

_SECONDS_TO_START = 60.0
_SECONDS_FOR_PAGES = 20.0
"""After the run, for open pages to get its last report."""
_SECONDS_TO_STOP = 10.0


@contextmanager
def companion(run: Path, *, wait_for_pages: bool = True) -> Iterator[str]:
    """Serve a run, which need not exist yet, while the block runs; yield the address.

    Pages that are open get the last report of a run that ends by itself, which may take some
    seconds, unless there is no time for that. After an error or an interruption the viewer ends at
    once.
    """
    require_packages()
    command = [sys.executable, "-P", "-m", "capscope.view", str(run)]
    # In a session of its own: Ctrl-C is for the assessment.
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        wait = 0.0
        try:
            yield _address(process)
            wait = _SECONDS_FOR_PAGES if wait_for_pages else 0.0
        finally:
            _end(process, wait)


def _address(process: subprocess.Popen[str]) -> str:
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.append(_first_line(process)), daemon=True)
    reader.start()
    reader.join(_SECONDS_TO_START)
    if not lines or not lines[0]:
        raise CapscopeError("the local page could not be started; assess without --live")
    return str(json.loads(lines[0])["address"])


def _first_line(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline() if process.stdout else ""


def _end(process: subprocess.Popen[str], wait: float) -> None:
    try:
        process.communicate(f"{wait}\n", timeout=wait + _SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()


def serve_until_input_ends(run: Path) -> None:
    """Serve a run; print the address as JSON, and end when standard input does.

    The last line of the input is the number of seconds to wait for open pages.
    """
    with serving(run) as server:
        sys.stdout.write(json.dumps({"address": server.address}) + "\n")
        sys.stdout.flush()
        said = sys.stdin.read().split()
        server.wait_for_pages(float(said[-1]) if said else 0.0)
