"""How much faster is a query of 25 draws with 16 workers, if each model answer takes 50 ms?

The agent asks a language model for each of its actions; the model is a server in another process
that waits before it answers. Target: one worker takes at least 8 times as long, and the journal is
the same.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from capscope import Budget, Settings, assess
from capscope.adapters.llm.client import close_shared_clients

SUPPORT = Path(__file__).parents[3] / "tests" / "support"
"""Has the stub server and the agent that asks it."""
WORKERS = 16
LENGTH = 6


def measure(draws: int = 25, latency: float = 0.05) -> dict[str, float]:
    """Return the seconds of one worker and of many, and their ratio."""
    if str(SUPPORT.parent) not in sys.path:
        sys.path.append(str(SUPPORT.parent))
    with _model(latency) as url, tempfile.TemporaryDirectory() as folder, _environment():
        os.environ |= {"CAPSCOPE_LLM_BASE_URL": url, "CAPSCOPE_LLM_MODEL": "stub"}
        _query(Path(folder), 2, draws=2)  # warm up: some modules are imported on first use
        alone = _query(Path(folder), 1, draws)
        together = _query(Path(folder), WORKERS, draws)
    assert alone[1] == together[1], "the journal depends on the number of workers"
    name = f"query of {draws} draws, answers in {1000 * latency:.0f} ms"
    return {
        f"{name}: 1 worker, s": alone[0],
        f"{name}: {WORKERS} workers, s": together[0],
        f"{name}: times faster with {WORKERS} workers (target ≥ 8)": alone[0] / together[0],
    }


def _query(folder: Path, workers: int, draws: int) -> tuple[float, list[Any]]:
    """Return the seconds of the first query and the executions of its draws."""
    os.environ["CAPSCOPE_CACHE"] = str(folder / f"cache-{workers}")
    run = folder / f"run-{workers}"
    result = assess(
        f"{SUPPORT / 'llm_agents.py'}:asking_board",
        strategy="random",
        settings=Settings(draws=draws, random_length=LENGTH),
        budget=Budget(queries=1),
        run=run,
        workers=workers,
    )
    close_shared_clients()
    with result.open_journal() as journal:
        return result.usage.seconds, [draw.executions for draw in journal.draws(0)]


@contextmanager
def _environment() -> Iterator[None]:
    """Restore the environment variables afterwards."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _model(latency: float) -> Iterator[str]:
    """Serve the stub from another process, so that it does not slow down the run."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, latency), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("stop")
        process.join()


def _serve(connection: Connection, latency: float) -> None:
    agents, server = (import_module(f"support.{name}") for name in ("llm_agents", "llm_stub"))

    def answer_slowly(handler: Any, request: Any) -> None:
        time.sleep(latency)
        agents.choose(handler, request)

    with server.stub_server() as stub:
        stub.usual = answer_slowly
        connection.send(stub.url)
        connection.recv()
