"""Evaluate a run: exact agreement where the truth is known, sampled agreement everywhere."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capscope.assessment.breakdown import breakdown_told
from capscope.assessment.reading import read_run
from capscope.data.dataset import Transition
from capscope.errors import RunError
from capscope.evaluation.truth import enumerate_truth
from capscope.evaluation.variational_distance import (
    AchievingOnly,
    achieving_truth,
    exact_distance,
    sampled_distance,
)
from capscope.model.capability_model import CapabilityModel
from capscope.seeds import child_seed
from capscope.symbolic import Intent
from capscope.world import Position, Problem
from capscope.world.attempt import pursue

_SHORTEST, _LONGEST = 10, 30  # capabilities in a sequence, as in the paper


def evaluate(
    path: Path,
    load: Callable[[str], Problem],
    sequences: int,
    seed: int,
    achieving_only: bool,
) -> dict[str, Any]:
    """Compare the pessimistic model of a run with the agent; JSON-ready."""
    reading = read_run(path)
    problem = load(reading.meta["identity"]["problem"])
    _require_same(problem, reading.meta["identity"], path)
    intents = reading.models.capabilities
    own_intents = bool(reading.meta["identity"]["settings"]["intents"])
    model: CapabilityModel = reading.models.pessimistic
    exact = pairs = None
    if problem.truth is not None:
        truth = enumerate_truth(problem.truth, intents if own_intents else None)
        pairs = len(truth.table)
        if achieving_only:
            truth = achieving_truth(truth, problem.vocabulary)
        exact = 1 - exact_distance(
            AchievingOnly(reading.models) if achieving_only else model, truth
        )
    sample = independent_sample(problem, intents, sequences, seed)
    if achieving_only:
        model = AchievingOnly(reading.models)
        sample = _achieving_sample(sample, model, intents)
    by_sample = sampled_distance(model, sample, intents)
    by_learner = sampled_distance(model, sample, intents, reading.dataset)
    return {
        "problem": reading.problem,
        "filter": "achieving only" if achieving_only else None,
        "model_agreement": exact,
        "model_agreement_sampled": None if by_sample is None else 1 - by_sample,
        "model_agreement_sampled_learned_weights": None if by_learner is None else 1 - by_learner,
        "pairs_tried": reading.models.pairs_tried,
        "pairs_reachable": pairs,
        "executions": reading.usage.executions,
        "simulator_steps": reading.usage.simulator_steps,
    }


def _require_same(problem: Problem, identity: dict[str, Any], path: Path) -> None:
    same = {
        "problem fingerprint": problem.fingerprint,
        "vocabulary": problem.vocabulary.fingerprint,
    }
    for name, value in same.items():
        if value != identity[name]:
            raise RunError(
                f"{path} was started with another {identity['problem']}: its {name} was "
                f"{identity[name]!r}, now {value!r}; evaluate it with what it was started with"
            )


def independent_sample(
    problem: Problem, intents: list[Intent], sequences: int, seed: int
) -> Counter[Transition]:
    """Execute random capability sequences from the initial state and count the transitions."""
    counts: Counter[Transition] = Counter()
    for sequence in range(sequences if intents else 0):
        rng = random.Random(child_seed(seed, sequence))
        with breakdown_told(problem, "when it was reset"):
            observation = problem.simulator.reset(child_seed(seed, sequence, 0))
            position = Position(observation, problem.abstraction(observation))
        for i in range(rng.randint(_SHORTEST, _LONGEST)):
            capability = rng.randrange(len(intents))
            before = position.state
            attempt_seed = child_seed(seed, sequence, 1, i)
            _, position = pursue(problem, intents[capability], position, attempt_seed)
            counts[Transition(before, capability, position.state)] += 1
    return counts


def _achieving_sample(
    sample: Counter[Transition], model: AchievingOnly, intents: list[Intent]
) -> Counter[Transition]:
    """Keep the transitions of pairs for which the filtered model still speaks."""
    return Counter(
        {t: n for t, n in sample.items() if model.predict(t.before, intents[t.capability])}
    )
