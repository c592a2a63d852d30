"""Independent parts of outcomes: changes that occur by chance beside different main changes.

Four machines that fail independently give up to sixteen joint outcomes of one request, and an
assistant that now and then deletes some other mail has an outcome for each victim. Such a change is
one *part*: literals over variables, with a probability of its own in every state in which it is
possible. What remains of an effect is its *core*; outcome types are formed from cores only, and a
prediction is the distribution over cores times that of each part.

**Independent or a choice.** Each object may change by itself (`running(z)` becomes false for every
machine that runs), or at most one of them changes in an execution ("one of the other mails").

**Rounds.** An execution that changed nothing may have gone on until something did, as of an agent
that waits for a failure. Where that explains the draws better, probabilities are by round.

**Conditions.** A probability depends on a small tree of conditions on the part's objects, the
objects of the request, the rest of the state and the core, such as "at least 1 v with conn(z,v) and
not running(v)". Each split has to pay for the number of candidates.

**A part must earn its place.** The draws of a run are predicted one after the other, once by the
part (averaged over Beta(½, ½) in each leaf) and once by joint outcomes with pooled probabilities,
as in `outcome_types`. Only if the first is better by a factor does the part exist. Without
candidates, as in every deterministic world, nothing is computed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from capscope.journal.execution_table import Transition
from capscope.logic import Atom, Effect, Intent, Literal, LiteralTest, State, Vocabulary
from capscope.model.outcome_types import GRID, NO_CHANGE, OddsPooling
from capscope.model.part_rounds import Trials
from capscope.model.state_graph import PairStats, StateGraph

_NEGLIGIBLE = 1e-4
_MOST_OUTCOMES = 300
VARIABLES = "?z", "?w"
OTHER = "?v"
ANY = "_"
REQUEST = "request"
_INTENT = "intent"
Binding = Mapping[str, str]
"""Objects for the variables of a part, `?z` and `?w`, and of a request, `?x1`, `?x2`, …"""


@dataclass(frozen=True)
class PartCondition:
    """A condition on the state before, the core, or the objects of a part."""

    where: str
    """`state`; `added` or `deleted`: by the core; `nothing`: else changes; `achieved`: the request
    holds before; or `same`."""
    literals: tuple[Literal, ...] = ()
    """Over variables; `?v` is any object, `_` may be a different one each time."""
    least: int = 1
    """The number of objects `?v` of which the literals are true."""
    equal: tuple[str, str] = ("", "")
    """With `same`: two variables, or a variable and an object."""

    def __str__(self) -> str:
        if self.where == "nothing":
            return "nothing else changes"
        if self.where == "achieved":
            return "the request holds already"
        if self.where == "same":
            return f"{self.equal[0]} = {self.equal[1]}"
        text = " and ".join(map(str, self.literals))
        many = f"at least {self.least} {OTHER}: " if self.least > 1 else ""
        return many + text + ("" if self.where == "state" else f" {self.where}")

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the condition mentions, apart from `?v`."""
        if self.where == "achieved":
            return (_INTENT,)
        named = [a for one in self.literals for a in one.atom.arguments] + list(self.equal)
        return tuple(sorted({a for a in named if a.startswith("?") or a == REQUEST} - {OTHER}))

    def tests(self, binding: Binding, vocabulary: Vocabulary) -> tuple[LiteralTest, ...]:
        """Return tests of a state with its core (`joined_with`); `least` of them are to hold."""
        size = len(vocabulary.atoms)
        if self.where == "nothing":
            return (LiteralTest(0, vocabulary.mask << size | vocabulary.mask << 2 * size),)
        if self.where == "achieved":
            masks = (alternative.split("/") for alternative in binding[_INTENT].split("|"))
            return tuple(LiteralTest(int(held, 16), int(absent, 16)) for held, absent in masks)
        if self.where == "same":
            left, right = (binding.get(one, one) for one in self.equal)
            return (LiteralTest(0, 0),) if left == right else ()
        shift = {"state": 0, "added": size, "deleted": 2 * size}[self.where]
        tests: dict[LiteralTest, None] = {}
        arguments = [a for one in self.literals for a in one.atom.arguments]
        for other in vocabulary.objects if OTHER in arguments else ("",):
            bound = {**binding, OTHER: other}
            choices = [_groundings(one, bound, vocabulary) for one in self.literals]
            for literals in itertools.product(*choices):
                required, forbidden = vocabulary.literal_masks(literals)
                tests[LiteralTest(required << shift, forbidden << shift)] = None
        return tuple(tests)


