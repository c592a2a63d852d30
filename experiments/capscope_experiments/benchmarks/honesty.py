"""Does the adaptive strategy cheat on chance? Its final model on all stochastic pairs.

Targets: the probabilities of at least 95 % of them within 0.05 of the truth, and an outcome of
probability 0.1 or more missing from at most 1 % of them.

    python -m capscope_experiments.benchmarks.honesty [SEEDS]
"""

import sys
from pathlib import Path

from capscope import assess
from capscope.analysis.evaluation.truth import enumerate_truth
from capscope.problems import load_problem
from capscope_experiments.fidelity import fidelity

PROBLEMS = ("tireworld", f"{Path(__file__).parent / 'variants.py'}:slipping")


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for source in PROBLEMS:
        known = load_problem(source).truth
        assert known is not None
        truth = enumerate_truth(known)
        for seed in range(seeds):
            result = assess(source, strategy="adaptive", seed=seed)
            found = fidelity(result.model, truth)
            print(
                f"{result.spec.problem.name} seed {seed}: {found.pairs:,} stochastic pairs, "
                f"{found.close:.2%} within 0.05, {found.missing:.2%} lack an outcome; "
                f"{result.usage.executions:,} executions, {result.usage.seconds:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
