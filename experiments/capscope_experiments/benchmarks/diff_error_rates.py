"""Does `capscope diff` keep its error rate, and how many executions does it need to find a loss?

Identical agents are compared: runs with different seeds and by different strategies. All of them
give up in one attempt of ten. In MiniGrid, and in a FrozenLake whose predicates describe rows only,
a symbolic state also has many positions. Then one agent achieves one capability less often.
Targets: a difference is reported for at most one of twenty pairs of identical agents, and a loss of
20 points is reported. `diff_power` measures with simulated draws what a loss takes.

Where states determine everything that matters, pairs are also compared with `any_position`.

    python -m capscope_experiments.benchmarks.diff_error_rates [RUNS]
"""

import itertools
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from capscope import Budget, Problem, Settings, assess
from capscope.insight.diff import Comparison, RunData, compare_data
from capscope.logic import Intent
from capscope.problem import Agent, Attempting
from capscope.problems import load_problem
from capscope_experiments.benchmarks.variants import NoAttempt

# No rule reaches this precision, so a budget is always spent.
SETTINGS = Settings(precision=0.001)
PLAN = {
    1000: ("exhaustive", "adaptive", "random"),
    3000: ("exhaustive", "adaptive", "mcqs-s", "random"),
    20_000: ("exhaustive",),
}
"""The strategies to measure with this many executions."""
LOSS = 0.2


@dataclass(frozen=True)
class UnreliableAgent:
    """An agent that gives up at once in a share of its attempts; more often for one intent."""

    agent: Agent
    giving_up: float
    intent: str = ""
    more: float = 0.0

    def begin(self, intent: Intent, seed: int) -> Attempting:
        share = self.giving_up + (self.more if str(intent) == self.intent else 0.0)
        if random.Random(seed).random() < share:
            return NoAttempt()
        return self.agent.begin(intent, seed)


@dataclass(frozen=True)
class DiffCase:
    """A problem, how often its agent gives up, and which capability it may lose."""

    source: str
    giving_up: float
    lost: str
    intents: tuple[str, ...] = ()
    max_executions: int = 20_000
    """More would take too long."""
    any_position: bool = False
    """Whether the predicates capture everything that matters."""

    def problem(self, loss: float = 0.0) -> Problem:
        problem = load_problem(self.source)
        agent = UnreliableAgent(problem.agent, self.giving_up, self.lost, loss)
        return replace(problem, agent=agent)


HERE = Path(__file__).parent
CELLS = ("at(r3c3)", "at(r0c3)", "at(r2c2)", "at(r2c0)")
ROWS = ("there()", "in(r0)", "in(r2)", "in(r3)")
CASES = (
    DiffCase("tireworld", 0.1, "not-flattire()", any_position=True),
    DiffCase("blocksworld", 0.1, "holding(a)", any_position=True),
    DiffCase("minigrid-q", 0.1, "agent-at(south-east)"),
    # With the Gymnasium adapter, whose snapshots are recipes.
    DiffCase(f"{HERE}/variants.py:frozen_lake", 0.1, CELLS[0], CELLS, 3000, any_position=True),
    DiffCase(f"{HERE}/variants.py:frozen_lake_rows", 0.1, ROWS[0], ROWS, 3000),
)


def runs_of(
    case: DiffCase, strategy: str, executions: int, seeds: Sequence[int], loss: float = 0.0
) -> list[RunData]:
    """Assess the agent once for each seed."""
    made = []
    for seed in seeds:
        run = assess(
            case.problem(loss),
            strategy=strategy,
            seed=seed,
            settings=replace(SETTINGS, intents=case.intents),
            budget=Budget(executions=executions),
        )
        made.append(RunData.of(run))
    return made


def measure(
    case: DiffCase, strategies: Sequence[str], executions: int, runs: int, loss: float = LOSS
) -> Iterator[str]:
    """Yield a line for each pair of strategies, and one for a loss found by each strategy."""
    made = {s: runs_of(case, s, executions, range(runs)) for s in strategies}
    name = f"{case.source.removeprefix(f'{HERE}/')}, {executions:,} executions"
    for one, other in itertools.combinations_with_replacement(strategies, 2):
        same = one == other
        pairs = [
            *(
                itertools.combinations(made[one], 2)
                if same
                else itertools.product(made[one], made[other])
            )
        ]
        modes = (False, True) if case.any_position else (False,)
        for any_position in modes:
            found = [compare_data(a, b, any_position=any_position) for a, b in pairs]
            wrong = sum(bool(c.differences) for c in found)
            mode = " (any position)" if any_position else ""
            against = f"{one} against {other}{mode}"
            yield f"{name}: {against}: {wrong} of {len(found)} identical pairs differ"
    for strategy in strategies:
        weak = runs_of(case, strategy, executions, range(runs, 2 * runs), loss)
        found = [compare_data(a, b) for a, b in zip(made[strategy], weak, strict=True)]
        reported = sum(any(str(d.capability) == case.lost for d in c.losses) for c in found)
        draws = statistics.fmean(_draws(comparison, case.lost) for comparison in found)
        yield (
            f"{name}: {strategy}: a loss of {loss:g} is reported for {reported} of {len(found)} "
            f"pairs ({draws:.0f} draws of it)"
        )


def _draws(comparison: Comparison, capability: str) -> int:
    same = (found.a for found in comparison.unchanged if str(found.capability) == capability)
    other = (found.a for found in comparison.differences if str(found.capability) == capability)
    return sum(rate.executions for rate in (*same, *other))


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for case in CASES:
        for executions, strategies in PLAN.items():
            if executions <= case.max_executions:
                for line in measure(case, strategies, executions, runs):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
