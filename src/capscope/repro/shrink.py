"""The smallest position in which a symptom still happens: delta debugging by sequential tests.

First objects are left out, many at a time and then one by one, then elements of lists; at last
other values are replaced by those after a reset. A smaller position counts only if the symptom is
shown to happen there about as often, and if the request can still be achieved without it: otherwise
leaving out what the request needs would look like a failure of the agent.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from capscope.errors import CapscopeError
from capscope.logic import Effect, State
from capscope.problem import InvalidAction, Problem, Snapshot
from capscope.problem.actions import UnknownAction, WrittenAction, read_action
from capscope.problem.attempt import is_exit, observed_state
from capscope.repro.check import PositionTrials
from capscope.repro.json_state import (
    Entry,
    Place,
    differences,
    entries,
    read_tree,
    replaced,
    without,
    written_tree,
)
from capscope.repro.symptom import Symptom
from capscope.stats.beta import beta_quantile
from capscope.stats.sequential_test import SequentialTest

_ERROR = 0.05
_FEW_HITS, _ENOUGH_HITS = 5, 10
"""That a rate is measured by, before a position is shrunk and for its test."""
_MEASURED_BY = 400
"""Executions that measure a rate, at most."""
_RAREST = 0.01
_MOST_ACTIONS = 64
_SEEDS = 2
"""Of a sequence of actions, in a world with chance."""
T = TypeVar("T")


@dataclass(frozen=True)
class Measured:
    """How often a symptom happened in a position."""

    hits: int
    executions: int
    achieved: int
    made: Effect
    """All unwanted changes."""
    seconds: float

    @property
    def rate(self) -> float:
        """The relative frequency."""
        return self.hits / self.executions

    @property
    def low(self) -> float:
        """The lower 95 % bound of its rate, valid if a number of hits ended the executions."""
        if not self.hits:
            return 0.0
        return beta_quantile(_ERROR, self.hits, self.executions - self.hits + 1)


class Experiment:
    """Executions that look for a symptom, and their number."""

    def __init__(self, problem: Problem, symptom: Symptom, most: int, seed: int) -> None:
        self.problem, self.symptom = problem, symptom
        self.made, self._most, self._seed = 0, most, seed

    def shows(self, snapshot: Snapshot, rate: float) -> bool:
        """Return whether a symptom that had a rate is shown to happen in a position as well."""
        rate = max(round(rate, 2), _RAREST)
        test = SequentialTest(rate / 8, rate / 2, _ERROR)
        trials, verdict, hits, draws = self._trials(snapshot), None, 0, 0
        while verdict is None and self.made < self._most:
            hits += self.symptom.happened(trials.execution(self.made))
            self.made, draws = self.made + 1, draws + 1
            verdict = test.verdict(hits, draws)
        return bool(verdict)

    def measured(self, snapshot: Snapshot, hits: int = _ENOUGH_HITS) -> Measured:
        """Count how often the symptom happens, until that is often enough."""
        trials, begun, effect = self._trials(snapshot), time.perf_counter(), Effect(0, 0)
        seen = achieved = draws = 0
        while seen < hits and draws < _MEASURED_BY:
            made = trials.execution(self.made)
            self.made, draws = self.made + 1, draws + 1
            seen, achieved = seen + self.symptom.happened(made), achieved + made.achieved
            if self.symptom.unwanted is not None:
                effect = effect.joined(made.made(self.symptom.unwanted))
        return Measured(seen, draws, achieved, effect, time.perf_counter() - begun)

    def _trials(self, snapshot: Snapshot) -> PositionTrials:
        unwanted = self.symptom.unwanted
        words = self.problem.vocabulary
        about = () if unwanted is None else self.possible(snapshot).literals(words)
        return PositionTrials(self.problem, self.symptom.intent, snapshot, about, self._seed)

    def possible(self, snapshot: Snapshot) -> Effect:
        """Return the unwanted changes that can happen in a position."""
        bare = PositionTrials(self.problem, self.symptom.intent, snapshot)
        unwanted, state = self.symptom.unwanted or Effect(0, 0), bare.state
        undefined = getattr(bare.problem.abstraction, "undefined", 0)
        return Effect(unwanted.adds & ~state & ~undefined, unwanted.deletes & state & ~undefined)

    def spared(self, snapshot: Snapshot, known: Sequence[Sequence[WrittenAction]]) -> bool:
        """Return whether some actions achieve the request without the symptom.

        Args:
            snapshot: The position.
            known: Sequences of actions to try before each action that the simulator lists.
        """
        trials = PositionTrials(self.problem, self.symptom.intent, snapshot)
        listed = list(trials.problem.simulator.actions())[:_MOST_ACTIONS]
        return any(
            self._achieves(trials, sequence, seed)
            for sequence in (*known, *([action] for action in listed))
            for seed in range(_SEEDS)
        )

    def _achieves(self, trials: PositionTrials, sequence: Sequence[Any], seed: int) -> bool:
        problem, simulator = trials.problem, trials.problem.simulator
        state = observed_state(problem, simulator.restore(trials.snapshot, seed))
        states: list[State] = [state]
        try:
            for one in sequence:
                action = read_action(one, simulator.actions) if _is_written(one) else one
                states.append(observed_state(problem, simulator.step(action)))
        except (InvalidAction, UnknownAction):
            return False
        effect = Effect.between(state, states[-1])
        held = self.symptom.intent.holds(states[-1], problem.vocabulary)
        unwanted = self.symptom.unwanted is not None and self.symptom.shown_by(effect, failed=False)
        return held and not unwanted


def _is_written(action: Any) -> bool:
    return isinstance(action, dict | list | int | str | float)


def shrunk(
    experiment: Experiment,
    snapshot: Snapshot,
    reset: Snapshot,
    known: Sequence[Sequence[WrittenAction]],
) -> Snapshot:
    """Return a smaller position in which the symptom of an experiment still happens.

    Args:
        experiment: Makes the executions; when they are spent, the smallest position so far counts.
        snapshot: The position.
        reset: The position after a reset.
        known: Sequences of actions that achieved the request without the symptom.

    Returns:
        The position itself if it is not JSON, or if nothing can be left out.
    """
    tree = read_tree(snapshot)
    if tree is None or not experiment.spared(snapshot, known):
        return snapshot
    rate = experiment.measured(snapshot, _FEW_HITS).rate

    def still(smaller: Any) -> bool:
        written = written_tree(smaller)
        try:
            simulator = experiment.problem.simulator
            simulator.restore(written, 0)
            same = read_tree(simulator.snapshot()) == smaller
            return same and _still(experiment, written, rate, known)
        except BaseException as error:
            if not (isinstance(error, Exception) or is_exit(error)):
                raise
            return False  # the world or the agent cannot do without it

    named = set(experiment.symptom.intent.objects)
    others = [name for name in experiment.problem.vocabulary.objects if name not in named]
    tree = _without_objects(tree, others, still)
    tree = _without_elements(tree, still)
    tree = _as_after_reset(tree, read_tree(reset), still)
    return written_tree(tree)


def _still(
    experiment: Experiment,
    snapshot: Snapshot,
    rate: float,
    known: Sequence[Sequence[WrittenAction]],
) -> bool:
    symptom = experiment.symptom
    if symptom.unwanted is not None and experiment.possible(snapshot) == Effect(0, 0):
        return False
    return experiment.spared(snapshot, known) and experiment.shows(snapshot, rate)


def minimal(units: Sequence[T], still: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return units of which no one can be left out, leaving out many at a time first.

    Args:
        units: What may be needed.
        still: Returns whether some of them suffice.

    Returns:
        Units that suffice.

    >>> minimal(range(9), lambda kept: {2, 7} <= set(kept))
    [2, 7]
    """
    kept, size = list(units), len(units)
    while size:
        first = 0
        while first < len(kept):
            rest = kept[:first] + kept[first + size :]
            if still(rest):
                kept = rest
            else:
                first += size
        size //= 2
    return kept