def _groundings(literal: Literal, binding: Binding, vocabulary: Vocabulary) -> list[Literal]:
    """Return the literals that one over variables stands for; `_` is any object."""
    arguments = tuple(binding.get(a, a) for a in literal.atom.arguments)
    if ANY not in arguments:
        atom = Atom(literal.atom.predicate, arguments)
        return [Literal(atom, literal.positive)] if atom in vocabulary.bit else []
    return [
        Literal(atom, literal.positive)
        for atom in vocabulary.groundings(literal.atom.predicate)
        if all(a in (ANY, b) for a, b in zip(arguments, atom.arguments, strict=True))
    ]


class PartRate(NamedTuple):
    """The probability of a part under a condition."""

    condition: tuple[tuple[PartCondition, bool], ...]
    """Conditions and whether each holds; the first rate that fits is the one that counts."""
    hits: int
    """Of an independent part: instances that changed. Of a choice: executions with one."""
    draws: int
    """Instances, or executions, in which it could have happened."""
    pooling: OddsPooling | None = None
    """How far the rate counts for a pair that was tried; None if no pair was tried again."""

    @property
    def probability(self) -> float:
        """The posterior mean; 0 for what never happened."""
        return (self.hits + 0.5) / (self.draws + 1.0) if self.hits else 0.0

    def of(self, hits: int, draws: int) -> float:
        """Return the probability in a pair with these draws."""
        if not draws or self.pooling is None:
            return self.probability
        odds = {True: self.probability, False: 1.0 - self.probability}
        return self.pooling.odds_of({True: hits, False: draws - hits}, odds)[True]


@dataclass(frozen=True)
class Part:
    """A change that occurs by chance beside different main changes."""

    literals: tuple[Literal, ...]
    """What becomes true, over the variables `?z` and `?w`; it is possible if none of it holds."""
    types: tuple[tuple[str, str], ...] = ()
    """Each variable with the type of its objects."""
    also: tuple[Literal, ...] = ()
    """What else becomes true, as far as it is not."""
    choice: bool = False
    """Whether at most one instance changes in an execution; otherwise each does by itself."""
    requested: bool = False
    """Whether it happens to what is requested too, by chance like to anything else."""
    among: tuple[tuple[PartCondition, bool], ...] = ()
    """Of a choice: conditions that each chosen instance met."""
    preferences: tuple[tuple[tuple[str, ...], float], ...] = ()
    """Of a choice: weights of objects, if the evidence shows that some are preferred."""
    rates: tuple[PartRate, ...] = ()
    """Probabilities by condition."""
    idle: tuple[PartRate, ...] = ()
    """If an execution goes on until something changes: how often nothing did, of the executions in
    which only parts could happen. The rates are then those of one round (`part_rounds`)."""
    occurrences: int = 0
    """How often it happened: the number of instances."""
    executions: int = 0
    """The executions in which it could have happened."""

    def __str__(self) -> str:
        kind = "one of " if self.choice else ""
        rates = "; ".join(
            f"{rate.probability:.2f} ({rate.hits} of {rate.draws})"
            + (" if " if rate.condition else "")
            + ", ".join(str(c) if held else f"not [{c}]" for c, held in rate.condition)
            for rate in self.rates
        )
        return f"{kind}{', '.join(map(str, (*self.literals, *self.also)))}: {rates}"

    @property
    def change(self) -> tuple[object, ...]:
        """What the part changes and how, without the numbers."""
        return self.literals, self.also, self.choice


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
Shown = tuple[int, int]
"""How often a part happened and could have happened."""


