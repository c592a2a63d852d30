"""E3: do the predictions of a model hold for sequences of capabilities?

A route is grown along the model: from a state that was seen, a capability that the model can
achieve there, then a successor that it predicts, and so on. A capability whose intent holds already
is not chosen: it would test nothing. Nor is one that the model is unsure of, in the states in which
the agent may be by then: its doubt there may be as large as in a plan, and all doubts together must
leave `LEAST_EXPECTED`. If that leaves no route, there is none: a model that knows how little it
knows offers nothing. The agent then executes the route many times from that state. An execution is
consistent if the model gives every transition that happens a positive probability; one that leaves
the route is compared with the predictions for the states it does reach.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from capscope import load
from capscope.insight.evaluation.metrics import achieves
from capscope.insight.planning.mdp import MOST_DOUBT
from capscope.logic import Intent, State, Vocabulary
from capscope.model import CapabilityModel, LearnedModel
from capscope.problem import Position, Problem
from capscope.problem.attempt import pursue, report_simulator_errors
from capscope.problems import load_problem
from capscope.seeds import child_seed
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.result_rows import Row, grouped, write_rows
from capscope_experiments.saved_runs import snapshots_of
from capscope_experiments.table import markdown_table

LENGTH = 5
LEAST_EXPECTED = 0.8
"""A sequence is offered if the model expects at least this share of executions to be consistent."""
_SEED = 2_000_003
_TRIES_PER_ROUTE = 100  # many end too soon
_TEXT = """
For every run, {routes} sequences of {length} capabilities are sampled from its final model. Each
starts in a state that the run saw and continues with a capability whose intent does not hold yet
and that the model can achieve, then with a successor that it predicts. In the states that the agent
may have reached, the model's doubt may be at most {doubt:g}, and it must expect at least
{expected:.0%} of the executions of the whole sequence to be consistent. A model with more doubt
offers fewer sequences, or none. The agent executes each sequence {executions} times. An execution
is consistent if the model gave every transition that happened a positive probability; *expected* is
the rate that the doubt leaves. Mean ± one standard deviation over the sequences of all runs.
"""
_UNLIMITED_DOUBT = """
Rows without *expected* are from an earlier version, which did not limit the doubt.
"""


@dataclass(frozen=True)
class RouteCounts:
    """How many routes are grown, and how often each is executed."""

    routes: int = 100
    executions: int = 100


@dataclass(frozen=True)
class Route:
    """A state that was seen, and capabilities that the model can achieve one after another."""

    start: State
    intents: tuple[Intent, ...]
    expected: float = 1.0
    """How likely an execution is consistent, by the model's own doubt."""


@dataclass(frozen=True)
class Reachability:
    """For each route, the share of its executions that were consistent with the model."""

    shares: tuple[float, ...]
    expected: tuple[float, ...] = ()
    """And the share that the model expected."""

    @property
    def mean(self) -> float | None:
        """The mean over routes; None if there are none."""
        return _mean(self.shares)

    @property
    def deviation(self) -> float | None:
        """One standard deviation over routes; None if there are none."""
        return statistics.pstdev(self.shares) if self.shares else None


class RouteGrower:
    """Grows routes along a model; caches what can be achieved in each state."""

    def __init__(self, model: CapabilityModel, vocabulary: Vocabulary) -> None:
        self._model = model
        self._vocabulary = vocabulary
        self._achievable: dict[State, list[Intent]] = {}
        self._foreseen: dict[tuple[State, Intent], dict[State, float]] = {}

    def achievable(self, state: State) -> list[Intent]:
        """List the intents that do not hold in a state and that the model can achieve there."""
        found = self._achievable.get(state)
        if found is None:
            found = self._achievable[state] = [
                intent
                for intent in self._model.capabilities
                if not intent.holds(state, self._vocabulary)
                and achieves(self._model.predict(state, intent), intent, self._vocabulary)
            ]
        return found

    def foreseen(self, state: State, intent: Intent) -> dict[State, float]:
        """Return the predicted outcomes; what is missing to a sum of 1 is the doubt."""
        found = self._foreseen.get((state, intent))
        if found is None:
            prediction = self._model.predict(state, intent)
            sure = 1.0 - getattr(prediction, "doubt", 0.0)
            found = {after: share * sure for after, share in prediction.items() if share > 0.0}
            self._foreseen[state, intent] = found
        return found

    def follow(self, belief: Mapping[State, float], intent: Intent) -> dict[State, float] | None:
        """Return where the agent may be after one more capability; None if that is too unsure."""
        if isinstance(self._model, LearnedModel):
            self._model.anticipate(belief)
        after: dict[State, float] = {}
        for state, probability in belief.items():
            for end, share in self.foreseen(state, intent).items():
                after[end] = after.get(end, 0.0) + probability * share
        least = max((1.0 - MOST_DOUBT) * sum(belief.values()), LEAST_EXPECTED)
        return after if sum(after.values()) >= least else None

    def route(self, start: State, rng: random.Random) -> Route | None:
        """Grow a route from a state; None if it ends before its full length."""
        state, belief, intents = start, {start: 1.0}, []
        for _ in range(LENGTH):
            choices = self.achievable(state)
            for intent in rng.sample(choices, len(choices)):
                after = self.follow(belief, intent)
                if after is not None:
                    break
            else:
                return None
            intents.append(intent)
            belief = after
            prediction = self._model.predict(state, intent)
            state = rng.choices(list(prediction), list(prediction.values()))[0]
        return Route(start, tuple(intents), sum(belief.values()))

    def routes(self, states: Sequence[State], count: int, seed: int) -> Iterator[Route]:
        """Yield routes from states drawn uniformly; fewer if nearly all of them end too soon."""
        found = 0
        for attempt in range(count * _TRIES_PER_ROUTE if states else 0):
            rng = random.Random(child_seed(seed, attempt))
            route = self.route(rng.choice(states), rng)
            if route is not None:
                yield route
                found += 1
                if found == count:
                    return


