"""What does the assumption of pursuit cost if it is wrong? Agents with permuted intents.

Asked for an intent of one half of its capabilities, the agent pursues another one of that half. The
executions to 0.99 exact agreement are compared with those of the trees alone. Target: a ratio of at
most 1.2.

    python -m capscope_experiments.benchmarks.permuted_intents [SEEDS]
"""

import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from unittest import mock

from capscope import Intent, Problem
from capscope.logic import State
from capscope.model import LearnedModel, StateGraph
from capscope.model.lessons import Lessons
from capscope.problem import Agent, Attempting, KnownTruth
from capscope.problems import load_problem
from capscope.strategy import adaptive
from capscope_experiments.benchmarks.exact_agreement import agreement_curve

PROBLEMS = {"blocksworld": 4000, "tireworld": 4000, "first-responders": 8000}
"""With the executions after which a run is given up."""


class TreesOnly(LearnedModel):
    """A learned model without the expert for pursuit."""

    def __init__(self, graph: StateGraph, seed: int = 0, *, lessons: Lessons | None = None) -> None:
        super().__init__(graph, seed, pursuit=False, lessons=lessons)


@dataclass(frozen=True)
class PermutedAgent:
    """An agent that takes some intents for others."""

    agent: Agent
    heard: Mapping[Intent, Intent]

    def begin(self, intent: Intent, seed: int) -> Attempting:
        return self.agent.begin(self.heard.get(intent, intent), seed)


@dataclass(frozen=True)
class PermutedTruth:
    """The truth about such an agent."""

    truth: KnownTruth
    heard: Mapping[Intent, Intent]

    def reachable_states(self) -> Sequence[State]:
        return self.truth.reachable_states()

    def intents(self) -> Sequence[Intent]:
        return self.truth.intents()

    def outcomes(self, state: State, intent: Intent) -> Mapping[State, float]:
        return self.truth.outcomes(state, self.heard.get(intent, intent))


def permuted(problem: Problem, seed: int) -> Problem:
    """Permute a random half of the intents; none of them stays in its place."""
    assert problem.truth is not None
    intents = list(problem.truth.intents())
    half = random.Random(seed).sample(intents, len(intents) // 2)
    heard = dict(zip(half, half[1:] + half[:1], strict=True))
    return replace(
        problem,
        name=f"permuted-{problem.name}",
        agent=PermutedAgent(problem.agent, heard),
        truth=PermutedTruth(problem.truth, heard),
    )


def executions_needed(problem: Problem, model: type[LearnedModel], seed: int, most: int) -> int:
    """Return the executions to 0.99 exact agreement, or the most that may be spent."""
    with mock.patch.object(adaptive, "LearnedModel", model):
        return agreement_curve(problem, seed, most, model.fitted).reached or most


def measure(name: str, seeds: Sequence[int], most: int) -> str:
    """Compare both models on a problem."""
    needed: dict[str, list[int]] = {"with pursuit": [], "trees only": []}
    for seed in seeds:
        problem = permuted(load_problem(name), seed)
        for model, numbers in zip((LearnedModel, TreesOnly), needed.values(), strict=True):
            numbers.append(executions_needed(problem, model, seed, most))
    ratios = [a / b for a, b in zip(*needed.values(), strict=True)]
    return (
        f"{name}: executions to 0.99, {needed}; ratios {', '.join(f'{r:.2f}' for r in ratios)}, "
        f"geometric mean {statistics.geometric_mean(ratios):.2f} (target ≤ 1.2)"
    )


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for name, most in PROBLEMS.items():
        print(measure(name, range(seeds), most), flush=True)


if __name__ == "__main__":
    main()