def _without_objects(tree: Any, names: Sequence[str], still: Callable[[Any], bool]) -> Any:
    about = {name: list(_places(tree, name)) for name in names}
    mentioned = [name for name in names if about[name]]

    def rest(kept: Sequence[str]) -> Any:
        left_out = [name for name in mentioned if name not in set(kept)]
        return without(tree, [place for name in left_out for place in about[name]])

    return rest(minimal(mentioned, lambda kept: still(rest(kept))))


def _places(tree: Any, name: str) -> Iterator[Place]:
    """Yield the places of the entries about an object, outer ones only."""
    above: list[Place] = []
    for entry in entries(tree):
        inside = any(entry.place[: len(place)] == place for place in above)
        if not inside and entry.is_about(name):
            above.append(entry.place)
            yield entry.place


def _without_elements(tree: Any, still: Callable[[Any], bool]) -> Any:
    found = [entry for entry in entries(tree) if entry.removable]

    def rest(kept: Sequence[Entry]) -> Any:
        needed = [entry.place for entry in kept]
        return without(
            tree,
            [
                one.place
                for one in found
                if one not in kept
                and not any(place[: len(one.place)] == one.place for place in needed)
            ],
        )

    return rest(minimal(found, lambda kept: still(rest(kept))))


def _as_after_reset(tree: Any, reset: Any, still: Callable[[Any], bool]) -> Any:
    for place, value in list(differences(tree, reset)):
        changed = replaced(tree, place, value)
        if not isinstance(value, dict | list) and still(changed):
            tree = changed
    return tree


def repetitions(low: float, power: float) -> int:
    """Return how many executions show a symptom at least once with a probability.

    >>> repetitions(0.2, 0.99), repetitions(1.0, 0.99)
    (21, 1)
    """
    if low <= 0.0:
        raise CapscopeError("it did not happen again")
    return 1 if low >= 1.0 else math.ceil(math.log(1 - power) / math.log1p(-low))
