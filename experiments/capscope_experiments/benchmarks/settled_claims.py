"""How often is the claim of a settled run wrong? Simulated in six families of small worlds.

A world is a ring of 32 states (a Gray code over five propositions, so that effects are shared
between states) or a corridor, with three capabilities and a known distribution for each pair. A
settled run is wrong if it missed an outcome of probability above ε in a state that it saw, or if
the probabilities of a rule are farther than the precision from the truth, averaged over its
executions. Target: at most 5 % of the settled runs of each family.

For comparison, the last column has the runs in which some state is farther off than its rule says.
That is not claimed: a rule may mix states with different probabilities.

    python -m capscope_experiments.benchmarks.settled_claims [RUNS [FAMILY ...]]
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from capscope import Budget, Limits, Problem, Run, Settings, assess
from capscope.journal.run_meta import StopKind
from capscope.logic import Intent, State, Vocabulary
from capscope.model import OutcomeGroup, StateGraph
from capscope.problem.functions import FunctionAgent, FunctionWorld

CAPABILITIES = (Intent.parse("p"), Intent.parse("q"), Intent.parse("r"))
FORWARD, FIRST, SECOND = CAPABILITIES
_RING = tuple(i ^ (i >> 1) for i in range(32))
_CELLS = 30
_NAMES = ("p", "q", "r", "s", "t")

Outcomes = Mapping[State, float]
Table = dict[tuple[State, Intent], Outcomes]
"""The true distribution over the next state, for each pair."""
Family = Callable[[random.Random], Table]


def ring() -> Table:
    """Return a deterministic world: one capability goes round, the others flip a proposition."""
    follows = dict(zip(_RING, _RING[1:] + _RING[:1], strict=True))
    flips = {FORWARD: 0, FIRST: 0b00001, SECOND: 0b10000}
    return {
        (state, intent): {follows[state] if intent is FORWARD else state ^ flip: 1.0}
        for state in _RING
        for intent, flip in flips.items()
    }


def deterministic(rng: random.Random) -> Table:
    """Return a world in which some pairs do nothing and the others always do the same."""
    table = ring()
    for state in rng.sample(_RING, 12):
        table[state, SECOND] = {state: 1.0}
    return table


def rare_outcomes(rng: random.Random) -> Table:
    """Hide outcomes barely above ε in few pairs: mostly in one, sometimes in up to eight."""
    table = ring()
    for state, intent in rng.sample(sorted(table, key=str), rng.choice([1, 1, 1, 2, 4, 8])):
        (after,) = table[state, intent]
        q = rng.choice([0.101, 0.12, 0.15])
        table[state, intent] = {after: 1 - q, rng.choice(_without(state, after)): q}
    return table


def heterogeneous_odds(rng: random.Random) -> Table:
    """Give one rule two odds, and another odds that differ from state to state."""
    table = ring()
    for state in _RING:
        high = 0.9 if state & 0b00100 else 0.6
        table[state, FIRST] = {state ^ 0b00001: high, state: 1 - high}
        own = rng.uniform(0.5, 0.95)
        table[state, SECOND] = {state ^ 0b10000: own, state: 1 - own}
    return table


def near_even_chances(rng: random.Random) -> Table:
    """Let two outcomes of a capability be almost equally likely."""
    table = ring()
    first, second = rng.uniform(0.45, 0.55), rng.uniform(0.45, 0.55)
    for state in _RING:
        table[state, FIRST] = {state ^ 0b00001: first, state: 1 - first}
        table[state, SECOND] = {state ^ 0b10000: second, state ^ 0b01000: 1 - second}
    return table


def shared_effects(rng: random.Random) -> Table:
    """Let rules overlap: the same effects alone, in pairs and all three, with different odds."""
    table = ring()
    a, b, c = 0b00001, 0b00010, 0b00100
    mixes = [{a: 1.0}, {a: 0.7, b: 0.3}, {a: 0.85, c: 0.15}, {b: 0.5, c: 0.5}]
    mixes += [{a: 0.6, b: 0.25, c: 0.15}, {b: 0.88, 0: 0.12}]
    for state in _RING:
        table[state, FIRST] = {state ^ flip: p for flip, p in rng.choice(mixes).items()}
    return table


def corridors(rng: random.Random) -> Table:
    """Return a long chain: steps that may slip, a way back, and rare doors into a second chain."""
    table: Table = {}
    slip = rng.choice([0.0, 0.12, 0.3])
    doors = rng.sample(range(_CELLS), 3)
    for cell in range(2 * _CELLS):
        start = cell - cell % _CELLS
        further, back = min(cell + 1, start + _CELLS - 1), max(cell - 1, start)
        ahead: dict[State, float] = {further: 1 - slip}
        ahead[cell] = ahead.get(cell, 0.0) + slip
        table[cell, FORWARD] = {after: p for after, p in ahead.items() if p}
        table[cell, FIRST] = {back: 1.0}
        table[cell, SECOND] = {cell: 0.87, cell + _CELLS: 0.13} if cell in doors else {cell: 1.0}
    return table


FAMILIES: dict[str, Family] = {
    "rare outcomes in few pairs": rare_outcomes,
    "heterogeneous odds": heterogeneous_odds,
    "near-even chances": near_even_chances,
    "all deterministic": deterministic,
    "shared effects": shared_effects,
    "corridors": corridors,
}


def _without(state: State, after: State) -> list[State]:
    flips = (0, 0b00001, 0b00010, 0b00100, 0b01000, 0b10000)
    return [state ^ flip for flip in flips if state ^ flip != after]


@dataclass(frozen=True)
class SymbolicObservation:
    """An abstraction for a simulator that shows its symbolic state."""

    vocabulary: Vocabulary

    def __call__(self, observation: State) -> State:
        """Return what was observed."""
        return observation


def problem_of(name: str, table: Table) -> Problem:
    """Make a problem of a table: an attempt is one step, whatever the agent is asked."""
    width = max(len(_NAMES), max(state for state, _ in table).bit_length())
    samplers = {
        (state, str(intent)): (tuple(outcomes), tuple(outcomes.values()))
        for (state, intent), outcomes in table.items()
    }

    def step(state: State, action: str, rng: random.Random) -> State:
        outcomes, weights = samplers[state, action]
        return rng.choices(outcomes, weights)[0]

    return Problem(
        name,
        FunctionWorld(0, step, [str(intent) for intent in CAPABILITIES]),
        FunctionAgent(lambda state, intent, rng: str(intent)),
        SymbolicObservation(Vocabulary.of_atoms((*_NAMES, "u")[:width])),
        Limits(horizon=1),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run."""

    settled: bool
    missed: bool
    """Whether an outcome above ε of a state that was seen was never seen."""
    off: bool
    """Whether a rule is off by more than the precision, averaged over its executions."""
    state_off: bool
    """Whether a rule is off by more than the precision in one of its states."""
    executions: int

    @property
    def wrong(self) -> bool:
        """Whether the run is settled and its claim is false."""
        return self.settled and (self.missed or self.off)


