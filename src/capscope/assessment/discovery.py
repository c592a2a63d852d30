"""Discover which intents to assess: everything seen to change, in every grounding.

A random walk of primitive actions shows which atoms can change. If `on(a,b)` became true once,
`on(b,a)` is likely to be possible as well, so each signed predicate seen in an effect gives an
intent for each of its groundings. The walk explores the simulator, not the agent: its steps are not
executions and are not recorded.
"""

import random
from collections.abc import Iterable, Iterator

from capscope.journal.settings import Settings
from capscope.logic import Effect, Intent, Literal, Vocabulary
from capscope.problem import Problem
from capscope.problem.attempt import observed_state, report_simulator_errors
from capscope.seeds import child_seed

_WALK = -1  # child of the run's seed; queries count from 0


def intents_of(effects: Iterable[Effect], vocabulary: Vocabulary) -> Iterator[Intent]:
    """Yield the intents for some effects, in a fixed order, each once."""
    adds = deletes = 0
    for effect in effects:
        adds |= effect.adds
        deletes |= effect.deletes
    for bits, positive in ((adds, True), (deletes, False)):
        seen = {atom.predicate for atom in vocabulary.holding(bits)}
        for predicate in vocabulary.predicates:
            if predicate.name in seen:
                for atom in vocabulary.groundings(predicate.name):
                    yield Intent.of([Literal(atom, positive)])


def random_walks(
    problem: Problem, settings: Settings, seed: int, most_steps: int | None = None
) -> tuple[list[Effect], int]:
    """Walk from the initial position; return the distinct effects seen and the steps taken."""
    simulator = problem.simulator
    effects: dict[Effect, None] = {}
    steps = 0
    with report_simulator_errors(problem, "on a random walk"):
        for walk in range(settings.walks):
            rng = random.Random(child_seed(seed, _WALK, walk))
            state = observed_state(problem, simulator.reset(child_seed(seed, _WALK, walk, 1)))
            for _ in range(settings.walk_steps):
                actions = simulator.actions()
                if not actions or steps == most_steps:
                    break
                action = actions[int(rng.random() * len(actions))]
                after = observed_state(problem, simulator.step(action))
                steps += 1
                if after != state:
                    effects[Effect.between(state, after)] = None
                state = after
    return list(effects), steps
