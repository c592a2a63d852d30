"""Does `capscope diff` keep its error rate, and how many executions does it need to see a loss?

Agents that are alike are compared, run against run with other seeds and by other strategies. All
give up in one attempt of ten; in the grid world, and on a lake of which only the rows have words, a
symbolic state has many positions besides. Then one of them achieves one capability less often.
Targets: a difference is told in at most one of twenty pairs that are alike, and a loss of 20 points
is told.

    python -m capscope_experiments.benchmarks.differences [RUNS]
"""

import itertools
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from capscope import Budget, Problem, Settings, assess
from capscope.analysis.diff import Comparison, Side, compare_sides, read_side
from capscope.problems import load_problem
from capscope.symbolic import Intent
from capscope.world import Agent, Attempting
from capscope_experiments.benchmarks.variants import Still

# Rules are never known well enough, so a budget is always spent.
SETTINGS = Settings(precision=0.001)
PLAN = {
    1000: ("adaptive", "random"),
    3000: ("adaptive", "mcqs-s", "random"),
    20_000: ("adaptive",),
}
"""The strategies to be measured with so many executions."""
LOSS = 0.2


@dataclass(frozen=True)
class Wavering:
    """An agent that gives up at once: in a share of its attempts, and in another for one intent."""

    agent: Agent
    giving_up: float
    intent: str = ""
    more: float = 0.0

    def begin(self, intent: Intent, seed: int) -> Attempting:
        """Begin as the agent would, or not at all."""
        share = self.giving_up + (self.more if str(intent) == self.intent else 0.0)
        return Still() if random.Random(seed).random() < share else self.agent.begin(intent, seed)


@dataclass(frozen=True)
class World:
    """A problem, how often its agent gives up, and what it may lose."""

    source: str
    giving_up: float
    lost: str
    intents: tuple[str, ...] = ()
    most: int = 20_000
    """Executions; more would take too long."""

    def problem(self, loss: float = 0.0) -> Problem:
        problem = load_problem(self.source)
        return replace(problem, agent=Wavering(problem.agent, self.giving_up, self.lost, loss))


TIREWORLD = World("tireworld", 0.1, "not-flattire()")
GRID = World("minigrid-q", 0.1, "agent-at(south-east)")
BLOCKS = World("blocksworld", 0.1, "holding(a)")
# Through the Gymnasium adapter, whose snapshots are recipes.
HERE = Path(__file__).parent
CELLS = ("at(r3c3)", "at(r0c3)", "at(r2c2)", "at(r2c0)")
ROWS = ("there()", "in(r0)", "in(r2)", "in(r3)")
LAKE = World(f"{HERE}/variants.py:frozen_lake", 0.1, CELLS[0], CELLS, 3000)
LAKE_ROWS = World(f"{HERE}/variants.py:frozen_lake_rows", 0.1, ROWS[0], ROWS, 3000)


def sides(
    world: World, strategy: str, executions: int, seeds: Sequence[int], loss: float = 0.0
) -> list[Side]:
    """Assess the agent once for each seed."""
    made = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            assess(
                world.problem(loss),
                strategy=strategy,
                seed=seed,
                settings=replace(SETTINGS, intents=world.intents),
                budget=Budget(executions=executions),
                run=path,
            )
            made.append(read_side(path))
    return made


def alike(runs: Sequence[Side], others: Sequence[Side] = ()) -> Iterator[Comparison]:
    """Compare all pairs of runs of one agent."""
    pairs = itertools.product(runs, others) if others else itertools.combinations(runs, 2)
    for a, b in pairs:
        yield compare_sides(a, b)


def told(comparisons: Sequence[Comparison], lost: str) -> int:
    """Count the comparisons that tell a loss of one capability."""
    return sum(any(str(d.capability) == lost for d in c.losses) for c in comparisons)


def _draws(comparison: Comparison, capability: str) -> int:
    same = (found.a for found in comparison.alike if str(found.capability) == capability)
    other = (found.a for found in comparison.differences if str(found.capability) == capability)
    return sum(estimate.draws for estimate in (*same, *other))


def measure(
    world: World, strategies: Sequence[str], executions: int, runs: int, loss: float = LOSS
) -> Iterator[str]:
    """Yield a line for each pair of strategies, and one for a loss seen by each."""
    made = {s: sides(world, s, executions, range(runs)) for s in strategies}
    name = f"{world.source.removeprefix(f'{HERE}/')}, {executions:,} executions"
    for one, other in itertools.combinations_with_replacement(strategies, 2):
        found = list(alike(made[one], () if one == other else made[other]))
        wrong = sum(bool(c.differences) for c in found)
        yield f"{name}: {one} against {other}: {wrong} of {len(found)} alike pairs differ"
    for strategy in strategies:
        weak = sides(world, strategy, executions, range(runs, 2 * runs), loss)
        found = [compare_sides(a, b) for a, b in zip(made[strategy], weak, strict=True)]
        seen = told(found, world.lost)
        draws = statistics.fmean(_draws(comparison, world.lost) for comparison in found)
        yield (
            f"{name}: {strategy}: a loss of {loss:g} is told in {seen} of {len(found)} pairs "
            f"({draws:.0f} draws of it)"
        )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for world in (TIREWORLD, BLOCKS, GRID, LAKE, LAKE_ROWS):
        plan = {size: strategies for size, strategies in PLAN.items() if size <= world.most}
        for executions, strategies in plan.items():
            for line in measure(world, strategies, executions, runs):
                print(line, flush=True)


if __name__ == "__main__":
    main()
