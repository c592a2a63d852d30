"""Are stated doubts true? Doubts of a finished run against fresh executions of the agent.

Pairs of the states seen are drawn at random, and each is executed several times from positions that
the run kept. The doubt of a prediction should be the share of executions that end in none of the
predicted states, for tried and for inferred pairs, and for those that are predicted to change
something as for those that are not: what leads anywhere are changes.

    python -m capscope_experiments.benchmarks.stated_doubts RUN PROBLEM [PAIRS]
"""

import random
import statistics
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from capscope import load
from capscope.model import Provenance
from capscope.problem import Position, Problem
from capscope.problem.attempt import pursue
from capscope.problems import load_problem
from capscope.run import Run
from capscope.seeds import child_seed
from capscope_experiments.saved_runs import snapshots_of
from capscope_experiments.table import markdown_table

EXECUTIONS = 20
_SEED = 5_000_011
_LIMITS = (0.03, 0.1, 0.3, 1.0)


class CheckedDoubt(NamedTuple):
    """The doubt of a pair, and what is true of it."""

    provenance: Provenance
    changes: bool
    """Whether the prediction is that something changes."""
    doubt: float
    missed: float
    """The fraction of executions that ended in none of the predicted states."""


def check_doubts(
    run: Run, problem: Problem, pairs: int, executions: int = EXECUTIONS
) -> Iterator[CheckedDoubt]:
    """Execute pairs of the states seen, drawn at random; unknown ones are left out."""
    snapshots = snapshots_of(run)
    every = list(product(snapshots, run.graph.capabilities))
    chosen = random.Random(_SEED).sample(every, min(pairs, len(every)))
    for number, (state, intent) in enumerate(chosen):
        predicted = run.model.predict(state, intent)
        if predicted.provenance is Provenance.UNKNOWN:
            continue
        missed = 0
        for draw in range(executions):
            seed = child_seed(_SEED, number, draw)
            snapshot = random.Random(seed).choice(snapshots[state])
            start = Position(problem.simulator.restore(snapshot, seed), state)
            _, end = pursue(problem, intent, start, child_seed(seed, 0))
            missed += end.state not in predicted
        changes = set(predicted) != {state}
        yield CheckedDoubt(predicted.provenance, changes, predicted.doubt, missed / executions)


def table(checked: list[CheckedDoubt]) -> str:
    """Compare mean doubts with what is true, by kind of prediction and by doubt."""
    rows: list[list[object]] = []
    kinds = product((Provenance.TRIED, Provenance.INFERRED), (True, False))
    for provenance, changes in kinds:
        least = 0.0
        for limit in _LIMITS:
            here = [
                one
                for one in checked
                if (one.provenance, one.changes) == (provenance, changes)
                and least < one.doubt <= limit
            ]
            if here:
                stated = statistics.fmean(one.doubt for one in here)
                true = statistics.fmean(one.missed for one in here)
                kind = "a change" if changes else "no change"
                rows.append(
                    [provenance, kind, f"{least:g} to {limit:g}", len(here), f"{stated:.3f}",
                     f"{true:.3f}"]
                )  # fmt: skip
            least = limit
    return markdown_table(["pairs", "predicted", "doubt", "number", "stated", "true"], rows)


def main() -> None:
    run, problem = load(Path(sys.argv[1])), load_problem(sys.argv[2])
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000
    print(table(list(check_doubts(run, problem, pairs))))


if __name__ == "__main__":
    main()
