"""How well does a model generalize? To untried pairs, to larger worlds, with chance, and at scale.

    python -m capscope_experiments.benchmarks.generalization [--seeds N] [--most N] WHAT...

WHAT is one of
- `learn PROBLEM...`: the possible outcomes and probabilities after more and more executions, and
  how many it takes to the audit,
- `transfer SMALL LARGE`: what was learned about one instance, on pairs of a larger one,
- `probabilities PROBLEM...`: the stochastic pairs at the end of a run,
- `lamps N`: processor time and memory of a world with N lamps after 4 N executions,
- `mail N ROWS [OTHER]`: surprises in fresh executions, also with the model carried over to another
  number of mails.

Problems are named as in `capscope_experiments.worlds.source_of`.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice

import numpy as np

from capscope import Budget, Intent, Problem, Settings, Vocabulary, assess
from capscope.assessment import Event
from capscope.assessment.discovery import intents_of, random_walks
from capscope.insight.evaluation.metrics import compare, distance
from capscope.insight.evaluation.reference import Reference, TrueModel
from capscope.journal.execution_table import Transition
from capscope.logic import State
from capscope.model import CapabilityModel, LearnedModel, StateGraph
from capscope.problems import load_problem
from capscope_experiments.benchmarks.exact_agreement import (
    AGREEMENT,
    likely_truth,
    without_negligible,
)
from capscope_experiments.measure import NothingChanges, fidelity, total_variations
from capscope_experiments.worlds import source_of, tabulated

CHECKPOINTS = (
    25, 40, 60, 90, 120, 150, 200, 300, 450, 700, 1000, 1500, 2200, 3200, 4500, 6500, 10_000,
)  # fmt: skip
MOST = 1000
MOST_PAIRS = 15_000
"""All pairs are compared, or, of a world with more, those of this many states at random."""
SAMPLED_PAIRS = 2000
FRESH = 2000
LENGTH = 10
"""The requests of a sequence from the start."""


@dataclass(frozen=True)
class PlainRows:
    """The table of tried pairs: relative frequencies, and nothing about any other pair."""

    graph: StateGraph

    @property
    def capabilities(self) -> Sequence[Intent]:
        return self.graph.capabilities

    def predict(self, state: State, capability: Intent) -> dict[State, float]:
        pair = self.graph.pair(state, self.graph.index[capability])
        if pair is None:
            return {}
        return {effect.apply(state): n / pair.total for effect, n in pair.counts.items()}


@dataclass(frozen=True)
class Predictor:
    """A model carried over to another world, which knows every request."""

    capabilities: Sequence[Intent]
    model: CapabilityModel

    def predict(self, state: State, capability: Intent) -> Mapping[State, float]:
        return self.model.predict(state, capability)


def transferred(
    model: LearnedModel, vocabulary: Vocabulary, states: Sequence[State] = ()
) -> CapabilityModel:
    """Carry a model over to another instance of its predicates, to be asked about some states."""
    carried = model.transfer(vocabulary)
    carried.anticipate(states)
    return carried


def sampled(truth: TrueModel, most: int = MOST_PAIRS) -> TrueModel:
    """Keep the pairs of some states, drawn with a seed of their own, if there are too many."""
    states = random.Random(0).sample(truth.states, k=len(truth.states))
    states = states[: max(1, most // len(truth.capabilities))]
    kept = {(s, intent): truth.table[s, intent] for s in states for intent in truth.capabilities}
    return truth if len(truth.table) <= most else replace(truth, states=states, table=kept)


def walked_truth(problem: Problem, most: int = SAMPLED_PAIRS) -> TrueModel:
    """Return the truth about the pairs of random sequences from the start, for large worlds."""
    assert problem.truth is not None
    asked = tuple(map(Intent.parse, problem.intents))
    if not asked:
        effects, _ = random_walks(problem, Settings(), 0)
        asked = tuple(intents_of(effects, problem.vocabulary))
    table: dict[tuple[State, Intent], Mapping[State, float]] = {}
    for state, intent, _ in in_use(problem, asked, random.Random(0)):
        table[state, intent] = problem.truth.outcomes(state, intent)
        if len(table) == most:
            break
    states = list(dict.fromkeys(state for state, _ in table))
    return without_negligible(TrueModel(asked, states, table))


@dataclass
class Learning:
    """Listens to a run and evaluates its model at checkpoints."""

    truth: TrueModel
    vocabulary: Vocabulary
    seed: int
    lines: list[str] = field(default_factory=list)
    reached: int | None = None
    """The checkpoint at which the agreement was 0.99."""
    foreseen: int | None = None
    """The checkpoint at which 0.99 of the pairs had the right possible outcomes."""

    def __post_init__(self) -> None:
        self._reference = Reference.of_truth(self.truth, self.vocabulary)
        constant = NothingChanges(self.truth.capabilities)
        self._constant = 1 - (distance(compare(constant, self._reference)) or 0.0)
        self._began, self._evaluating = time.process_time(), 0.0

    def listen(self, event: Event) -> None:
        now = event.usage.executions
        if len(self.lines) == len(CHECKPOINTS) or now < CHECKPOINTS[len(self.lines)]:
            return
        before = time.process_time()
        spent = before - self._began - self._evaluating
        self.lines.append(self._evaluated(event.graph, now, spent))
        print(self.lines[-1], flush=True)
        self._evaluating += time.process_time() - before

    def _evaluated(self, graph: StateGraph, now: int, spent: float) -> str:
        compared = compare(LearnedModel.fitted(graph, self.seed), self._reference)
        rows = compare(PlainRows(graph), self._reference)
        agreement, right = 1 - (distance(compared) or 0.0), compared.right_pairs
        untried = np.array([_is_untried(graph, s, self.truth.capabilities[i])
                            for s, i, _ in self._reference.rows()], dtype=np.bool_)  # fmt: skip
        if agreement >= AGREEMENT:
            self.reached = self.reached or now
        if right.mean() >= AGREEMENT:
            self.foreseen = self.foreseen or now
        apart = f"{right[untried].mean():.3f} of {untried.sum():,}" if untried.any() else "none"
        return (
            f"  {now:6,}: agreement {agreement:.4f} (rows {1 - (distance(rows) or 0.0):.3f}, "
            f"constant {self._constant:.3f}), outcomes right {right.mean():.4f} "
            f"(rows {rows.right_pairs.mean():.3f}), untried in seen states {apart}; "
            f"{1000 * spent / now:.1f} ms an execution"
        )


def _is_untried(graph: StateGraph, state: State, intent: Intent) -> bool:
    capability = graph.index.get(intent)
    return capability is not None and state in graph.nodes and graph.pair(state, capability) is None


def learn(name: str, seed: int, most: int) -> str:
    """Evaluate a run without an audit at checkpoints; return how many executions it took."""
    source = source_of(name)
    problem = load_problem(source)
    truth = sampled(likely_truth(problem))
    print(f"{name} seed {seed}: {len(truth.table):,} pairs of {len(truth.states):,} states")
    curve = Learning(truth, problem.vocabulary, seed)
    budget = Budget(executions=most)
    assess(
        source, seed=seed, settings=Settings(audit=0.0), budget=budget, listener=curve.listen
    )  # fmt: skip
    audited = assess(source, seed=seed, budget=budget)
    ended = audited.stop_reason and audited.stop_reason.kind
    return (
        f"{name} seed {seed}: agreement {AGREEMENT} after {curve.reached or f'> {most:,}'}, "
        f"outcomes right after {curve.foreseen or f'> {most:,}'}; "
        f"{audited.usage.executions:,} executions to {ended}"
    )


def transfer(small: str, large: str, seed: int, most: int) -> str:
    """Evaluate the model of a small instance on pairs of a large one."""
    problem = load_problem(source_of(large))
    run = assess(source_of(small), seed=seed, budget=Budget(executions=most))
    described = f"{small} → {large} seed {seed}, {run.usage.executions:,} executions"
    truth = walked_truth(problem)
    model = transferred(run.model, problem.vocabulary, truth.states)
    reference = Reference.of_truth(truth, problem.vocabulary)
    compared = compare(Predictor(truth.capabilities, model), reference)
    constant = compare(NothingChanges(truth.capabilities), reference)
    return (
        f"{described}: agreement {1 - (distance(compared) or 0.0):.4f} "
        f"(constant {1 - (distance(constant) or 0.0):.3f}), outcomes right "
        f"{compared.right_pairs.mean():.4f} (constant {constant.right_pairs.mean():.3f}) of "
        f"{len(truth.table):,} pairs, {compared.silent.mean():.2%} without a prediction"
    )


def probabilities(name: str, seed: int, most: int) -> str:
    """Describe the stochastic pairs of the model at the end of a run."""
    source = source_of(name)
    problem = load_problem(source)
    truth = likely_truth(problem)
    run = assess(source, seed=seed, budget=Budget(executions=most))
    found = fidelity(run.model, truth)
    compared = compare(run.model, Reference.of_truth(truth, problem.vocabulary))
    apart = total_variations(compared)["stochastic_tv"] or 0.0
    several = np.bincount(compared.reference.pair) > 1
    right = compared.right_pairs[several].mean() if several.any() else 1.0
    return (
        f"{name} seed {seed}: {found.pairs:,} stochastic pairs, {found.close:.2%} within 0.05, "
        f"total variation {apart:.4f}, outcomes right {right:.2%}, {found.missing:.2%} lack a "
        f"likely one, {found.exceeding:.2%} have an impossible one; {run.usage.executions:,} "
        f"executions, {run.stop_reason and run.stop_reason.kind}"
    )


def lamps(number: int, seed: int) -> str:
    """Describe the cost of a world of lamps with four executions for each."""
    began = time.process_time()
    problem = tabulated.lamps(number)
    run = assess(problem, seed=seed, budget=Budget(executions=4 * number))
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{number} lamps seed {seed}: {run.usage.executions:,} executions, {spent:.1f} s of CPU, "
        f"{peak:.0f} MB at most"
    )


def mail(number: int, rows: int, seed: int, other: int | None = None) -> Iterator[str]:
    """Yield the surprises about a mail assistant, with the same and with another number of mails.

    The model is learned from as many requests in use, and from those that the strategy chooses.
    """
    problem = tabulated.forgetful_mail(number)
    asked = tuple(map(Intent.parse, problem.intents))
    rng = random.Random(f"rows {seed}")
    logged = StateGraph(problem.vocabulary, asked)
    logged.update(
        Counter(
            Transition(state, asked.index(intent), after)
            for state, intent, after in islice(in_use(problem, asked, rng), rows)
        )
    )
    run = assess(
        problem, seed=seed, settings=Settings(audit=0.0), budget=Budget(executions=rows)
    )  # fmt: skip
    models = {"rows in use": LearnedModel.fitted(logged, seed), "executions": run.model}
    for kind, model in models.items():
        described = f"{number} mails seed {seed}, {rows:,} {kind}"
        yield f"{described}: {surprises(model, problem, seed)}"
        if other is not None:
            more = tabulated.forgetful_mail(other)
            carried = transferred(model, more.vocabulary)
            yield f"{described}, with {other} mails: {surprises(carried, more, seed)}"


def in_use(
    problem: Problem, asked: Sequence[Intent], rng: random.Random
) -> Iterator[tuple[State, Intent, State]]:
    """Yield random requests in sequences from the start: state, request and state afterwards."""
    assert problem.truth is not None
    state = start = problem.abstraction(problem.simulator.reset(0))
    for execution in count():
        state = start if execution % LENGTH == 0 else state
        intent = rng.choice(asked)
        ends = problem.truth.outcomes(state, intent)
        after = rng.choices(list(ends), list(ends.values()))[0]
        yield state, intent, after
        state = after


def surprises(model: CapabilityModel, problem: Problem, seed: int) -> str:
    """Describe the fresh executions that the model did not predict."""
    unknown = wrong = 0
    asked = tuple(map(Intent.parse, problem.intents))
    fresh = [*islice(in_use(problem, asked, random.Random(f"fresh {seed}")), FRESH)]
    if isinstance(model, LearnedModel):
        model.anticipate(dict.fromkeys(state for state, _, _ in fresh))
    for state, intent, after in fresh:
        predicted = model.predict(state, intent)
        unknown += not predicted
        wrong += bool(predicted) and not predicted.get(after)
    return f"{(unknown + wrong) / FRESH:.2%} surprises, {unknown / FRESH:.2%} of unknown pairs"


def measure(what: str, arguments: Sequence[str], seed: int, most: int) -> Iterator[str]:
    """Yield the lines of one measurement with one seed."""
    match what, *arguments:
        case "learn", *names:
            yield from (learn(name, seed, most) for name in names)
        case "transfer", small, large:
            yield transfer(small, large, seed, most)
        case "probabilities", *names:
            yield from (probabilities(name, seed, most) for name in names)
        case "lamps", number:
            yield lamps(int(number), seed)
        case "mail", number, rows, *other:
            yield from mail(int(number), int(rows), seed, *map(int, other))
        case _:
            raise SystemExit(f"cannot measure {what} {' '.join(arguments)}; see the documentation")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what")
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--most", type=int, default=MOST, help="executions of a run")
    chosen = parser.parse_args()
    for seed in range(chosen.seeds):
        for line in measure(chosen.what, chosen.arguments, seed, chosen.most):
            print(line, flush=True)


if __name__ == "__main__":
    main()
