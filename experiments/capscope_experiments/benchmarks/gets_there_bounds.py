"""Do the intervals of *gets there* hold? Simulated chains whose every probability is known.

Each capability leads along a tree of eight states to its intent, and fails as the kind of the world
says, mostly for good. Pairs are tried a few times, and again whenever they showed something new.
The interval of each capability is compared with the truth.

    python -m capscope_experiments.benchmarks.gets_there_bounds [RUNS]
"""

import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from capscope.insight.repeated_requests import PATIENCE, persistences
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, State, Vocabulary
from capscope.model import LearnedModel, StateGraph
from capscope_experiments.table import markdown_table

STATES = 8
_DEAD = STATES
_ROUNDS = 300
Chain = Mapping[State, Mapping[State, float]]
"""For each state, where asking leads, with probabilities."""


class Failures(NamedTuple):
    """How often a capability fails in a state, and whether it then stays or is lost."""

    rate: Callable[[int, int, random.Random], float]
    """By the number of the capability, the place of the state in the tree, and chance."""
    stays: bool = False


KINDS = {
    "reliable": Failures(lambda capability, place, rng: 0.0),
    "one state of each fails with 0.1": Failures(lambda c, place, rng: 0.1 * (place == 4)),
    "the last state fails with 0.1": Failures(lambda c, place, rng: 0.1 * (place == 0)),
    "one capability fails with 0.3": Failures(lambda c, place, rng: 0.3 * (c == 0)),
    "slips with 0.2": Failures(lambda c, place, rng: 0.2, stays=True),
    "fails with 0.1": Failures(lambda c, place, rng: 0.1),
    "fails with 0.5": Failures(lambda c, place, rng: 0.5),
    "a quarter of the states fail with 0.5": Failures(
        lambda c, place, rng: rng.choice((0.0, 0.0, 0.0, 0.5))
    ),
    "each state differs": Failures(lambda c, place, rng: rng.betavariate(0.3, 1.0)),
}
SIZES = ((1, 3.0), (6, 1.3), (6, 3.0), (6, 10.0), (25, 1.2))
"""Numbers of capabilities, and mean executions of a pair."""


class Interval(NamedTuple):
    """What is said about a capability, and what is true."""

    low: float
    high: float
    truth: float

    @property
    def holds(self) -> bool:
        """Whether the truth is inside."""
        return self.low - 1e-6 <= self.truth <= self.high + 1e-6


def chain(failures: Failures, capability: int, goal: int, rng: random.Random) -> Chain:
    """Make the chain of one capability."""
    order = rng.sample(range(STATES), STATES)
    found: dict[State, Mapping[State, float]] = {}
    for place, state in enumerate(order):
        direct = place == 0 or rng.random() < 0.3
        forward = state | goal if direct else order[rng.randrange(place)]
        rate = failures.rate(capability, place, rng)
        ends = {forward: 1 - rate, (state if failures.stays else _DEAD): rate}
        found[state] = {end: share for end, share in ends.items() if share}
    return found


def true_rate(one: Chain, goal: int) -> float:
    """Return the mean over states of getting there, by following all paths."""
    values = dict.fromkeys(one, 0.0)
    for _ in range(_ROUNDS):
        values = {
            state: sum(ends.get(state, 0.0) ** k for k in range(PATIENCE))
            * sum(
                share * (1.0 if end & goal else values.get(end, 0.0))
                for end, share in ends.items()
                if end != state
            )
            for state, ends in one.items()
        }
    return statistics.fmean(values.values())


def intervals(
    failures: Failures, capabilities: int, executions: float, seed: int
) -> list[Interval]:
    """Try the pairs of one world, and return the interval of each capability."""
    rng = random.Random(seed)
    names = [f"p{i:02}" for i in range(capabilities)]
    words = Vocabulary.of_atoms(["a", "b", "c", "d", *names])
    goals = [2 * _DEAD << i for i in range(capabilities)]
    chains = [chain(failures, i, goal, rng) for i, goal in enumerate(goals)]
    seen: Counter[Transition] = Counter()
    for i, one in enumerate(chains):
        seen[Transition(_DEAD, i, _DEAD)] += 4
        for state, ends in one.items():
            left = int(executions) + (rng.random() < executions % 1)
            known: set[State] = set()
            while left:
                (end,) = rng.choices([*ends], [*ends.values()])
                left += 3 * (bool(known) and end not in known) - 1
                known.add(end)
                seen[Transition(state, i, end)] += 1
    graph = StateGraph(words, [Intent.parse(name) for name in names])
    graph.update(seen)
    everywhere = dict.fromkeys(range(STATES), 1)
    solved_chains = persistences(LearnedModel.fitted(graph)).values()
    return [
        Interval(*solved.interval(everywhere), true_rate(one, goal))
        for solved, one, goal in zip(solved_chains, chains, goals, strict=True)
    ]


def measure(runs: int) -> Iterator[list[object]]:
    """Yield a row for each kind and size, with about as many capabilities as `runs`."""
    for kind, failures in KINDS.items():
        for capabilities, executions in SIZES:
            seeds = range(max(2, runs // capabilities))
            found = [x for s in seeds for x in intervals(failures, capabilities, executions, s)]
            width = statistics.fmean(one.high - one.low for one in found)
            holds = statistics.fmean(one.holds for one in found)
            yield [kind, capabilities, executions, len(found), f"{width:.2f}", f"{holds:.3f}"]


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    head = ["world", "capabilities", "executions of a pair", "intervals", "mean width", "hold"]
    print(markdown_table(head, list(measure(runs))))


if __name__ == "__main__":
    main()
