"""Does the audit keep its error rate? Agents that deviate just above the claimed rate.

In small random worlds, the agent changes whenever an audit begins: in some pairs it ends where the
frozen model holds it impossible, so that the exact rate of surprises is 1.05 to 1.3 % while 1 % is
claimed. Deviations are spread over many pairs, or clustered in a few states. When the round is lost
the agent is as before, and other deviations await the next round. Target: at most 5 % of the
runs pass. Agents that do not deviate should pass.

    python -m capscope_experiments.benchmarks.planted_deviations [WORLDS]
"""

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from capscope import Budget, Intent, Predicate, Problem, Settings, Vocabulary, assess
from capscope.assessment import Event
from capscope.journal.run_meta import StopKind
from capscope.logic import State
from capscope.model import LearnedModel
from capscope_experiments.benchmarks.surprise_rate import scored_pairs, surprise_rate
from capscope_experiments.benchmarks.tabulated_world import (
    OutcomeAgent,
    Outcomes,
    tabulated_problem,
)

CLAIMED = 0.01
PLANTED = (0.0105, 0.013)
EXECUTIONS = 1500
Pair = tuple[State, Intent]


def random_world(seed: int) -> Problem:
    """Make a world of 20 to 60 states and 6 to 12 intents, one of them perhaps unreliable."""
    rng = random.Random(seed)
    atoms = [f"a{i}" for i in range(6)]
    vocabulary = Vocabulary([Predicate("holds", ("atom",))], dict.fromkeys(atoms, "atom"))
    states = rng.sample(range(2 ** len(atoms)), rng.randint(20, 60))
    signs = [f"{sign}holds({atom})" for atom in atoms for sign in ("", "not ")]
    intents = [Intent.parse(text) for text in sorted(rng.sample(signs, rng.randint(6, 12)))]
    # In some worlds one intent is unreliable, wherever it is asked for.
    succeeds = dict.fromkeys(intents, 1.0) | {rng.choice(intents): rng.choice((1.0, 1.0, 0.8))}
    table: dict[Pair, Mapping[State, float]] = {}
    for state in states:
        for intent, share in succeeds.items():
            there = [s for s in states if intent.holds(s, vocabulary)] or [state]
            # The nearest state in which the intent holds, and sometimes any other.
            end = min(there, key=lambda s: ((s ^ state).bit_count(), s))
            if rng.random() < 0.1:
                end = rng.choice(states)
            certain = share == 1.0 or end == state
            table[state, intent] = {end: 1.0} if certain else {end: share, state: 1.0 - share}
    return tabulated_problem(
        f"random-{seed}", vocabulary, states[0], intents, lambda s, i: table[s, i]
    )


class Deviation(NamedTuple):
    """Where a pair ends instead."""

    end: State
    probability: float


