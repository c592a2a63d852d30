"""How long do findings and the report take in a large run? 50,000 states, 50 intents, 130 objects.

A warehouse has 120 boxes in ten rooms, and 100,000 executions were made, most pairs once. Targets:
findings in at most 30 s of CPU, the report in at most 60 s and 5 MB.

    python -m capscope_experiments.benchmarks.findings_speed
"""

import random
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from capscope import Budget, Intent, Predicate, Settings, Vocabulary, assess, load
from capscope.logic import State
from capscope.report.page import write_report
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem

BOXES, ROOMS = 120, 10
STATES, INTENTS, EXECUTIONS = 50_000, 50, 100_000
_FAILS = 0.1


class Warehouse:
    """Boxes that are carried between rooms, one request in ten without success.

    Boxes that are open when they are moved lose their label.
    """

    def __init__(self, rng: random.Random) -> None:
        boxes, rooms = [f"box{i}" for i in range(BOXES)], [f"room{i}" for i in range(ROOMS)]
        self.vocabulary = Vocabulary(
            [
                Predicate("in", ("box", "room")),
                Predicate("open", ("box",)),
                Predicate("label", ("box",)),
            ],
            {**dict.fromkeys(boxes, "box"), **dict.fromkeys(rooms, "room")},
        )
        bit = self._bit = {str(atom): b for atom, b in self.vocabulary.bit.items()}
        wanted = [(boxes[i % 25], rooms[i % ROOMS]) for i in range(INTENTS)]
        self.intents = [Intent.parse(f"in({box},{room})") for box, room in wanted]
        self._places = {box: sum(bit[f"in({box},{room})"] for room in rooms) for box in boxes}
        self.start = sum(bit[f"in({b},{rng.choice(rooms)})"] | bit[f"label({b})"] for b in boxes)
        for box in boxes[::2]:
            self.start |= bit[f"open({box})"]

    def carried(self, state: State, intent: Intent) -> State:
        """Return the state after a request that succeeds."""
        (literal,) = intent.literals
        box, _ = literal.atom.arguments
        after = state & ~self._places[box] | self._bit[str(literal.atom)]
        return after & ~self._bit[f"label({box})"] if state & self._bit[f"open({box})"] else after

    def outcomes(self, state: State, intent: Intent) -> Mapping[State, float]:
        """Return where a request may end, and how probably."""
        if intent.holds(state, self.vocabulary):
            return {state: 1.0}
        return {self.carried(state, intent): 1 - _FAILS, state: _FAILS}


def measure_report(seed: int = 0, executions: int = EXECUTIONS) -> str:
    """Make an exhaustive run in the warehouse, and time reading it and writing its report."""
    world = Warehouse(random.Random(seed))
    problem = tabulated_problem(
        "warehouse", world.vocabulary, world.start, world.intents, world.outcomes
    )
    settings = Settings(intents=tuple(map(str, world.intents)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        budget = Budget(executions=executions)
        assess(
            problem, strategy="exhaustive", seed=seed, settings=settings, budget=budget, run=path
        )
        started = time.process_time()
        run = load(path)
        found = run.findings()
        seconds = time.process_time() - started
        size = write_report(run, path / "report.html").stat().st_size
        whole = time.process_time() - started
        return (
            f"{len(run.graph.nodes):,} states, {run.usage.executions:,} executions: {seconds:.1f} "
            f"s of CPU for {len(found)} findings, {whole:.1f} s with the report, "
            f"{size / 1e6:.2f} MB"
        )


def main() -> None:
    print(measure_report(), flush=True)


if __name__ == "__main__":
    main()
