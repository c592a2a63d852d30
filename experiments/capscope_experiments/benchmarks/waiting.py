"""How much sooner is a query of 25 draws answered by 16 workers, where an answer takes 50 ms?

The agent asks a language model for each of its actions; the model is a server, in a process of its
own, that waits before it answers. Target: one worker takes at least 8 times as long, and the
journal is the same.

    python -m capscope_experiments.benchmarks.waiting
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from capscope import Budget, Settings, assess
from capscope.agents.llm.client import close_shared_clients
from capscope.record.journal import Journal
from capscope.record.run_directory import JOURNAL

SUPPORT = Path(__file__).parents[3] / "tests" / "support"
"""The stub server and the agent that asks it."""
LATENCY = 0.05
WORKERS = 16
DRAWS = 25
LENGTH = 6


def measure() -> dict[str, float]:
    sys.path.append(str(SUPPORT.parent))
    with _model() as url, tempfile.TemporaryDirectory() as folder:
        os.environ |= {"CAPSCOPE_LLM_BASE_URL": url, "CAPSCOPE_LLM_MODEL": "stub"}
        _query(Path(folder), 2, draws=2)  # imports what is imported when it is first needed
        alone = _query(Path(folder), 1)
        together = _query(Path(folder), WORKERS)
    assert alone[1] == together[1], "the journal depends on the number of workers"
    return {
        f"a query of {DRAWS} draws, answers in 50 ms: 1 worker, s": alone[0],
        f"a query of {DRAWS} draws, answers in 50 ms: {WORKERS} workers, s": together[0],
        f"times faster with {WORKERS} workers (target ≥ 8)": alone[0] / together[0],
    }


def _query(folder: Path, workers: int, draws: int = DRAWS) -> tuple[float, list[Any]]:
    """Return the seconds of the first query and what was seen in its draws."""
    os.environ["CAPSCOPE_CACHE"] = str(folder / f"cache-{workers}")
    run = folder / f"run-{workers}"
    assess(
        f"{SUPPORT / 'llm_agents.py'}:asking_board",
        strategy="random",
        settings=Settings(draws=draws, random_length=LENGTH),
        budget=Budget(queries=1),
        run=run,
        workers=workers,
    )
    close_shared_clients()
    with closing(Journal.open(run / JOURNAL, read_only=True)) as journal:
        record = journal.query(0)
        assert record is not None
        return record.seconds, [draw.executions for draw in journal.draws(0)]


@contextmanager
def _model() -> Iterator[str]:
    """Serve the stub from another process, so that it does not take our time."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("over")
        process.join()


def _serve(connection: Connection) -> None:
    agents, server = (import_module(f"support.{name}") for name in ("llm_agents", "llm_stub"))

    def slowly(handler: Any, request: Any) -> None:
        time.sleep(LATENCY)
        agents.choose(handler, request)

    with server.stub_server() as stub:
        stub.usual = slowly
        connection.send(stub.url)
        connection.recv()


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:<66} {value:12.2f}")
