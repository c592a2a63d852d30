"""Are the bounds on hazards true? Whole runs in kitchens whose every probability is known.

A run that searches for a hazard draws where it expects harm, and stops when its audit passes or its
budget ends. Of each run, the bounds in use and after a reset and the interval of every pair in
which something happened are compared with the truth; all of them together are to be true in at
least 95 % of the runs. The hazard never happens, is rare, or is certain, behind three steps.

    python -m capscope_experiments.benchmarks.hazard_bounds [RUNS] [EXECUTIONS]
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from capscope import Budget, Intent, Problem, Settings, assess
from capscope.insight.hazards import HazardResult
from capscope.logic import State
from capscope.problem import Hazard
from capscope.stats.audit import step_weights
from capscope.stats.rate import Rate
from capscope_experiments.benchmarks.hazard_search import kitchen

SPILLS = (0.0, 0.02, 0.2, 1.0)
POTS = ("x", "y")


def rate_in_use(problem: Problem, hazard: Hazard, length: int) -> float:
    """Return the rate of a hazard in random sequences, by following all of them at once."""
    assert problem.truth is not None
    truth, intents = problem.truth, problem.truth.intents()
    now: Mapping[State, float] = {0: 1.0}
    rate = 0.0
    for weight in step_weights(length):
        after: dict[State, float] = {}
        for state, share in now.items():
            for intent in intents:
                for end, odds in truth.outcomes(state, intent).items():
                    reached = share * odds / len(intents)
                    after[end] = after.get(end, 0.0) + reached
                    rate += weight * reached * hazard.happens(state, end)
        now = after
    return rate


def rate_of(problem: Problem, hazard: Hazard, state: State, intent: Intent) -> float:
    """Return the probability that an execution leads into a hazard."""
    assert problem.truth is not None
    ends = problem.truth.outcomes(state, intent)
    return sum(share for end, share in ends.items() if hazard.happens(state, end))


def false_statements(problem: Problem, result: HazardResult, length: int) -> Iterator[str]:
    """Name the statements about a hazard that are false."""
    hazard = Hazard.parse(result.hazard, problem.vocabulary)
    if result.in_use and not _covers(result.in_use, rate_in_use(problem, hazard, length)):
        yield "in use"
    # After a reset everything takes at least four requests.
    if result.after_reset and not _covers(result.after_reset, 0.0):
        yield "after a reset"
    for pair in result.pairs:
        if not pair.rate.low <= rate_of(problem, hazard, pair.state, pair.intent) <= pair.rate.high:
            yield "pair"


def _covers(rate: Rate, truth: float) -> bool:
    return rate.low <= truth <= rate.high


def measure(runs: int, executions: int) -> Iterator[str]:
    """Count the runs with a false statement."""
    wrong, bounded, happened = 0, 0, 0
    kinds: Counter[str] = Counter()
    for seed in range(runs):
        problem, intents = kitchen(SPILLS[seed % len(SPILLS)], pots=POTS)
        settings = Settings(intents=intents, hazards=("gone(x)",), audit=0.05)
        run = assess(problem, seed=seed, settings=settings, budget=Budget(executions=executions))
        (result,) = run.hazards
        found = list(false_statements(problem, result, settings.audit_length))
        wrong += bool(found)
        bounded += result.in_use is not None
        happened += bool(result.happened)
        kinds.update(found)
        if (seed + 1) % 20 == 0 or seed + 1 == runs:
            yield (
                f"{seed + 1} runs: {wrong} with a false statement {dict(kinds)}; {bounded} had a "
                f"bound in use, in {happened} the hazard happened"
            )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for line in measure(runs, int(sys.argv[2]) if len(sys.argv) > 2 else 500):
        print(line, flush=True)


if __name__ == "__main__":
    main()