def consistent_share(
    problem: Problem,
    model: CapabilityModel,
    route: Route,
    positions: Sequence[bytes],
    seeds: Iterable[int],
) -> float:
    """Execute a route once for each seed; return the share consistent with the model."""
    return statistics.fmean(_consistent(problem, model, route, positions, seed) for seed in seeds)


def _consistent(
    problem: Problem,
    model: CapabilityModel,
    route: Route,
    positions: Sequence[bytes],
    seed: int,
) -> bool:
    snapshot = random.Random(seed).choice(positions)
    with report_simulator_errors(problem, "when a position was restored"):
        observation = problem.simulator.restore(snapshot, seed)
        position = Position(observation, problem.abstraction(observation))
    for i, intent in enumerate(route.intents):
        prediction = model.predict(position.state, intent)
        _, position = pursue(problem, intent, position, child_seed(seed, i))
        if not prediction.get(position.state):
            return False
    return True


def reachability(
    problem: Problem,
    model: CapabilityModel,
    snapshots: Mapping[State, Sequence[bytes]],
    counts: RouteCounts,
    seed: int,
) -> Reachability:
    """Grow routes along a model and have the agent execute each of them many times."""
    grower = RouteGrower(model, problem.vocabulary)
    shares, expected = [], []
    for number, route in enumerate(grower.routes(list(snapshots), counts.routes, seed)):
        seeds = (child_seed(seed, number, draw) for draw in range(counts.executions))
        shares.append(consistent_share(problem, model, route, snapshots[route.start], seeds))
        expected.append(route.expected)
    return Reachability(tuple(shares), tuple(expected))


def check_run(path: Path, run: BenchRun, counts: RouteCounts) -> Reachability:
    """Test the final model of a run."""
    made = load(path)
    snapshots = snapshots_of(made)
    problem = load_problem(run.problem)
    return reachability(problem, made.model, snapshots, counts, _SEED)


def measure_reachability(bench: Bench, counts: RouteCounts | None = None) -> Section:
    """Test the final models of all strategies but Random Query."""
    counts = counts or RouteCounts()
    runs = bench.planned_runs()
    curves = dict(zip(runs, bench.curves(runs), strict=True))
    found: dict[BenchRun, Reachability] = bench.analyze(
        "reachability", runs, partial(check_run, counts=counts)
    )
    heads = [
        *("problem", "strategy", "seed", "sequences", "consistent", "deviation"),
        *("expected", "agreement"),
    ]
    measured = [
        [
            run.problem, run.strategy, run.seed, len(result.shares), result.mean,
            result.deviation, _mean(result.expected), curves[run].last.agreement,
        ]
        for run, result in found.items()
    ]  # fmt: skip
    rows = write_rows(bench, "reachability.csv", heads, measured)
    text = _TEXT.format(
        routes=counts.routes,
        length=LENGTH,
        executions=counts.executions,
        doubt=MOST_DOUBT,
        expected=LEAST_EXPECTED,
    )
    if any(int(row["sequences"]) and not row["expected"] for row in rows):
        text = f"{text.strip()}\n{_UNLIMITED_DOUBT}"
    body = f"{text.strip()}\n\n{_table(rows)}\n\nEvery run: [reachability.csv](reachability.csv)."
    return Section("E3: reachability", body, ("reachability.csv",))


def _table(rows: Sequence[Row]) -> str:
    lines: list[list[object]] = []
    for key, runs in grouped(rows).items():
        sequences = sum(int(run["sequences"]) for run in runs)
        consistent = "none offered"
        if sequences:
            consistent = "{:.1%} ± {:.1%}".format(*pooled_spread(runs))
        tested = [run for run in runs if run["expected"]]
        expected = f"{_weighted_mean(tested, 'expected'):.1%}" if tested else "–"
        offering = sum(run["sequences"] != "0" for run in runs)
        lines.append([*key, consistent, expected, sequences, offering, len(runs)])
    heads = [
        *("problem", "strategy", "consistent", "expected"),
        *("sequences", "runs offering any", "runs"),
    ]
    return markdown_table(heads, lines)


def pooled_spread(runs: Sequence[Row]) -> tuple[float, float]:
    """Return the mean and the standard deviation over the sequences of all runs.

    The variance is that within the runs, plus that between their means.
    """
    tested = [run for run in runs if int(run["sequences"])]
    mean = _weighted_mean(tested, "consistent")
    squares = sum(
        int(run["sequences"])
        * (float(run["deviation"]) ** 2 + (float(run["consistent"]) - mean) ** 2)
        for run in tested
    )
    return mean, math.sqrt(squares / sum(int(run["sequences"]) for run in tested))


def _weighted_mean(runs: Sequence[Row], column: str) -> float:
    counts = [int(run["sequences"]) for run in runs]
    return statistics.fmean([float(run[column]) for run in runs], counts)


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
