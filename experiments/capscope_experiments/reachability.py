"""E3: do the predictions of a model hold when capabilities follow one another?

A sequence of capabilities is grown along the model: from a state that was seen, one of the
capabilities that the model says can be achieved there, then a successor that it predicts, and so
on. A capability whose intent holds already is not among them: asking for it would test nothing. The
agent then executes the sequence many times from that state. An execution is consistent while the
model gives every transition that happens a positive probability; one that leaves the states it was
grown along is judged by what the model says of the states it does meet.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from capscope.analysis.evaluation.variational_distance import achieves
from capscope.assessment.simulator_errors import report_simulator_errors
from capscope.model import CapabilityModel
from capscope.model.capability_model import sample
from capscope.seeds import child_seed
from capscope.symbolic import Intent, State, Vocabulary
from capscope.world import Position, Problem
from capscope.world.attempt import pursue

LENGTH = 5
_MOST_TRIES = 100  # for each route that is asked for: dead ends may be many


@dataclass(frozen=True)
class Size:
    """How many routes are grown, and how often each is executed."""

    routes: int = 100
    executions: int = 100


@dataclass(frozen=True)
class Route:
    """A state that was seen, and capabilities that the model says can be achieved in turn."""

    start: State
    intents: tuple[Intent, ...]


@dataclass(frozen=True)
class Reachability:
    """For each route the share of its executions that the model was consistent with."""

    shares: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        """The mean over routes; None where there is none."""
        return statistics.fmean(self.shares) if self.shares else None

    @property
    def deviation(self) -> float | None:
        """One standard deviation over routes; None where there is none."""
        return statistics.pstdev(self.shares) if self.shares else None


class Atlas:
    """What a model says can be achieved in each state, worked out once."""

    def __init__(self, model: CapabilityModel, vocabulary: Vocabulary) -> None:
        self._model = model
        self._vocabulary = vocabulary
        self._known: dict[State, list[Intent]] = {}

    def achievable(self, state: State) -> list[Intent]:
        """List the intents that do not hold in a state and that the model can achieve there."""
        found = self._known.get(state)
        if found is None:
            found = self._known[state] = [
                intent
                for intent in self._model.capabilities
                if not intent.holds(state, self._vocabulary)
                and achieves(self._model.predict(state, intent), intent, self._vocabulary)
            ]
        return found

    def route(self, start: State, rng: random.Random) -> Route | None:
        """Grow a route from a state; None if it ends before its full length."""
        state, intents = start, []
        for _ in range(LENGTH):
            choices = self.achievable(state)
            if not choices:
                return None
            intents.append(rng.choice(choices))
            after = sample(self._model.predict(state, intents[-1]), rng)
            assert after is not None, "an achievable intent has a predicted successor"
            state = after
        return Route(start, tuple(intents))

    def routes(self, states: Sequence[State], count: int, seed: int) -> Iterator[Route]:
        """Yield routes from states drawn evenly; fewer if nearly all of them end too soon."""
        found = 0
        for attempt in range(count * _MOST_TRIES if states else 0):
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
    """Execute a route once for each seed; return the share that the model was consistent with."""
    outcomes = [_consistent(problem, model, route, positions, seed) for seed in seeds]
    return statistics.fmean(outcomes)


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
    size: Size,
    seed: int,
) -> Reachability:
    """Grow routes along a model and have the agent execute each of them many times."""
    atlas = Atlas(model, problem.vocabulary)
    shares = []
    for number, route in enumerate(atlas.routes(list(snapshots), size.routes, seed)):
        seeds = (child_seed(seed, number, draw) for draw in range(size.executions))
        shares.append(consistent_share(problem, model, route, snapshots[route.start], seeds))
    return Reachability(tuple(shares))
