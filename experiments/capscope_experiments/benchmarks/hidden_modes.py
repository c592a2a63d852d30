"""Is the audit's statement true for a reader who resets afresh? Worlds with a mode drawn at reset.

One reset in ten leads to a mode that no predicate sees, and in which the agent ends elsewhere in a
part of the pairs. The run starts from the position of one reset, as is the default. Of each run,
both statements of the audit are compared with the exact truth over resets, modes and sequences,
for the model that was audited. Target: at most 5 % of the runs print a false one.

    python -m capscope_experiments.benchmarks.hidden_modes [RUNS] [EXECUTIONS]
"""

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from capscope import Budget, Intent, Limits, Problem, Run, Settings, assess
from capscope.insight.run_facts import initial_graph
from capscope.logic import State
from capscope.model import LearnedModel
from capscope_experiments.benchmarks.planted_deviations import random_world
from capscope_experiments.benchmarks.surprise_rate import mean_probability, surprise_rate
from capscope_experiments.benchmarks.tabulated_world import (
    OutcomeAgent,
    Outcomes,
    StateSimulator,
    SymbolicState,
)

HIDDEN = 0.1
"""The probability that a reset leads to the hidden mode."""
DEVIATING = (0.0, 0.05, 0.12, 0.2, 0.5)
"""The part of the pairs in which the agent ends elsewhere in the hidden mode; of each run one."""


class ModalSimulator(StateSimulator):
    """The bit above those of the state is the mode, which a reset draws."""

    def __init__(self, initial: State, bits: int) -> None:
        super().__init__(initial, bits + 1)
        self._hidden = 1 << bits

    def reset(self, seed: int) -> State:
        hidden = random.Random(seed).random() < HIDDEN
        self._state = self._initial | (self._hidden if hidden else 0)
        return self._state


class SeenPart(SymbolicState):
    """The abstraction: the state without the mode."""

    def __call__(self, observation: State) -> State:
        return observation & ((1 << len(self.vocabulary.atoms)) - 1)


class ModalWorld(NamedTuple):
    """A problem, and what its agent does in the usual and in the hidden mode."""

    problem: Problem
    modes: Sequence[tuple[float, Outcomes]]
    """With the probability of each mode."""
    intents: Sequence[Intent]
    initial: State


def modal_world(seed: int, deviating: float) -> ModalWorld:
    """Make a random world whose agent deviates in a part of the pairs in the hidden mode."""
    usual = random_world(seed)
    assert usual.truth is not None
    truth, vocabulary = usual.truth, usual.vocabulary
    states, intents = truth.reachable_states(), truth.intents()
    rng = random.Random(seed)
    elsewhere = {
        (state, intent): rng.choice([end for end in states if end not in ends])
        for state in states
        for intent in intents
        if rng.random() < deviating and len(ends := truth.outcomes(state, intent)) < len(states)
    }
    mode = 1 << len(vocabulary.atoms)

    def in_hidden_mode(state: State, intent: Intent) -> Mapping[State, float]:
        end = elsewhere.get((state, intent))
        return truth.outcomes(state, intent) if end is None else {end: 1.0}

    def outcomes(position: State, intent: Intent) -> Mapping[State, float]:
        hidden, state = position & mode, position & ~mode
        ends = (in_hidden_mode if hidden else truth.outcomes)(state, intent)
        return {end | hidden: share for end, share in ends.items()}

    problem = Problem(
        f"modal-{seed}",
        ModalSimulator(states[0], len(vocabulary.atoms)),
        OutcomeAgent(outcomes),
        SeenPart(vocabulary),
        Limits(horizon=1),
    )
    modes = (1.0 - HIDDEN, truth.outcomes), (HIDDEN, in_hidden_mode)
    return ModalWorld(problem, modes, intents, states[0])


class Checked(NamedTuple):
    """What a run stated, and what is true of fresh resets."""

    passed: bool
    executions: int
    surprises_at_most: float
    surprises: float
    probability_at_least: float
    probability: float

    @property
    def false_statements(self) -> tuple[bool, bool]:
        """Whether the statements about surprises and about probabilities are false."""
        return (
            self.surprises > self.surprises_at_most,
            self.probability < self.probability_at_least,
        )


def audited_model(run: Run) -> LearnedModel:
    """Return the model that was audited: it knows nothing that was recorded later."""
    assert run.audit is not None
    graph = initial_graph(run.meta, run.capabilities)
    graph.update(run.executions.first_queries(run.audit.since_query).transitions())
    return LearnedModel.fitted(graph, run.identity.seed)


def checked_run(world: ModalWorld, seed: int, executions: int) -> Checked | None:
    """Assess the agent of a world, and compare what its audit states; None without an audit."""
    settings = Settings(intents=tuple(map(str, world.intents)))
    run = assess(world.problem, seed=seed, settings=settings, budget=Budget(executions=executions))
    if run.audit is None:
        return None
    audit, model = run.audit, audited_model(run)
    true = {
        measure: sum(
            share * measure(model, outcomes, world.intents, world.initial, audit.length)
            for share, outcomes in world.modes
        )
        for measure in (surprise_rate, mean_probability)
    }
    return Checked(
        audit.passed,
        run.usage.executions,
        audit.rate if audit.passed else audit.bound,
        true[surprise_rate],
        audit.sharpness_bound,
        true[mean_probability],
    )


def measure(runs: int, executions: int) -> Iterator[str]:
    """Yield a line for each part of the pairs that deviates, and one for all runs."""
    made: list[Checked | None] = []
    for deviating in DEVIATING:
        seeds = range(len(made), len(made) + runs // len(DEVIATING))
        here = [checked_run(modal_world(seed, deviating), seed, executions) for seed in seeds]
        made += here
        yield f"{deviating:.0%} of the pairs deviate: {summary(here)}"
    yield f"all: {summary(made)}"


def summary(runs: Sequence[Checked | None]) -> str:
    """Count the claims and the false statements of some runs."""
    stated = [run for run in runs if run is not None]
    passed = [run for run in stated if run.passed]
    spent = sum(run.executions for run in passed) / max(len(passed), 1)
    false = [sum(wrong) for wrong in zip(*(run.false_statements for run in stated), strict=True)]
    surprises, probabilities = false or (0, 0)
    return (
        f"of {len(runs)} runs, {len(passed)} passed their audit after {spent:,.0f} executions and "
        f"{len(stated) - len(passed)} stopped in one; false statements about surprises: "
        f"{surprises}, about probabilities: {probabilities}"
    )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for line in measure(runs, int(sys.argv[2]) if len(sys.argv) > 2 else 4000):
        print(line, flush=True)


if __name__ == "__main__":
    main()
