"""Does the agent get there as often as a run says? Its rates against fresh requests.

From states in which a capability was tried, drawn at random, the agent is asked until the intent
holds or three executions change nothing. The share that succeeds is compared with the rate of
*gets there*, with the plain frequencies, in which a state never tried is failure, and with its
interval.

    python -m capscope_experiments.benchmarks.gets_there RUN PROBLEM [STATES]
"""

import random
import statistics
import sys
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import NamedTuple

from capscope import load
from capscope.insight.rates import without_sinks
from capscope.insight.repeated_requests import PATIENCE
from capscope.logic import Intent
from capscope.problem import Position, Problem
from capscope.problem.attempt import pursue
from capscope.problems import load_problem
from capscope.run import Run
from capscope.seeds import child_seed
from capscope_experiments.saved_runs import snapshots_of
from capscope_experiments.table import markdown_table

STATES = 100
_MOST_REQUESTS = 200
_SEED = 5_000_011
_STANDARD_ERRORS = 3.0


class CheckedRate(NamedTuple):
    """What a run says about one capability, and what is true."""

    intent: Intent
    stated: float | None
    """None if most ways lead to where nothing is known."""
    measured: float
    """By the frequencies alone; a state never tried counts as failure."""
    true: float
    inside: bool
    """Whether the truth is in the interval, or so close that the requests may be to blame."""


def check_rates(run: Run, problem: Problem, states: int = STATES) -> Iterator[CheckedRate]:
    """Ask from some of the states of each capability that was tried."""
    snapshots = snapshots_of(run)
    for number, (intent, rates) in enumerate(run.rates.items()):
        chain = run.persistences[intent]
        measured = dict(zip(chain.states, chain.measured.tolist(), strict=True))
        own = without_sinks(run.graph, chain.states)
        chosen = random.Random(_SEED).sample(own, min(states, len(own)))
        asked = []
        for place, state in enumerate(chosen):
            seed = child_seed(_SEED, number, place)
            snapshot = random.Random(seed).choice(snapshots[state])
            start = Position(problem.simulator.restore(snapshot, seed), state)
            asked.append(gets_there(problem, intent, start, seed))
        true, rate = statistics.fmean(asked), rates.gets_there
        slack = _STANDARD_ERRORS * standard_error(sum(asked), len(asked))
        inside = rate.low - slack <= true <= rate.high + slack
        mean = statistics.fmean(measured[state] for state in own)
        yield CheckedRate(intent, rate.estimate, mean, true, inside)


def standard_error(hits: int, draws: int) -> float:
    """Return the standard error of a share; not 0 if all or none were hits.

    >>> round(standard_error(60, 60), 3)
    0.022
    """
    share = (hits + 2) / (draws + 4)
    return sqrt(share * (1 - share) / (draws + 4))


def gets_there(problem: Problem, intent: Intent, position: Position, seed: int) -> bool:
    """Ask for an intent until it holds, or nothing changes any more."""
    holds, unchanged = intent.test(problem.vocabulary), 0
    for number in range(_MOST_REQUESTS):
        if holds(position.state) or unchanged == PATIENCE:
            break
        before = position.state
        _, position = pursue(problem, intent, position, child_seed(seed, number))
        unchanged = unchanged + 1 if position.state == before else 0
    return holds(position.state)


def table(checked: list[CheckedRate]) -> str:
    """List the capabilities whose rates are farthest off, and the means of all."""
    errors = {one: abs(one.stated - one.true) for one in checked if one.stated is not None}
    plain = [abs(one.measured - one.true) for one in errors]
    rows: list[list[object]] = [
        [one.intent, f"{one.stated:.2f}", f"{one.measured:.2f}", f"{one.true:.2f}", one.inside]
        for one in sorted(errors, key=lambda one: -errors[one])[:10]
    ]
    summary = (
        f"{len(errors)} of {len(checked)} capabilities have a rate: off by "
        f"{statistics.fmean(errors.values()):.3f} on average, plain frequencies by "
        f"{statistics.fmean(plain):.3f}; "
        f"{sum(one.inside for one in checked)} are inside their intervals"
    )
    head = ["asked for", "gets there", "plain frequencies", "true", "inside"]
    return f"{markdown_table(head, rows)}\n\n{summary}"


def main() -> None:
    run, problem = load(Path(sys.argv[1])), load_problem(sys.argv[2])
    states = int(sys.argv[3]) if len(sys.argv) > 3 else STATES
    print(table(list(check_rates(run, problem, states))))


if __name__ == "__main__":
    main()
