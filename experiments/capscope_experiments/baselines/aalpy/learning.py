"""Learn an agent with AALpy, and compare each model on the way with the truth."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from capscope.errors import CapscopeError
from capscope.insight.evaluation.reference import TrueModel
from capscope.logic import Intent
from capscope.problem import Problem
from capscope.seeds import child_seed
from capscope_experiments.baselines import BudgetSpent
from capscope_experiments.baselines.aalpy.learned_mdp import LearnedMdp, MdpState
from capscope_experiments.baselines.aalpy.peer_run import PeerPoint, PeerRun, PeerSettings
from capscope_experiments.baselines.aalpy.system import AgentSystem
from capscope_experiments.measure import exact_distance, mean_total_variation

WORLD, LEARNER, INPUTS = range(3)
"""Child seeds of a run: the simulator and agent, AALpy's own randomness, Alergia's inputs."""

Observe = Callable[[Iterable[MdpState]], None]
"""Called with the states of each MDP that was learned."""
Learner = Callable[[AgentSystem, PeerSettings, Observe], str]
"""Queries the system, passes on each MDP including the last, and returns why it stopped."""


def learn_with_aalpy(
    problem: Problem, intents: Sequence[Intent], truth: TrueModel, settings: PeerSettings
) -> PeerRun:
    """Learn the agent of a problem by a method of AALpy.

    A run cut by a budget has the last model before it, or none if there was none.
    """
    learn = _learner(settings.method)
    seed = child_seed(settings.seed, WORLD)
    limits = settings.max_executions, settings.max_seconds
    system = AgentSystem(problem, intents, seed, *limits)
    progress = PeerProgress(system, truth)
    try:
        with _seeded_global_generator(child_seed(settings.seed, LEARNER)):
            stopped_because = learn(system, settings, progress.observe)
    except BudgetSpent as spent:
        stopped_because = f"cut after {spent}"
    return PeerRun(problem.name, settings, progress.ended(), stopped_because)


class PeerProgress:
    """The points of a run; the time for comparing with the truth is not counted."""

    def __init__(self, system: AgentSystem, truth: TrueModel) -> None:
        self._system = system
        self._truth = truth
        self._begun = time.perf_counter()
        self._model = LearnedMdp((), system.intents)
        self._points: list[PeerPoint] = []

    def observe(self, states: Iterable[MdpState]) -> None:
        """Compare a model with the truth."""
        self._model = LearnedMdp(states, self._system.intents)
        self._compare()

    def ended(self) -> tuple[PeerPoint, ...]:
        """Return all points; the last is that of the last model, with everything spent."""
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
def _seeded_global_generator(seed: int) -> Iterator[None]:
    # AALpy uses the generator of the module `random`. Unseeded, no run could be repeated; left
    # seeded, it would affect later users of that generator.
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
