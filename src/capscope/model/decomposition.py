"""Take effects apart into cores and independent parts, and put predictions together again.

What remains of an effect without its parts (`parts`) is its core. A prediction is the distribution
over cores times that of each part that is possible beside a core.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from capscope.journal.execution_table import Transition
from capscope.logic import Effect, Intent, LiteralTest, State, Vocabulary
from capscope.model.outcome_types import GRID, NO_CHANGE, OddsPooling
from capscope.model.parts import (
    INTENT,
    REQUEST,
    Binding,
    Part,
    PartCondition,
    PartInstance,
    PartRate,
    Shown,
    Trials,
    bound,
    instances,
    joined_with,
    renamed,
    split,
)
from capscope.model.state_graph import PairStats, StateGraph

_NEGLIGIBLE = 1e-4
_MOST_OUTCOMES = 300


class PartTrial(NamedTuple):
    """What decides whether a part happens: a rate, for one instance or for a choice."""

    part: int
    leaf: int
    objects: tuple[str, ...]


class _Outcome(NamedTuple):
    """An effect of a pair, taken apart."""

    times: int
    alone: bool
    """Whether only parts happened."""
    nothing: bool
    """Whether not even a part happened."""
    trials: tuple[tuple[PartTrial, bool], ...]
    """What decided about each part, and whether it happened."""


IdleLeaf = tuple[int, int]
"""The number of a part, and that of a rate of being idle."""


class Decomposition:
    """The parts of a model: takes effects apart and puts predictions together."""

    def __init__(self, graph: StateGraph, parts: Sequence[Part] = ()) -> None:
        self.parts = tuple(parts)
        self._vocabulary = graph.vocabulary
        self._capabilities = graph.capabilities
        self._instances = [instances(part, self._vocabulary) for part in self.parts]
        self._requests: list[tuple[Binding, LiteralTest]] = []
        self._pairs: dict[tuple[State, int], PairStats] = {}
        self._tests: dict[tuple[object, ...], tuple[LiteralTest, ...]] = {}

    def request(self, capability: int) -> tuple[Binding, LiteralTest]:
        """Return the objects of a request by variable, and the literals that it is about."""
        for intent in self._capabilities[len(self._requests) :]:
            self._requests.append(_request(intent, self._vocabulary))
        return self._requests[capability]

    def core(self, state: State, capability: int, effect: Effect) -> Effect:
        """Return what remains of an effect without its parts."""
        own = self.request(capability)[1]
        for part, every in zip(self.parts, self._instances, strict=True):
            _, effect = split(part.choice, every, state, own, effect)
        return effect

    def pair(self, state: State, capability: int, pair: PairStats) -> PairStats:
        """Return the counts of a pair's cores."""
        if not self.parts:
            return pair
        known = self._pairs.get((state, capability))
        if known is None or known.total != pair.total:
            known = self._pairs[state, capability] = PairStats()
            known.total = pair.total
            for effect, times in pair.counts.items():
                core = self.core(state, capability, effect)
                known.counts[core] = known.counts.get(core, 0) + times
        return known

    def of_cores(self, graph: StateGraph) -> StateGraph:
        """Return a graph with the cores of all effects in their place."""
        if not self.parts:
            return graph
        cores = StateGraph(graph.vocabulary, graph.capabilities)
        for state, capability, pair in tried(graph):
            counts = self.pair(state, capability, pair).counts
            cores.update({
                Transition(state, capability, core.apply(state)): n for core, n in counts.items()
            })  # fmt: skip
        return cores

    def spread(
        self,
        state: State,
        capability: int,
        cores: Mapping[State, float],
        pair: PairStats | None = None,
    ) -> dict[State, float]:
        """Put cores and parts together.

        Args:
            state: The state before.
            capability: The number of the request.
            cores: The distribution over states if no part happened.
            pair: What the pair has shown, if it was tried.

        Returns:
            The distribution over states.
        """
        if not self.parts:
            return dict(cores)
        shown = {} if pair is None else self._shown(state, capability, pair)
        total: dict[State, float] = {}
        for after, share in cores.items():
            ends = self._beside(state, capability, after, shown)
            if after == state and len(ends) > 1 and self._goes_on:
                idle = self._idle(state, capability, pair)
                changes = 1.0 - ends.pop(state, 0.0)
                ends = {end: (1.0 - idle) * p / changes for end, p in ends.items()}
                ends |= {state: idle} if idle else {}
            for end, chance in ends.items():
                total[end] = total.get(end, 0.0) + share * chance
        kept = _likeliest(total)
        whole = sum(kept.values()) / (sum(cores.values()) or 1.0)
        return {end: share / whole for end, share in kept.items()}

    @property
    def _goes_on(self) -> bool:
        """Return whether executions without any change go on."""
        return any(part.idle for part in self.parts)

    def _idle(self, state: State, capability: int, pair: PairStats | None) -> float:
        """Return the probability that nothing changes where parts could, and nothing else does."""
        rates = [rate.probability for _, rate in self._idle_rates(state, capability)]
        cores = {} if pair is None else self.pair(state, capability, pair).counts
        drawn = cores.get(NO_CHANGE, 0)
        if pair is None or not drawn:
            return min(rates)
        own = pair.counts.get(NO_CHANGE, 0)
        odds = {True: min(rates), False: 1.0 - min(rates)}
        return OddsPooling().odds_of({True: own, False: drawn - own}, odds)[True]

    def _idle_rates(self, state: State, capability: int) -> list[tuple[IdleLeaf, PartRate]]:
        """Return how often nothing changes for each part of executions that go on."""
        joined = joined_with(state, NO_CHANGE, len(self._vocabulary.atoms))
        binding = self.request(capability)[0]
        leaves = [
            (number, self.leaf(part.idle, joined, binding))
            for number, part in enumerate(self.parts)
            if part.idle
        ]
        return [(one, self.parts[one[0]].idle[one[1]]) for one in leaves]

    def _beside(
        self, state: State, capability: int, after: State, shown: Mapping[PartTrial, Shown]
    ) -> dict[State, float]:
        """Return the distribution beside one core, that which leads to `after`."""
        core = Effect.between(state, after)
        ends = {after: 1.0}
        for number, part in enumerate(self.parts):
            likely = self._likely(number, state, capability, core, shown)
            if part.choice and likely:
                ends = _times(ends, [*likely, (NO_CHANGE, 1.0 - sum(p for _, p in likely))])
            elif not part.choice:
                for change, p in likely:
                    ends = _times(ends, [(change, p), (NO_CHANGE, 1.0 - p)])
        return ends

    def _likely(
        self,
        number: int,
        state: State,
        capability: int,
        core: Effect,
        shown: Mapping[PartTrial, Shown],
    ) -> list[tuple[Effect, float]]:
        """Return the changes that a part may add to a core, each with its probability."""
        part = self.parts[number]
        possible, trials = self._trials(number, state, capability, core)
        rates = [part.rates[trial.leaf].of(*shown.get(trial, (0, 0))) for trial in trials]
        if part.choice:
            weights = dict(part.preferences)
            given = [weights.get(one.objects, 1.0) for one in possible]
            rates = [rates[0] * weight / sum(given) for weight in given]
        return [(one.whole, p) for one, p in zip(possible, rates, strict=True) if p > 0.0]

    def _trials(
        self, number: int, state: State, capability: int, core: Effect
    ) -> tuple[list[PartInstance], list[PartTrial]]:
        """Return the instances that are possible beside a core, and what decides about each."""
        part, (binding, own) = self.parts[number], self.request(capability)
        joined = joined_with(state, core, len(self._vocabulary.atoms))
        possible = [one for one in self._instances[number] if one.possible(state, own, core)]
        if not part.choice:
            return possible, [
                PartTrial(number, self.leaf(part.rates, joined, bound(one, binding)), one.objects)
                for one in possible
            ]
        objects_of = [(one, bound(one, binding)) for one in possible]
        possible = [
            one
            for one, objects in objects_of
            if all(self._holds(c, joined, objects) == held for c, held in part.among)
        ]
        # One choice decides about all of them.
        return possible, [PartTrial(number, self.leaf(part.rates, joined, binding), ())] * bool(
            possible
        )

    def _shown(self, state: State, capability: int, pair: PairStats) -> dict[PartTrial, Shown]:
        """Return how often each part happened in a pair, and could have."""
        shown: dict[PartTrial, Shown] = {}
        for one in self._outcomes(state, capability, pair):
            rounds = self._rounds(one)
            for trial, hit in one.trials:
                happened, draws = shown.get(trial, (0, 0))
                of_part = rounds if self.parts[trial.part].idle else 1.0
                shown[trial] = happened + hit * one.times, draws + round(of_part * one.times)
        return shown

    def _outcomes(self, state: State, capability: int, pair: PairStats) -> Iterator[_Outcome]:
        """Yield the effects of a pair, each with the parts that happened and could have."""
        own = self.request(capability)[1]
        for effect, times in pair.counts.items():
            core = self.core(state, capability, effect)
            left, trials = effect, []
            for number, part in enumerate(self.parts):
                hits, left = split(part.choice, self._instances[number], state, own, left)
                changed = {one.objects for one in hits}
                for trial in self._trials(number, state, capability, core)[1]:
                    hit = trial.objects in changed or (part.choice and bool(hits))
                    trials.append((trial, hit))
            yield _Outcome(times, core == NO_CHANGE, effect == NO_CHANGE, tuple(trials))

    def _rate_of(self, trial: PartTrial) -> float:
        return self.parts[trial.part].rates[trial.leaf].probability

    def _rounds(self, outcome: _Outcome) -> float:
        """Return how many rounds an execution had that may have gone on; 0 if it was idle."""
        rates = [self._rate_of(t) for t, _ in outcome.trials if self.parts[t.part].idle]
        if not outcome.alone or not any(rates):
            return 1.0
        return 0.0 if outcome.nothing else 1.0 / (1.0 - math.prod(1.0 - p for p in rates))

    def leaf(self, rates: Sequence[PartRate], joined: int, binding: Binding) -> int:
        """Return the number of the rate that holds for a state with its core."""
        for number, rate in enumerate(rates):
            if all(self._holds(c, joined, binding) == held for c, held in rate.condition):
                return number
        raise AssertionError("the conditions of the rates are exhaustive")

    def _holds(self, condition: PartCondition, joined: int, binding: Binding) -> bool:
        return sum(test(joined) for test in self.tests(condition, binding)) >= condition.least

    def tests(self, condition: PartCondition, binding: Binding) -> tuple[LiteralTest, ...]:
        """Return the tests of a condition for some objects; made on first use."""
        key = (condition, *map(binding.get, condition.variables))
        tests = self._tests.get(key)
        if tests is None:
            tests = self._tests[key] = condition.tests(binding, self._vocabulary)
        return tests

    def allows(self, state: State, capability: int, end: State, after: State) -> bool:
        """Return whether a core that leads to `end` leads to `after` together with some parts."""
        core = Effect.between(state, end)
        effect = Effect.between(state, after)
        own = self.request(capability)[1]
        for number, part in enumerate(self.parts):
            hits, effect = split(part.choice, self._instances[number], state, own, effect)
            possible = {change for change, _ in self._likely(number, state, capability, core, {})}
            if any(hit.whole not in possible for hit in hits):
                return False
        return effect == core

    def recounted(self, graph: StateGraph) -> Decomposition:
        """Return the same parts with the numbers of another graph; what is possible stays."""
        if not self.parts:
            return Decomposition(graph)
        by_round = self._by_round(graph) if self._goes_on and graph.pairs_tried else self
        shown: dict[tuple[int, int], list[Shown]] = defaultdict(list)
        happened: Counter[int] = Counter()
        executions: Counter[int] = Counter()
        for state, capability, pair in tried(graph):
            for trial, counts in by_round._shown(state, capability, pair).items():
                shown[trial.part, trial.leaf].append(counts)
            for one in self._outcomes(state, capability, pair):
                executions.update(dict.fromkeys((t.part for t, _ in one.trials), one.times))
                for trial, hit in one.trials:
                    happened[trial.part] += hit * one.times
        parts = [
            replace(
                part,
                rates=tuple(
                    _rate(r, shown[i, leaf], part.earlier[leaf] if part.earlier else (0, 0))
                    for leaf, r in enumerate(part.rates)
                ),
                occurrences=happened[i],
                executions=executions[i],
            )
            for i, part in enumerate(by_round.parts)
        ]
        return Decomposition(graph, parts)

    def _by_round(self, graph: StateGraph) -> Decomposition:
        """Return the same parts with the rates by round that explain another graph best."""
        leaves: dict[tuple[int, int], int] = {}
        rows: list[tuple[int, int, int]] = []
        outcomes: list[tuple[int, bool]] = []
        stays: Counter[tuple[IdleLeaf, bool]] = Counter()
        for state, capability, pair in tried(graph):
            for one in self._outcomes(state, capability, pair):
                if one.alone and one.trials:
                    for idle, _ in self._idle_rates(state, capability):
                        stays[idle, one.nothing] += one.times
                for trial, hit in one.trials:
                    number = leaves.setdefault((trial.part, trial.leaf), len(leaves))
                    if self.parts[trial.part].idle:
                        rows.append((len(outcomes), hit * one.times, number))
                outcomes.append((one.times * (not (one.alone and one.nothing)), one.alone))
        of, happened, leaf = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        times, went_on = (np.array(column) for column in zip(*outcomes, strict=True))
        _, rounds = Trials(of, happened, times, went_on).rates(leaf)
        draws = np.bincount(leaf, (times * rounds)[of], len(leaves)).round()
        hits = np.bincount(leaf, happened, len(leaves))

        def by_round(rate: PartRate, key: tuple[int, int]) -> PartRate:
            number = leaves.get(key)
            if number is None:
                return rate
            return rate._replace(hits=int(hits[number]) * bool(rate.hits), draws=int(draws[number]))

        def going_on(i: int, part: Part) -> Part:
            rates = tuple(by_round(rate, (i, k)) for k, rate in enumerate(part.rates))
            counts = [(stays[(i, k), True], stays[(i, k), False]) for k in range(len(part.idle))]
            idle = zip(part.idle, counts, strict=True)
            return replace(
                part,
                rates=rates,
                idle=tuple(r._replace(hits=n, draws=n + m) if n + m else r for r, (n, m) in idle),
            )

        parts = [going_on(i, part) if part.idle else part for i, part in enumerate(self.parts)]
        return Decomposition(graph, parts)