class PartInstance(NamedTuple):
    """A part with objects for its variables."""

    objects: tuple[str, ...]
    base: Effect
    """What happens only if it changes something."""
    whole: Effect
    """With what else happens then."""
    requested: bool
    """Whether it may be what was requested."""

    def possible(self, state: State, own: LiteralTest, core: Effect = NO_CHANGE) -> bool:
        """Return whether a part can happen in a state beside a core; `own` is the request."""
        adds, deletes = self.base
        return (
            not state & adds
            and state & deletes == deletes
            and (self.requested or not self.is_asked(own))
            and not (adds & core.adds or deletes & core.deletes)
        )

    def is_asked(self, own: LiteralTest) -> bool:
        """Return whether it makes a literal of the request true."""
        return bool(self.whole.adds & own.required or self.whole.deletes & own.forbidden)

    def within(self, state: State, effect: Effect) -> Effect | None:
        """Return the share of the part in an effect; None if it is not among the changes."""
        mine = Effect.between(state, self.whole.apply(state))
        return mine if mine.without(effect) == NO_CHANGE else None


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
        key = (condition, *(binding.get(one) for one in condition.variables))
        tests = self._tests.get(key)
        if tests is None:
            tests = self._tests[key] = condition.tests(binding, self._vocabulary)
        return sum(test(joined) for test in tests) >= condition.least

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
        by_round = self._by_round(graph) if self._goes_on else self
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
                rates=tuple(_rate(r, shown[i, leaf]) for leaf, r in enumerate(part.rates)),
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
        idle: Counter[tuple[IdleLeaf, bool]] = Counter()
        for state, capability, pair in tried(graph):
            for one in self._outcomes(state, capability, pair):
                if one.alone:
                    for leaf, _ in self._idle_rates(state, capability):
                        idle[leaf, one.nothing] += one.times * bool(one.trials)
                for trial, hit in one.trials:
                    if self.parts[trial.part].idle:
                        number = leaves.setdefault((trial.part, trial.leaf), len(leaves))
                        rows.append((len(outcomes), hit * one.times, number))
                outcomes.append((one.times * (not (one.alone and one.nothing)), one.alone))
        of, happened, leaf = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        times, went_on = (np.array(column) for column in zip(*outcomes, strict=True))
        _, rounds = Trials(of, happened, times, went_on).rates(leaf)
        draws = np.bincount(leaf, (times * rounds)[of], len(leaves)).round()
        hits = np.bincount(leaf, happened, len(leaves))
        parts = []
        for i, part in enumerate(self.parts):
            rates = [
                one._replace(
                    hits=int(hits[leaves[i, k]]) * bool(one.hits), draws=int(draws[leaves[i, k]])
                )
                if (i, k) in leaves
                else one
                for k, one in enumerate(part.rates)
            ]
            stays = [
                one._replace(
                    hits=idle[(i, k), True], draws=idle[(i, k), True] + idle[(i, k), False]
                )
                for k, one in enumerate(part.idle)
            ]
            parts.append(replace(part, rates=tuple(rates), idle=tuple(stays)))
        return Decomposition(graph, parts)


def _rate(rate: PartRate, shown: Sequence[Shown]) -> PartRate:
    """Return a rate with other numbers, and how far it counts for a tried pair."""
    hits, draws = (sum(column) for column in zip(*shown, strict=True)) if shown else (0, 0)
    now = PartRate(rate.condition, hits if rate.hits else 0, draws)
    several: Counter[tuple[int, ...]] = Counter((h, n - h) for h, n in shown if n > 1)
    if not now.hits or not several:
        return now
    odds = now.probability, 1.0 - now.probability
    best = max(GRID, key=lambda pooling: round(pooling.log_likelihood(several, odds), 6))
    return now._replace(pooling=best)


def bound(instance: PartInstance, binding: Binding) -> Binding:
    """Return the objects of a request together with those of a part."""
    return {**binding, **dict(zip(VARIABLES, instance.objects, strict=False))}


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
    return {**roles, REQUEST: form, _INTENT: tests}, LiteralTest(required, forbidden)


def renamed(literal: Literal, names: Mapping[str, str]) -> Literal:
    """Replace objects by variables, or the reverse."""
    arguments = tuple(names.get(a, a) for a in literal.atom.arguments)
    return Literal(Atom(literal.atom.predicate, arguments), literal.positive)


def joined_with(state: State, core: Effect, size: int) -> int:
    """Return a state and a core as one number, for the tests of conditions."""
    return state | core.adds << size | core.deletes << 2 * size


def instances(part: Part, vocabulary: Vocabulary) -> list[PartInstance]:
    """Return a part for all objects that its variables may stand for."""
    found = []
    choices = [vocabulary.objects_of(kind) for _, kind in part.types]
    for objects in itertools.product(*choices):
        if len(set(objects)) == len(objects):
            binding = dict(zip(VARIABLES, objects, strict=False))
            base, more = (
                [x for one in literals for x in _groundings(one, binding, vocabulary)]
                for literals in (part.literals, part.also)
            )
            if len(base) == len(part.literals):
                first = Effect(*vocabulary.literal_masks(base))
                whole = first.joined(Effect(*vocabulary.literal_masks(more)))
                found.append(PartInstance(objects, first, whole, part.requested))
    return found


def split(
    choice: bool, every: Iterable[PartInstance], state: State, own: LiteralTest, effect: Effect
) -> tuple[list[PartInstance], Effect]:
    """Return the instances of a part among the changes of an effect, and the other changes.

    Of a choice, several instances are not its doing.
    """
    hits, rest = [], effect
    for one in every:
        if one.possible(state, own):
            mine = one.within(state, effect)
            if mine is not None:
                hits.append(one)
                rest = rest.without(mine)
    return ([], effect) if choice and len(hits) > 1 else (hits, rest)


def tried(graph: StateGraph) -> Iterator[tuple[State, int, PairStats]]:
    """Yield every tried pair, in the order of states."""
    for state in sorted(graph.nodes):
        for capability, pair in enumerate(graph.nodes[state].pairs):
            if pair is not None:
                yield state, capability, pair
