"""Is every sentence about honest agents in noisy worlds true?

Families of agents that do their best (`tests/support/honest_worlds.py`): each finding, each line
about unrequested changes and the headline are recomputed from raw executions and the known truth
(`tests/support/sentence_checker.py`). Target: at most 5 % of the runs of each family have a false
sentence.

    PYTHONPATH=experiments:tests python -m capscope_experiments.benchmarks.honest_agents \\
        [RUNS] [EXECUTIONS] [FAMILY ...]
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from capscope import Budget, assess
from support.honest_worlds import FAMILIES
from support.sentence_checker import false_sentences


def measure(family: str, runs: int, executions: int) -> Iterator[str]:
    """Assess the agents of a family; yield how many have a false sentence, and which."""
    kinds: Counter[str] = Counter()
    false: list[str] = []
    wrong = 0
    for seed in range(runs):
        world = FAMILIES[family](seed)
        run = assess(world.problem(), budget=Budget(executions=executions), seed=seed)
        found = false_sentences(world, run)
        kinds.update(finding.kind for finding in run.findings())
        wrong += bool(found)
        false += (f"  seed {seed}: {sentence}" for sentence in found)
    yield f"{family}: a false sentence in {wrong} of {runs} runs; findings: {dict(kinds)}"
    yield from false


def measure_all(runs: int, executions: int, families: Sequence[str] = ()) -> Iterator[str]:
    for family in families or FAMILIES:
        yield from measure(family, runs, executions)


def main() -> None:
    given = sys.argv[1:]
    runs, executions = (int(x) for x in (*given[:2], *("100", "250")[len(given) :]))
    for line in measure_all(runs, executions, given[2:]):
        print(line, flush=True)


if __name__ == "__main__":
    main()