def _rate(rate: PartRate, shown: Sequence[Shown], earlier: Shown) -> PartRate:
    """Return a rate with other numbers, and how far it counts for a tried pair."""
    hits, draws = (sum(column) for column in zip(earlier, *shown, strict=True))
    now = PartRate(rate.condition, hits if rate.hits else 0, draws)
    several: Counter[tuple[int, ...]] = Counter((h, n - h) for h, n in shown if n > 1)
    if not now.hits or not several:
        return now
    odds = now.probability, 1.0 - now.probability
    best = max(GRID, key=lambda pooling: round(pooling.log_likelihood(several, odds), 6))
    return now._replace(pooling=best)


def _times(
    ends: Mapping[State, float], options: Sequence[tuple[Effect, float]]
) -> dict[State, float]:
    product: dict[State, float] = {}
    for state, share in ends.items():
        for change, p in options:
            after = change.apply(state)
            product[after] = product.get(after, 0.0) + share * p
    return _likeliest(product)


def _likeliest(ends: dict[State, float]) -> dict[State, float]:
    """Leave out what is negligible; at least the most likely outcome stays."""
    least = _NEGLIGIBLE * max(ends.values(), default=0.0)
    kept = {end: share for end, share in ends.items() if share > least}
    if len(kept) > _MOST_OUTCOMES:
        best = sorted(kept, key=lambda end: (-kept[end], end))[:_MOST_OUTCOMES]
        kept = {end: kept[end] for end in sorted(best)}
    return kept


def _request(intent: Intent, vocabulary: Vocabulary) -> tuple[Binding, LiteralTest]:
    roles = {f"?x{i}": name for i, name in enumerate(intent.objects, 1)}
    required = forbidden = 0
    for test in intent.tests(vocabulary):
        required, forbidden = required | test.required, forbidden | test.forbidden
    names = {name: role for role, name in roles.items()}
    form = " or ".join(" and ".join(str(renamed(x, names)) for x in one) for one in intent.terms)
    # As bits, because names of objects may contain what separates them.
    tests = "|".join(f"{test.required:x}/{test.forbidden:x}" for test in intent.tests(vocabulary))
    return {**roles, REQUEST: form, INTENT: tests}, LiteralTest(required, forbidden)


def tried(graph: StateGraph) -> Iterator[tuple[State, int, PairStats]]:
    """Yield every tried pair, in the order of states."""
    for state in sorted(graph.nodes):
        for capability, pair in enumerate(graph.nodes[state].pairs):
            if pair is not None:
                yield state, capability, pair
