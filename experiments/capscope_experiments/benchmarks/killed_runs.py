"""Do runs that are killed at random moments end as if nothing had happened, on every backend?

    python -m capscope_experiments.benchmarks.killed_runs [KILLS] [BACKEND …]

Each trial starts `capscope assess`, kills it at a random moment (start-up and the writing of the
report included), and continues it with `capscope resume` until it ends, which is killed as well
every other time. In a third of the trials with processes or Ray, a worker is killed instead of the
run: one of its processes, or one of the processes of its actors. Journal (without times) and model
must equal those of an undisturbed run. Target: all.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[3] / "tests"
BOARD = f"{TESTS / 'support' / 'toy_worlds.py'}:slippery_board"
BACKENDS = ("threads", "processes", "ray")
SEEDS = 5
ERRORS = Path(tempfile.gettempdir()) / f"killed-runs-{os.getpid()}.txt"
"""What the command that was started last wrote to standard error."""
MOST_SECONDS = 300.0
"""For one command; one that takes longer has failed."""


@dataclass
class Trial:
    """One run that is disturbed until it ends."""

    folder: Path
    backend: str
    seed: int
    address: str | None
    rng: random.Random
    kills: int = 0
    workers_killed: int = 0
    resumed: int = 0

    @property
    def begun(self) -> bool:
        """Whether there is something to resume."""
        return (self.folder / "journal.sqlite").exists()

    def command(self) -> list[str]:
        """Return the command that starts the run, or continues it."""
        workers = ["--workers", "2", "--backend", self.backend]
        if self.address:
            workers += ["--address", self.address]
        if self.begun:
            return ["resume", str(self.folder), "--trust", *workers]
        return [*_start(self.folder, self.seed), *workers]

    def until_it_ends(self, usual: float) -> None:
        """Run it, and kill it or a worker at random moments."""
        for attempt in range(20):
            moment = (
                self.rng.uniform(0, 1.2 * usual) if attempt < 1 + self.rng.randrange(2) else None
            )
            if self.once(moment):
                return
        raise AssertionError("the run was killed too often")

    def once(self, moment: float | None) -> bool:
        """Run it, killed at a moment if one is given; return whether it ended by itself."""
        self.resumed += self.begun
        command = self.command()
        with _started(command) as process:
            if moment is None:
                _require_success(process, command)
                return True
            with suppress(subprocess.TimeoutExpired):
                process.wait(moment)
                return process.returncode == 0
            victims = self._workers(process.pid) if self.rng.random() < 1 / 3 else []
            if victims:
                with suppress(ProcessLookupError):
                    os.kill(self.rng.choice(victims), signal.SIGKILL)
                    self.kills += 1
                    self.workers_killed += 1
                code = process.wait(MOST_SECONDS)
                return code == 0  # a worker that is lost while it starts is an error of the start
            process.kill()
            process.wait(MOST_SECONDS)
            self.kills += 1
            return False

    def _workers(self, run: int) -> list[int]:
        """Return the processes in which the draws of a run are made, if it has any."""
        if self.backend == "processes":
            return children_of(run)
        # The raylets of the cluster are children of this process, and actors are theirs.
        ours = [pid for raylet in children_of(os.getpid()) for pid in children_of(raylet)]
        return [pid for pid in ours if _title(pid).startswith("ray::WorkerActor")]


def measure(kills: int, backends: tuple[str, ...] = BACKENDS, seed: int = 0) -> dict[str, float]:
    """Return how many kills there were, and after how many the run ended differently."""
    sys.path.append(str(TESTS))
    rows: Any = import_module("support.journal_rows")
    rng = random.Random(seed)
    made: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    workers: Counter[str] = Counter()
    resumed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, _cluster("ray" in backends) as address:
        whole = {s: _undisturbed(Path(folder), s, rows) for s in range(SEEDS)}
        for backend in backends:
            usual = _usual_seconds(Path(folder) / backend, backend, address, rng)
            share = kills // len(backends)
            for number in itertools.count():
                if made[backend] >= share:
                    break
                run = Path(folder) / f"{backend}-{number}"
                at = address if backend == "ray" else None
                trial = Trial(run, backend, number % SEEDS, at, rng)
                trial.until_it_ends(usual)
                made[backend] += trial.kills
                workers[backend] += trial.workers_killed
                resumed[backend] += trial.resumed
                if _ended(run, rows) != whole[trial.seed]:
                    wrong[backend] += 1
                    print(f"{backend}: seed {trial.seed} ended differently", flush=True)
                print(
                    f"{backend}: {made[backend]} kills, {workers[backend]} of them of workers, "
                    f"{resumed[backend]} times resumed, {wrong[backend]} wrong",
                    flush=True,
                )
                shutil.rmtree(run)
    ERRORS.unlink(missing_ok=True)
    numbers = {f"{name}: kills": float(made[name]) for name in backends}
    numbers |= {f"{name}: times resumed": float(resumed[name]) for name in backends}
    numbers |= {f"{name}: kills of workers": float(workers[name]) for name in backends}
    return numbers | {f"{name}: runs that ended differently": wrong[name] for name in backends}


def _usual_seconds(folder: Path, backend: str, address: str | None, rng: random.Random) -> float:
    """Return the duration of an undisturbed run; Ray takes most of it to start."""
    trial = Trial(folder, backend, 0, address if backend == "ray" else None, rng)
    begun = time.monotonic()
    trial.once(None)
    return time.monotonic() - begun


def _start(folder: Path, seed: int) -> list[str]:
    chosen = ["--set", "batch=4", "--max-executions", "120", "--seed", str(seed)]
    return ["assess", BOARD, "--run", str(folder), *chosen]


def _undisturbed(folder: Path, seed: int, rows: Any) -> Any:
    run = folder / f"whole-{seed}"
    command = _start(run, seed)
    with _started(command) as process:
        _require_success(process, command)
    return _ended(run, rows)


def _ended(run: Path, rows: Any) -> Any:
    return rows.dump(run), (run / "model.json").read_bytes(), (run / "report.html").exists()


@contextmanager
def _started(arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command; whatever happens, it does not outlive the block."""
    environment = os.environ | {"PYTHONPATH": _path_with_tests()}
    command = [sys.executable, "-m", "capscope", *arguments]
    with (
        ERRORS.open("wb") as errors,
        subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=errors
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def _require_success(process: subprocess.Popen[bytes], command: list[str]) -> None:
    code = process.wait(MOST_SECONDS)
    said = ERRORS.read_text(encoding="utf-8", errors="replace")[-2000:]
    assert code == 0, f"exit code {code} of {command}: {said}"


def _path_with_tests() -> str:
    return os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))


def children_of(pid: int) -> list[int]:
    """Return the children of a process, by whichever of its threads they were started."""
    with suppress(OSError):
        lists = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(word) for children in lists for word in children.read_text().split()]
    return []


def _title(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    return ""


@contextmanager
def _cluster(wanted: bool) -> Iterator[str | None]:
    """Start a cluster that all runs use: starting one for each would take most of the time."""
    if not wanted:
        yield None
        return
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": _path_with_tests()}
    cluster: Any = import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={"num_cpus": 4, "include_dashboard": False}
    )
    try:
        yield cluster.address
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    chosen = tuple(sys.argv[2:]) or BACKENDS
    for measured, value in measure(int((sys.argv[1:] or ["300"])[0]), chosen).items():
        print(f"{measured:<50} {value:12,.0f}")
