"""Are the probabilities of the adaptive strategy accurate? Its final model on stochastic pairs.

Targets: the probabilities of at least 90 % of them within 0.05 of the truth, and an outcome of
probability 0.1 or more missing from at most 1 % of them.

    python -m capscope_experiments.benchmarks.probability_accuracy [SEEDS [PROBLEM ...]]
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from capscope import Budget, assess
from capscope.insight.evaluation.reference import enumerate_truth
from capscope.problems import load_problem
from capscope_experiments.measure import fidelity

PROBLEMS = ("tireworld", f"{Path(__file__).with_name('variants.py')}:slipping")


def measure(source: str, seeds: int, budget: Budget | None = None) -> Iterator[str]:
    """Yield a line for each seed."""
    known = load_problem(source).truth
    assert known is not None
    truth = enumerate_truth(known)
    for seed in range(seeds):
        result = assess(source, seed=seed, budget=budget)
        found = fidelity(result.model, truth)
        yield (
            f"{load_problem(source).name} seed {seed}: {found.pairs:,} stochastic pairs, "
            f"{found.close:.2%} within 0.05, {found.missing:.2%} lack an outcome; "
            f"{result.usage.executions:,} executions, {result.usage.seconds:.0f} s"
        )


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for source in sys.argv[2:] or PROBLEMS:
        for line in measure(source, seeds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
