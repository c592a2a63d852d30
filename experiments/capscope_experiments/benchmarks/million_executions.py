"""Does a long run stay as fast as it began, and how soon does it go on when it is resumed?

    python -m capscope_experiments.benchmarks.million_executions [STRATEGY] [EXECUTIONS] [SWITCHES]

A cheap world (`large_world`, with fewer switches if so chosen) is asked until a million executions
were made. Targets: executions per second of processor time, between half of a million and a
million, at least 0.8 of those up to ten thousand; memory and journal grow in proportion; a resumed
run asks again within 20 s.
"""

import sys
import tempfile
import time
from pathlib import Path

from capscope import Budget, Intent, Predicate, Problem, Settings, Vocabulary, assess
from capscope.assessment import Event
from capscope_experiments.benchmarks.large_world import SWITCHES, outcomes
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem
from capscope_experiments.saved_runs import choose_next

EARLY = 10_000
"""Executions that the speed is compared with."""


def small_world(switches: int) -> Problem:
    """Return a world of the first few switches."""
    names = SWITCHES[:switches]
    vocabulary = Vocabulary([Predicate("on", ("switch",))], dict.fromkeys(names, "switch"))
    intents = [Intent.parse(f"{sign}on({s})") for sign in ("", "not ") for s in names]
    return tabulated_problem("switches", vocabulary, 0, intents, outcomes)


class _Reached(Exception):  # noqa: N818 - not an error: everything was measured
    """Ends a run without the report, which is not what is measured."""


def measure(
    strategy: str = "exhaustive", executions: int = 1_000_000, switches: int = 12
) -> dict[str, float]:
    """Make a run and resume it; return speeds, sizes and the time until it would ask again."""
    problem = small_world(switches)
    assert problem.truth is not None
    intents = tuple(map(str, problem.truth.intents()))
    # So that it does not end before: no audit, and draws of each pair without end.
    settings = Settings(intents=intents, audit=0.0, min_draws=executions)
    early = min(EARLY, executions // 10)
    points = [early // 2, early, executions // 2, executions]
    reached: list[tuple[int, float, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"

        def listen(event: Event) -> None:
            if event.usage.executions >= points[len(reached)]:
                size = sum(file.stat().st_size for file in run.iterdir()) / 1e6
                now = (event.usage.executions, time.process_time(), _resident(), size)
                reached.append(now)
            if len(reached) == len(points):
                raise _Reached

        try:
            assess(
                problem, strategy=strategy, settings=settings, run=run, listener=listen,
                budget=Budget(executions=2 * executions),
            )  # fmt: skip
        except _Reached:
            resumed = _seconds_to_resume(run, problem)
    begun, tenth, half, whole = reached
    early_speed = (tenth[0] - begun[0]) / (tenth[1] - begun[1])
    late_speed = (whole[0] - half[0]) / (whole[1] - half[1])
    return {
        f"executions/CPU s to {tenth[0]:,}": early_speed,
        f"executions/CPU s to {whole[0]:,}": late_speed,
        "times as fast": late_speed / early_speed,
        f"MB of memory at {half[0]:,}": half[2],
        f"MB of memory at {whole[0]:,}": whole[2],
        f"MB of journal at {half[0]:,}": half[3],
        f"MB of journal at {whole[0]:,}": whole[3],
        "CPU s until a resumed run asks": resumed,
    }


def _resident() -> float:
    """Return the memory of this process, in MB; 0 if the platform does not say."""
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * 4096 / 1e6 if pages.exists() else 0.0


def _seconds_to_resume(run: Path, problem: Problem) -> float:
    begun = time.process_time()
    choose_next(run, problem)
    return time.process_time() - begun


if __name__ == "__main__":
    given = [*sys.argv[1:], *("exhaustive", "1000000", "12")[len(sys.argv) - 1 :]]
    for measured, value in measure(given[0], int(given[1]), int(given[2])).items():
        print(f"{measured:<50} {value:12,.2f}", flush=True)