class DeviatingAgent:
    """Listens to a run and changes its agent while an audit is under way."""

    def __init__(self, problem: Problem, clustered: bool, seed: int) -> None:
        assert problem.truth is not None and isinstance(problem.agent, OutcomeAgent)
        self._agent = problem.agent
        self._usual: Outcomes = problem.truth.outcomes
        self._intents, self._states = problem.truth.intents(), problem.truth.reachable_states()
        self._clustered = clustered
        self._seed = seed
        self._rng = random.Random(seed)
        self._round = ""
        self.rates: list[float] = []
        """The exact rate of surprises in each round."""

    def listen(self, event: Event) -> None:
        number = event.status.get("audit", "").partition(",")[0]
        if number == self._round:
            return
        self._round = number
        # The model that is audited: fitting it again gives the same.
        self._agent.outcomes = (
            self._planted(LearnedModel.fitted(event.graph, self._seed)) if number else self._usual
        )

    def _planted(self, model: LearnedModel) -> Outcomes:
        """Plant deviations so that the rate of surprises is just above what is claimed."""
        length = Settings().audit_length
        target = self._rng.uniform(*PLANTED)
        ends = {pair: self._surprising(model, *pair) for pair in self._chosen(target, length)}
        low, high = 0.0, 1.0
        outcomes, rate = self._usual, 0.0
        for _ in range(12):
            middle = (low + high) / 2
            outcomes = self._deviating(
                {pair: Deviation(end, middle) for pair, end in ends.items() if end is not None}
            )
            rate = surprise_rate(model, outcomes, self._intents, self._states[0], length)
            low, high = (low, middle) if rate > target else (middle, high)
            if PLANTED[0] <= rate <= PLANTED[1]:
                break
        self.rates.append(rate)
        return outcomes

    def _chosen(self, target: float, length: int) -> Sequence[Pair]:
        """Choose pairs with twice the weight that is needed, or half of all pairs."""
        weights: dict[Pair, float] = {}
        for state, intent, weight in scored_pairs(
            self._usual, self._intents, self._states[0], length
        ):
            weights[state, intent] = weights.get((state, intent), 0.0) + weight
        if not self._clustered:
            return self._rng.sample(sorted(weights, key=str), len(weights) // 2)
        chosen: list[Pair] = []
        for state in self._rng.sample(self._states, len(self._states)):
            chosen += [pair for pair in weights if pair[0] == state]
            if sum(weights[pair] for pair in chosen) > 2 * target:
                break
        return chosen

    def _surprising(self, model: LearnedModel, state: State, intent: Intent) -> State | None:
        capability = model.graph.index[intent]
        ends = [s for s in self._states if not model.foresees(state, capability, s)]
        return self._rng.choice(ends) if ends else None

    def _deviating(self, deviations: Mapping[Pair, Deviation]) -> Outcomes:
        def outcomes(state: State, intent: Intent) -> Mapping[State, float]:
            usual = self._usual(state, intent)
            deviation = deviations.get((state, intent))
            if deviation is None:
                return usual
            mixed = {s: share * (1 - deviation.probability) for s, share in usual.items()}
            mixed[deviation.end] = mixed.get(deviation.end, 0.0) + deviation.probability
            return mixed

        return outcomes


class AuditedRun(NamedTuple):
    """How a run ended."""

    passed: bool
    executions: int
    rates: Sequence[float]


def audited_run(seed: int, clustered: bool, deviates: bool = True) -> AuditedRun:
    """Assess the agent of a random world, deviating in audits or not."""
    problem = random_world(seed)
    assert problem.truth is not None
    intents = tuple(map(str, problem.truth.intents()))
    deviating = DeviatingAgent(problem, clustered, seed)
    run = assess(
        problem,
        seed=seed,
        settings=Settings(intents=intents, audit=CLAIMED),
        budget=Budget(executions=EXECUTIONS),
        listener=deviating.listen if deviates else lambda event: None,
    )
    passed = run.stop_reason is not None and run.stop_reason.kind is StopKind.AUDITED
    return AuditedRun(passed, run.usage.executions, deviating.rates)


def measure(worlds: int) -> Iterator[str]:
    """Yield a line for each way to deviate, and one for agents that do not."""
    half = worlds // 2
    for name, seeds, clustered in (
        ("spread", range(half), False),
        ("clustered", range(half, worlds), True),
    ):
        runs = [audited_run(seed, clustered) for seed in seeds]
        rates = [rate for run in runs for rate in run.rates] or [0.0]
        passed = [seed for seed, run in zip(seeds, runs, strict=True) if run.passed]
        yield (
            f"{name}: {len(passed)} of {len(runs)} worlds pass {passed}; {len(rates)} rounds with "
            f"rates of {100 * min(rates):.2f} to {100 * max(rates):.2f} %"
        )
    runs = [audited_run(seed, False, deviates=False) for seed in range(max(worlds // 10, 1))]
    spent = sum(run.executions for run in runs) / len(runs)
    number = sum(run.passed for run in runs)
    yield f"no deviations: {number} of {len(runs)} worlds pass, after {spent:.0f} executions"


def main() -> None:
    for line in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 200):
        print(line, flush=True)


if __name__ == "__main__":
    main()