def judge(run: Run, table: Table) -> Outcome:
    """Compare what a run claims with the truth."""
    settings, graph = run.identity.settings, run.graph
    errors = [
        (abs(average), worst)
        for capability in range(len(graph.capabilities))
        for group in graph.groups(capability)
        if len(group.effects) > 1
        for average, worst in _errors(graph, capability, group, table)
    ]
    return Outcome(
        run.stop_reason is not None and run.stop_reason.kind is StopKind.SETTLED,
        any(_missed(graph, table, settings.epsilon)),
        any(average > settings.precision for average, _ in errors),
        any(worst > settings.precision for _, worst in errors),
        run.usage.executions,
    )


def _missed(graph: StateGraph, table: Table, epsilon: float) -> Iterable[bool]:
    for state, node in graph.nodes.items():
        for intent, pair in zip(graph.capabilities, node.pairs, strict=True):
            if pair is not None:
                seen = {effect.apply(state) for effect in pair.counts}
                outcomes = table[state, intent].items()
                yield any(p > epsilon and after not in seen for after, p in outcomes)


def _errors(
    graph: StateGraph, capability: int, group: OutcomeGroup, table: Table
) -> Iterable[tuple[float, float]]:
    """Yield, for each outcome of a rule, the error of its average and that of its worst state."""
    intent = graph.capabilities[capability]
    drawn = {state: graph.nodes[state].pairs[capability] for state in group.states}
    for effect, claimed in group.distribution():
        truth = {state: table[state, intent].get(effect.apply(state), 0.0) for state in drawn}
        weighted = sum(pair.total * truth[state] for state, pair in drawn.items() if pair)
        worst = max(abs(claimed - p) for p in truth.values())
        yield claimed - weighted / group.total, worst


SETTINGS = Settings(intents=tuple(map(str, CAPABILITIES)))


def simulate(
    name: str, seed: int, settings: Settings = SETTINGS, budget: Budget | None = None
) -> Outcome:
    """Assess one world of a family until the run is settled."""
    table = FAMILIES[name](random.Random(seed))
    problem = problem_of(name, table)
    run = assess(problem, strategy="exhaustive", seed=seed, settings=settings, budget=budget)
    return judge(run, table)


def summary(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return one line about the runs of a family."""
    settled = [outcome for outcome in outcomes if outcome.settled]
    executions = statistics.mean(outcome.executions for outcome in outcomes)
    return (
        f"{name}: {len(settled)} of {len(outcomes)} runs settled, "
        f"{sum(outcome.wrong for outcome in settled)} wrong "
        f"({sum(outcome.missed for outcome in settled)} missed an outcome, "
        f"{sum(outcome.off for outcome in settled)} have a rule that is off), "
        f"{executions:,.0f} executions; in {sum(outcome.state_off for outcome in settled)} "
        "a single state is off"
    )


def main(arguments: Sequence[str]) -> None:
    runs = int(arguments[0]) if arguments else 100
    for name in arguments[1:] or FAMILIES:
        print(summary(name, [simulate(name, seed) for seed in range(runs)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
