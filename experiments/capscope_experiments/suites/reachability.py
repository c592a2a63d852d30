"""E3: do the predictions of a model hold for sequences of capabilities?

A route is grown along the model: from a state that was seen, a capability that the model can
achieve there, then a successor that it predicts, and so on. As printed that is all, and the model
is the pessimistic one, which is the output of the paper's strategies. For these and all others,
routes are also grown with limited doubt, along the model that infers. A capability whose intent
holds already is not chosen then: it would test nothing. Nor is one that the model is unsure of, in
the states in which the agent may be by then: its doubt there may be as large as in a plan, and all
doubts together must leave `LEAST_EXPECTED`. If that leaves no route, there is none: a model that
knows how little it knows offers nothing. The agent then executes the route many times from that
state. An execution is consistent if the model gives every transition that happens a positive
probability; one that leaves the route is compared with the predictions for the states it does
reach.
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
from capscope.insight.planning.mdp import MOST_DOUBT
from capscope.logic import Intent, State, Vocabulary
from capscope.model import CapabilityModel, ExtremeModels, LearnedModel
from capscope.problem import Position, Problem
from capscope.problem.attempt import pursue, report_simulator_errors
from capscope.problems import load_problem
from capscope.seeds import child_seed
from capscope.strategy.registry import STRATEGIES
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.result_rows import Row, grouped, write_rows
from capscope_experiments.saved_runs import snapshots_of
from capscope_experiments.table import markdown_table
from capscope_experiments.variant import Variant

LENGTH = 5
LEAST_EXPECTED = 0.8
"""A sequence is offered if the model expects at least this share of executions to be consistent."""
SEED = 2_000_003
_TRIES_PER_ROUTE = 100  # many end too soon
_TEXT = """
For every run, {routes} sequences of {length} capabilities are sampled from its final model: from a
state that the run saw, a capability that the model can achieve, then a successor that it predicts.
*As printed*: the model is the table of tried pairs that MCQS returns, and an intent that holds
already counts as achievable, although it tests little. *Limited doubt*: the model is the one that
infers, and such intents are left out; its doubt may be at most {doubt:g} at each step, and it must
expect {expected:.0%} of the executions to be consistent, so that it may offer fewer sequences. The
agent executes each sequence {executions} times. An execution is consistent if the model gave every
transition that happened a positive probability; *expected* is the rate that the doubt leaves. Mean
± one standard deviation over the sequences of all runs.
"""
_EARLIER = """
Rows without *routes* are from an earlier version: those with *expected* limited the doubt, the
others left out only intents that hold already.
"""
AS_PRINTED, LIMITED_DOUBT = "as printed", "limited doubt"
"""How routes are grown."""


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

    def __init__(
        self, model: CapabilityModel, vocabulary: Vocabulary, as_printed: bool = False
    ) -> None:
        self._model = model
        self._vocabulary = vocabulary
        self._as_printed = as_printed
        self._achievable: dict[State, list[Intent]] = {}
        self._foreseen: dict[tuple[State, Intent], dict[State, float]] = {}

    def achievable(self, state: State) -> list[Intent]:
        """List the intents that the model can achieve in a state.

        Unless routes are grown as printed, intents that hold already are left out.
        """
        found = self._achievable.get(state)
        if found is None:
            found = self._achievable[state] = [
                intent
                for intent in self._model.capabilities
                if (self._as_printed or not intent.holds(state, self._vocabulary))
                and any(
                    intent.holds(after, self._vocabulary)
                    for after in self._model.predict(state, intent)
                )
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
        if self._as_printed:
            return after
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
    as_printed: bool = False,
) -> Reachability:
    """Grow routes along a model and have the agent execute each of them many times."""
    grower = RouteGrower(model, problem.vocabulary, as_printed)
    shares, expected = [], []
    for number, route in enumerate(grower.routes(list(snapshots), counts.routes, seed)):
        seeds = (child_seed(seed, number, draw) for draw in range(counts.executions))
        shares.append(consistent_share(problem, model, route, snapshots[route.start], seeds))
        expected.append(route.expected)
    return Reachability(tuple(shares), tuple(expected))


def check_run(path: Path, run: BenchRun, counts: RouteCounts) -> dict[str, Reachability]:
    """Test the final model of a run, by how routes are grown.

    A run as printed is tested as printed only: the model that infers is no part of the paper.
    """
    made = load(path)
    snapshots = snapshots_of(made)
    problem = load_problem(run.problem)
    found = {}
    if STRATEGIES.find(run.strategy).repeats_policy:
        table = ExtremeModels(made.graph).pessimistic
        found[AS_PRINTED] = reachability(problem, table, snapshots, counts, SEED, as_printed=True)
    if not Variant.parse(run.label).as_printed:
        found[LIMITED_DOUBT] = reachability(problem, made.model, snapshots, counts, SEED)
    return found


def measure_reachability(bench: Bench, counts: RouteCounts | None = None) -> Section:
    """Test the final models of all strategies but Random Query."""
    counts = counts or RouteCounts()
    runs = bench.planned_runs()
    found: dict[BenchRun, dict[str, Reachability]] = bench.analyze(
        "reachability", runs, partial(check_run, counts=counts)
    )
    heads = [
        *("problem", "strategy", "seed", "sequences", "consistent", "deviation"),
        *("expected", "routes"),
    ]
    measured = [
        [
            run.problem, run.label, run.seed, len(result.shares), result.mean, result.deviation,
            _mean(result.expected) if routes == LIMITED_DOUBT else None, routes,
        ]
        for run, results in found.items()
        for routes, result in results.items()
    ]  # fmt: skip
    rows = write_rows(bench, "reachability.csv", heads, measured)
    text = _TEXT.format(
        routes=counts.routes,
        length=LENGTH,
        executions=counts.executions,
        doubt=MOST_DOUBT,
        expected=LEAST_EXPECTED,
    )
    if any(not row["routes"] for row in rows):
        text = f"{text.strip()}\n{_EARLIER}"
    body = f"{text.strip()}\n\n{_table(rows)}\n\nEvery run: [reachability.csv](reachability.csv)."
    return Section("E3: reachability", body, ("reachability.csv",))


def _table(rows: Sequence[Row]) -> str:
    lines: list[list[object]] = []
    kinds = (AS_PRINTED, LIMITED_DOUBT, "")
    parts = ((*key, kind, own) for key, own in grouped(rows).items() for kind in kinds)
    for problem, strategy, kind, own in parts:
        runs = [run for run in own if run["routes"] == kind]
        if not runs:
            continue
        sequences = sum(int(run["sequences"]) for run in runs)
        consistent = "none offered"
        if sequences:
            consistent = "{:.1%} ± {:.1%}".format(*pooled_spread(runs))
        tested = [run for run in runs if run["expected"]]
        expected = f"{_weighted_mean(tested, 'expected'):.1%}" if tested else ""
        lines.append([problem, strategy, kind, consistent, expected, f"{sequences} ({len(runs)})"])
    heads = [
        *("problem", "strategy", "routes", "consistent", "expected", "sequences (runs)"),
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
