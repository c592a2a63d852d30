"""Let a peer learn the agent, and hold what it learned against the truth on the way."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from capscope.analysis.evaluation.truth import TrueModel
from capscope.analysis.evaluation.variational_distance import exact_distance, mean_total_variation
from capscope.errors import CapscopeError
from capscope.seeds import child_seed
from capscope.symbolic import Intent
from capscope.world import Problem
from capscope_experiments.baselines.aalpy.learned_mdp import LearnedMdp, MdpState
from capscope_experiments.baselines.aalpy.peer_run import PeerPoint, PeerRun, PeerSettings
from capscope_experiments.baselines.aalpy.system import AgentSystem, BudgetSpent

WORLD, LEARNER, INPUTS = range(3)
"""The places below a run's seed: the agent's world, AALpy's own chance, Alergia's inputs."""

See = Callable[[Iterable[MdpState]], None]
"""Shows the states of an MDP that a peer came up with."""
Learner = Callable[[AgentSystem, PeerSettings, See], str]
"""Asks the system, shows each MDP on the way and the last one, and says why it stopped."""


def learn_with_aalpy(
    problem: Problem, intents: Sequence[Intent], truth: TrueModel, settings: PeerSettings
) -> PeerRun:
    """Learn the agent of a problem by a method of AALpy.

    A run that a budget cuts has the model that was the last before it; none, if AALpy had none.
    """
    learn = _learner(settings.method)
    seed = child_seed(settings.seed, WORLD)
    limits = settings.max_executions, settings.max_seconds
    system = AgentSystem(problem, intents, seed, *limits)
    progress = Progress(system, truth)
    try:
        with _global_chance(child_seed(settings.seed, LEARNER)):
            stopped_because = learn(system, settings, progress.see)
    except BudgetSpent as spent:
        stopped_because = f"cut after {spent}"
    return PeerRun(problem.name, settings, progress.ended(), stopped_because)


class Progress:
    """The points of a run; the clock stands still while a model is compared with the truth."""

    def __init__(self, system: AgentSystem, truth: TrueModel) -> None:
        self._system = system
        self._truth = truth
        self._begun = time.perf_counter()
        self._model = LearnedMdp((), system.intents)
        self._points: list[PeerPoint] = []

    def see(self, states: Iterable[MdpState]) -> None:
        """Compare a model with the truth."""
        self._model = LearnedMdp(states, self._system.intents)
        self._compare()

    def ended(self) -> tuple[PeerPoint, ...]:
        """Return all points; the last is that of the last model, after all that was spent."""
        system = self._system
        spent = system.executions, system.resets
        if not self._points or (self._points[-1].executions, self._points[-1].resets) != spent:
            self._compare()
        return tuple(self._points)

    def _compare(self) -> None:
        now = time.perf_counter()
        system, model = self._system, self._model
        point = PeerPoint(
            executions=system.executions,
            resets=system.resets,
            simulator_steps=system.simulator_steps,
            seconds=now - self._begun,
            states=model.states,
            mean_tv=mean_total_variation(model, self._truth),
            agreement=1 - exact_distance(model, self._truth),
        )
        self._points.append(point)
        self._begun += time.perf_counter() - now


@contextmanager
def _global_chance(seed: int) -> Iterator[None]:
    # AALpy draws from the generator of the module `random`. Unseeded, no run could be repeated;
    # left seeded, whoever draws from it next would not be left to chance any more.
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def _learner(method: str) -> Learner:
    try:
        learners = import_module("capscope_experiments.baselines.aalpy.learners")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "aalpy":
            raise
        raise CapscopeError(
            f"{method} needs AALpy: pip install --editable '.[experiments]'"
        ) from error
    found: Learner = learners.LEARNERS[method]
    return found
