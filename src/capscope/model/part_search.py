"""Find the independent parts (`parts`) that explain executions better than joint outcomes do.

**Candidates** are the differences between two effects of the same family of requests, one of which
includes the other, with variables for objects. In a deterministic world there are few of them, and
none explains more than the joint outcomes do.

**Comparison.** The draws of a run are predicted one after the other, once by the part, averaged
over Beta(½, ½) under each condition, and once by joint outcomes with pooled probabilities, as in
`outcome_types`. Each condition pays for the number of candidates, as in a two-part code. Nothing is
fitted to the draws that it predicts, so the comparison needs no draws that are held out.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from capscope.logic import Atom, Effect, Literal, State, Vocabulary
from capscope.logic.shortest_condition import bit_matrix
from capscope.model.outcome_types import NO_CHANGE
from capscope.model.part_rounds import Trials
from capscope.model.parts import (
    ANY,
    OTHER,
    REQUEST,
    VARIABLES,
    Binding,
    Decomposition,
    Part,
    PartCondition,
    PartInstance,
    PartRate,
    bound,
    instances,
    joined_with,
    renamed,
    split,
    tried,
)
from capscope.model.state_graph import StateGraph
from capscope.seeds import child_seed
from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.betting import log_best_likelihood, log_likelihood, log_mixture
from capscope.stats.error_budget import ERROR_RATE

_MOST_RECORDS = 1_500  # pairs to find parts in; more would cost time and teach little
_MOST_EFFECTS = 300  # of one family of requests, to compare with each other
_MOST_INSTANCES = 200  # of a part; one that stands for more is not looked for
_MOST_GROUND = 200  # atoms of the state that are candidates for conditions
_MOST_CANDIDATES = 12
_LEAST_GAIN = 2.0  # of the log likelihood, that joint outcomes must be worse by
_ON_PURPOSE = 0.9  # a requested change with at least this probability is not treated as chance
_SPLIT_GAIN = 1.0  # of the log likelihood, beside the logarithm of the number of candidates
_DEPTH = 6
_TURNS = 3  # of conditions and rates by round
_MOST_AMONG = 2  # conditions on what is chosen
_PAIRED = 16  # conditions of which two may split together
_MANY_ROWS = 4_000  # from this number on, half of them
_NEW = 0.5  # joint outcomes: weight of one that was never seen, in draws
_PEERS = 10.0  # joint outcomes: weight of the peers of a type, in draws
_TYPE = 1.0, 10.0  # joint outcomes: weight of the type for a pair, in draws; the better one counts


class _Record(NamedTuple):
    """An effect of a tried pair, without the parts found so far."""

    state: State
    capability: int
    effect: Effect
    times: int
    alone: bool
    """Whether none of the parts found so far happened."""


def find_parts(graph: StateGraph) -> Decomposition:
    """Return the parts that explain the executions better than joint outcomes do."""
    found: list[Part] = []
    rejected: set[object] = set()
    records: list[_Record] | None = None
    known = Decomposition(graph)
    while len(rejected) < _MOST_CANDIDATES:
        if records is None:
            records = _records(graph, known)
        candidates = _candidates(graph, known, records)
        part = next((p for p in candidates if p.change not in rejected), None)
        if part is None:
            break
        better = _Comparison(graph, known, records, part).better()
        if better is None:
            rejected.add(part.change)
        else:
            found.append(better)
            known, records = Decomposition(graph, found), None
    return known.recounted(graph) if found else known


def _records(graph: StateGraph, known: Decomposition) -> list[_Record]:
    pairs = list(tried(graph))
    if len(pairs) > _MOST_RECORDS:
        pairs = sorted(pairs, key=lambda p: (child_seed(p[0], p[1]), p[0], p[1]))[:_MOST_RECORDS]
    records: Counter[tuple[State, int, Effect, bool]] = Counter()
    for state, capability, pair in pairs:
        for effect, times in pair.counts.items():
            core = known.core(state, capability, effect)
            records[state, capability, core, core == effect] += times
    return [_Record(s, i, core, n, alone) for (s, i, core, alone), n in sorted(records.items())]


def _candidates(graph: StateGraph, known: Decomposition, records: Sequence[_Record]) -> list[Part]:
    """Return changes that were seen beside others which were also seen without them."""
    vocabulary = graph.vocabulary
    families: dict[str, dict[frozenset[Literal], _Record]] = defaultdict(dict)
    for record in records:
        binding, _ = known.request(record.capability)
        role = {name: variable for variable, name in binding.items() if variable.startswith("?")}
        shape = frozenset(renamed(one, role) for one in record.effect.literals(vocabulary))
        seen = families[binding[REQUEST]]
        if len(seen) < _MOST_EFFECTS:
            seen.setdefault(shape, record)
    counts: Counter[tuple[Literal, ...]] = Counter()
    kinds: dict[tuple[Literal, ...], tuple[tuple[str, str], ...]] = {}
    for seen in families.values():
        for whole, record in seen.items():
            binding, _ = known.request(record.capability)
            for less in seen:
                if less < whole:
                    changes = _components(whole - less, binding)
                    lifted = [_lifted(change, vocabulary) for change in changes]
                    # Beside nothing, only what happens several times at once is a candidate.
                    if not less:
                        lifted = [one for one in lifted if lifted.count(one) > 1]
                    for literals, types in lifted:
                        counts[literals] += 1
                        kinds[literals] = types
    order = sorted(
        (c for c in counts if len(kinds[c]) <= len(VARIABLES)),
        key=lambda one: (len(one), -counts[one], one),
    )
    parts = [
        replace(Part(one, kinds[one]), also=also)
        for one in order
        for also in dict.fromkeys((_also(one, kinds), ()))
    ]
    return [p for p in parts if _few_instances(p, vocabulary)]


def _also(
    literals: tuple[Literal, ...],
    kinds: Mapping[tuple[Literal, ...], tuple[tuple[str, str], ...]],
) -> tuple[Literal, ...]:
    """Return what was seen to change together with a part, about the same objects."""
    more = [set(one) - set(literals) for one in kinds if set(one) > set(literals)]
    known = {a for one in literals for a in one.atom.arguments}
    return tuple(sorted(x for x in set().union(*more) if known.issuperset(x.atom.arguments)))


def _few_instances(part: Part, vocabulary: Vocabulary) -> bool:
    return math.prod(len(vocabulary.objects_of(t)) for _, t in part.types) <= _MOST_INSTANCES


def _components(literals: Iterable[Literal], binding: Binding) -> list[list[Literal]]:
    """Return literals in groups that share objects; those without objects are one group."""
    groups: list[tuple[set[str], list[Literal]]] = []
    for literal in sorted(renamed(one, binding) for one in literals):
        names = set(literal.atom.arguments)
        near = [g for g in groups if g[0] & names or not (g[0] or names)]
        joined = names.union(*(g[0] for g in near)), [x for g in near for x in g[1]] + [literal]
        groups = [g for g in groups if not any(g is n for n in near)] + [joined]
    return [one for _, one in groups]


def _lifted(
    change: Sequence[Literal], vocabulary: Vocabulary
) -> tuple[tuple[Literal, ...], tuple[tuple[str, str], ...]]:
    """Replace the objects of a change by variables; return it with their types."""
    objects = dict.fromkeys(a for one in sorted(change) for a in one.atom.arguments)
    names = dict(zip(objects, [*VARIABLES, *map(str, range(len(objects)))], strict=False))
    place = {p.name: p.types for p in vocabulary.predicates}
    types: dict[str, str] = {}
    for one in sorted(change):
        for argument, kind in zip(one.atom.arguments, place[one.atom.predicate], strict=True):
            types.setdefault(names[argument], kind)
    return tuple(sorted(renamed(one, names) for one in change)), tuple(types.items())


_Path = tuple[tuple[PartCondition, bool], ...]
"""Conditions, and whether each holds."""
_Chosen = tuple[_Record, list[PartInstance], PartInstance, Effect]
"""A draw with a choice: the record, what could be chosen, what was, and the rest of the effect."""


@dataclass
class _Comparison:
    """Draws in which a part was possible, predicted by it and by joint outcomes."""

    graph: StateGraph
    known: Decomposition
    records: Sequence[_Record]
    part: Part
    every: list[PartInstance] = field(init=False)
    rows: list[tuple[_Record, list[PartInstance], list[PartInstance], Effect]] = field(init=False)
    """Each record with the possible instances, those that changed, and the rest of the effect."""

    def __post_init__(self) -> None:
        self.every = instances(self.part, self.graph.vocabulary)
        self.rows = []
        for record in self.records:
            own = self.known.request(record.capability)[1]
            hits, rest = split(False, self.every, record.state, own, record.effect)
            possible = [one for one in self.every if one.possible(record.state, own, rest)]
            if possible:
                self.rows.append((record, possible, hits, rest))

    @property
    def independent(self) -> bool:
        """Whether the part occurred beside different changes, or about objects of its own.

        What occurs beside one kind of change only, and about no other object, is an outcome of that
        behavior: a tire goes flat on a drive.
        """
        vocabulary = self.graph.vocabulary
        kinds = set()
        for _, _, hits, rest in self.rows:
            literals = rest.literals(vocabulary)
            if hits:
                kinds.add(frozenset((x.atom.predicate, x.positive) for x in literals))
            objects = {o for x in literals for o in x.atom.arguments}
            if literals and any(h.objects and objects.isdisjoint(h.objects) for h in hits):
                return True
        return len(kinds - {frozenset()}) > 1 or kinds == {frozenset()}

    def better(self) -> Part | None:
        """Return the part with its probabilities, if it predicts better than joint outcomes."""
        if not self.independent:
            return None
        fits = [self._gain()]
        if self._asked_by_chance:
            gain, part = replace(self, part=replace(self.part, requested=True))._gain()
            fits.append((gain - _LEAST_GAIN, part))
        usable = [(gain, part) for gain, part in fits if gain > _LEAST_GAIN and _is_by_chance(part)]
        return max(usable, key=lambda one: one[0])[1] if usable else None

    @property
    def _asked_by_chance(self) -> bool:
        """Return whether the part often fails to happen where it is requested."""
        happened = draws = 0
        for record in self.records:
            own = self.known.request(record.capability)[1]
            for one in self.every:
                if one.is_asked(own) and one._replace(requested=True).possible(record.state, own):
                    happened += (one.within(record.state, record.effect) is not None) * record.times
                    draws += record.times
        return 0 < happened < _ON_PURPOSE * draws

    def _gain(self) -> tuple[float, Part]:
        """Return by how much the log likelihood is better than under joint outcomes."""
        if sum(len(hits) * r.times for r, _, hits, _ in self.rows) < 2:
            return -math.inf, self.part
        joint = max(self._joint(weight) for weight in _TYPE)
        fits = self._independent()
        if all(len(hits) <= 1 for _, _, hits, _ in self.rows):
            fits.append(self._choice())
        score, part = max(fits, key=lambda fit: fit[0])
        return score - joint, part

    def _joint(self, weight: float) -> float:
        """Return the log likelihood under joint outcomes, each draw predicted from those before.

        An outcome that its type has not shown has the probability that a new one has, shared by
        all that are possible.
        """
        draws = sorted(
            (child_seed(record.state, record.capability, place, k), place)
            for place, (record, _, _, _) in enumerate(self.rows)
            for k in range(record.times)
        )
        of_pair: dict[tuple[State, int, Effect], Counter[tuple[PartInstance, ...]]] = {}
        of_type: dict[Effect, Counter[tuple[PartInstance, ...]]] = {}
        sizes: Counter[int] = Counter()
        score = 0.0
        for _, place in draws:
            record, possible, hits, rest = self.rows[place]
            drawn = tuple(hits)
            own = of_pair.setdefault((record.state, record.capability, rest), Counter())
            alike = of_type.setdefault(rest, Counter())
            share = _of_type(drawn, alike, possible, sizes)
            score += math.log((own[drawn] + weight * share) / (own.total() + weight))
            own[drawn] += 1
            alike[drawn] += 1
            sizes[len(drawn)] += 1
        return score

    def _independent(self) -> list[tuple[float, Part]]:
        """Return the log likelihood of the part if each instance changes by itself.

        Once with executions of one round each, once if they go on until something changes.
        """
        rows = [
            (record, rest, one, one in hits)
            for record, possible, hits, rest in self.rows
            for one in possible
        ]
        table = _Table(self.known, self.graph, self.part, rows)
        score, rates = table.fit()
        fits = [(score, replace(self.part, rates=rates))]
        nothing = np.array([rest == NO_CHANGE and r.alone for r, _, _, rest in self.rows])
        happened = np.array([bool(hits) for _, _, hits, _ in self.rows])
        if (nothing & happened).any():
            of = np.repeat(np.arange(len(self.rows)), [len(row[1]) for row in self.rows])
            times = np.array([record.times for record, *_ in self.rows])
            trials = Trials(of, table.hits, np.where(nothing & ~happened, 0, times), nothing)
            score, rates = table.fit_by_round(trials)
            ends = [
                (r, rest, None, not hits)
                for r, _, hits, rest in self.rows
                if r.alone and rest == NO_CHANGE
            ]
            stays, idle = _Table(self.known, self.graph, self.part, ends).fit()
            fits.append((score + stays, replace(self.part, rates=rates, idle=idle)))
        return fits

    def _choice(self) -> tuple[float, Part]:
        """Return the log likelihood of the part if at most one instance changes."""
        chosen = [(r, possible, hits[0], rest) for r, possible, hits, rest in self.rows if hits]
        among, price, chosen = self._among(chosen)
        rows = [(record, rest, None, bool(hits)) for record, _, hits, rest in self.rows]
        score, rates = _Table(self.known, self.graph, self.part, rows).fit()
        score -= price
        evenly = -sum(r.times * math.log(len(possible)) for r, possible, _, _ in chosen)
        preferring, weights = _preferences(chosen)
        # A betting score against "each candidate is as likely as any other".
        preferred = preferring - evenly > math.log(1.0 / ERROR_RATE)
        part = replace(self.part, choice=True, rates=rates, among=among)
        if preferred:
            return score + preferring, replace(part, preferences=weights)
        return score + evenly, part

    def _among(self, chosen: list[_Chosen]) -> tuple[_Path, float, list[_Chosen]]:
        """Find conditions that every chosen instance meets and many others do not.

        Returns the conditions, what they cost, and the draws without the instances that are out.
        """
        found: _Path = ()
        price = 0.0
        while len(found) < _MOST_AMONG:
            rows = [(r, rest, x, x == hit) for r, possible, hit, rest in chosen for x in possible]
            table = _Table(self.known, self.graph, self.part, rows)
            best = table.narrowed([len(possible) for _, possible, _, _ in chosen])
            if best is None:
                break
            condition, cost, kept = best
            found, price = (*found, condition), price + cost
            fits = iter(kept.tolist())
            chosen = [(r, [x for x in p if next(fits)], hit, rest) for r, p, hit, rest in chosen]
        return found, price, chosen


def _is_by_chance(part: Part) -> bool:
    """Return whether most of what happened was not certain where it did: then it is no result."""
    least = _ON_PURPOSE if part.idle else 1.0
    certain = sum(rate.hits for rate in part.rates if rate.hits >= least * rate.draws)
    return 2 * certain < sum(rate.hits for rate in part.rates)


def _preferences(
    chosen: Sequence[_Chosen],
) -> tuple[float, tuple[tuple[tuple[str, ...], float], ...]]:
    """Predict each choice by those before it; return the log likelihood and the final weights."""
    weights: dict[tuple[str, ...], float] = {}
    score = 0.0
    order = sorted(chosen, key=lambda one: child_seed(one[0].state, one[0].capability))
    for record, possible, hit, _ in order:
        for _ in range(record.times):
            total = sum(weights.get(one.objects, 0.5) for one in possible)
            score += math.log(weights.get(hit.objects, 0.5) / total)
            weights[hit.objects] = weights.get(hit.objects, 0.5) + 1.0
        for one in possible:
            weights.setdefault(one.objects, 0.5)
    return score, tuple(sorted(weights.items()))


def _of_type(
    drawn: tuple[PartInstance, ...],
    alike: Counter[tuple[PartInstance, ...]],
    possible: Sequence[PartInstance],
    sizes: Counter[int],
) -> float:
    """Return the probability of a joint outcome by its type, which saw some before."""
    here = set(possible)
    seen = {one: n for one, n in alike.items() if here.issuperset(one)}
    seen.setdefault((), 0)
    new = _NEW / (sum(seen.values()) + 2.0 * _NEW)
    if drawn not in seen:
        several = len(drawn)
        return new * 0.5**several / math.comb(len(possible), several)
    of_size = Counter(map(len, seen))
    peers = sum(sizes[size] + 0.5 for size in of_size)
    weights = {
        one: n + _PEERS * (sizes[len(one)] + 0.5) / peers / of_size[len(one)]
        for one, n in seen.items()
    }
    return (1.0 - new) * weights[drawn] / sum(weights.values())


_Row = tuple[_Record, Effect, PartInstance | None, bool]
"""A record, the rest of its effect, an instance, and whether it changed."""


class _Table:
    """Rows in which a part may have happened, with the conditions that hold in each."""

    def __init__(
        self, known: Decomposition, graph: StateGraph, part: Part, rows: Sequence[_Row]
    ) -> None:
        vocabulary = graph.vocabulary
        size = len(vocabulary.atoms)
        self._times: Integers = np.array([row[0].times for row in rows])
        self._draws: Floats = self._times.astype(np.float64)
        self.hits: Integers = self._times * np.array([row[3] for row in rows])
        """How often each row changed."""
        self._leaf = np.zeros(len(rows), dtype=np.int64)
        place: dict[tuple[State, Effect], int] = {}
        which = np.array([place.setdefault((r.state, rest), len(place)) for r, rest, _, _ in rows])
        bits = bit_matrix([joined_with(s, rest, size) for s, rest in place], 3 * size)
        bindings: list[Binding] = []
        for record, _, one, _ in rows:
            binding = known.request(record.capability)[0]
            bindings.append(binding if one is None else bound(one, binding))
        roles = sorted({v for b in bindings for v in b if v.startswith("?x")})
        variables = [name for name, _ in part.types] if rows and rows[0][2] is not None else []
        columns: dict[bytes, tuple[PartCondition, Mask]] = {}
        groups: dict[tuple[str, ...], list[tuple[Binding, Integers]]] = {}
        for condition in _conditions(vocabulary, variables, roles, bindings, bits[:, :size]):
            named = condition.variables
            if named not in groups:
                groups[named] = _grouped(named, bindings)
            column = np.zeros(len(rows), dtype=bool)
            for binding, members in groups[named]:
                column[members] = _held(condition, binding, vocabulary, bits, which[members])
            if column.any() and not column.all():
                code = (column if column[0] else ~column).tobytes()
                columns.setdefault(code, (condition, column))
        self._conditions = [condition for condition, _ in columns.values()]
        self._columns: Floats = np.array(
            [c for _, c in columns.values()], dtype=np.float64
        ).reshape(len(columns), len(rows))

    def fit(self) -> tuple[float, tuple[PartRate, ...]]:
        """Return the log likelihood with the best splits, less what they cost, and the rates."""
        self._leaves = 0
        return self._fit(np.arange(len(self._times)), ())

    def fit_by_round(self, trials: Trials) -> tuple[float, tuple[PartRate, ...]]:
        """Do as `fit`, with rates by round; `trials` are the rows by execution."""
        _, rounds = trials.rates(np.zeros_like(self._leaf))
        own = trials.times[trials.of]
        self.hits, before = np.where(own, self.hits, 0), self.hits
        for _ in range(_TURNS):
            self._draws = np.round(own * rounds[trials.of] * 64) / 64
            score, leaves = self.fit()
            rates, rounds = trials.rates(self._leaf)
        price = sum(_mixture(one.hits, one.draws) for one in leaves) - score
        hits, draws, by_round = (
            np.bincount(self._leaf, x, len(leaves)).round().astype(np.int64)
            for x in (self.hits, own, own * rounds[trials.of])
        )
        score = float(
            (log_likelihood(hits, draws, rates) - log_best_likelihood(hits, draws)).sum()
            + log_mixture(hits, draws).sum()
            + (trials.times * np.log(trials.rounds(rates[self._leaf]))).sum()
        )
        self.hits, self._draws = before, self._times.astype(np.float64)
        pairs = zip(leaves, by_round.tolist(), strict=True)
        return score - price, tuple(one._replace(draws=n) for one, n in pairs)

    def _fit(self, rows: Integers, path: _Path) -> tuple[float, tuple[PartRate, ...]]:
        hits, draws = int(self.hits[rows].sum()), round(float(self._draws[rows].sum()))
        whole = _mixture(hits, draws)
        if 0 < hits < draws and len(path) < _DEPTH and self._conditions:
            gained, literals, on = max(self._splits(rows, whole), key=lambda one: one[0])
            if gained > 0.0:
                yes = self._fit(rows[on], (*path, *literals))
                # The first rate that fits is the one that counts: both conditions do not hold.
                rest = ((literals[0][0], not literals[0][1]),) if len(literals) == 1 else ()
                no = self._fit(rows[~on], (*path, *rest))
                score = yes[0] + no[0] - self._price(len(literals))
                return score, yes[1] + no[1]
        self._leaf[rows] = self._leaves
        self._leaves += 1
        return whole, (PartRate(path, hits, draws),)

    def narrowed(
        self, sizes: Sequence[int]
    ) -> tuple[tuple[PartCondition, bool], float, Mask] | None:
        """Return the condition on chosen instances that leaves the fewest others.

        Args:
            sizes: How many consecutive rows belong to each choice.

        Returns:
            The condition, what it costs, and which rows meet it; None if none pays.
        """
        if not sizes or not self._conditions:
            return None
        begins = np.cumsum([0, *sizes[:-1]])
        times = self._times[begins]
        signed = np.concatenate([self._columns, 1.0 - self._columns])
        usable = np.flatnonzero(signed[:, self.hits > 0].all(axis=1))
        if not len(usable):
            return None
        left = np.add.reduceat(signed[usable], begins, axis=1)
        gains = np.round((np.log(np.array(sizes)) - np.log(left)) @ times, 6)
        best = int(gains.argmax())
        price = math.log(2 * len(self._conditions)) + _SPLIT_GAIN
        if gains[best] <= price:
            return None
        which = int(usable[best])
        condition = self._conditions[which % len(self._conditions)]
        return (condition, which < len(self._conditions)), price, signed[which] > 0

    def _price(self, literals: int) -> float:
        """Return what a split costs: the logarithm of the number of candidates, and a bit more."""
        return literals * math.log(len(self._conditions)) + _SPLIT_GAIN

    def _splits(self, rows: Integers, whole: float) -> Iterator[tuple[float, _Path, Mask]]:
        """Yield the best split by one condition and by two, with what each gains."""
        part = self._columns[:, rows]
        scores = self._scores(part, rows)
        best = int(scores.argmax())
        yield (
            float(scores[best]) - whole - self._price(1),
            ((self._conditions[best], True),),
            part[best] > 0,
        )
        few = np.argsort(-scores, kind="stable")[
            : _PAIRED if len(rows) < _MANY_ROWS else _PAIRED // 2
        ]
        signed = np.concatenate([part[few], 1.0 - part[few]])
        one, other = np.triu_indices(len(signed), 1)
        scores = self._scores(signed[one] * signed[other], rows)
        best = int(scores.argmax())
        pair = one[best], other[best]
        yield (
            float(scores[best]) - whole - self._price(2),
            tuple((self._conditions[few[i % len(few)]], bool(i < len(few))) for i in pair),
            (signed[pair[0]] * signed[pair[1]]) > 0,
        )

    def _scores(self, columns: Floats, rows: Integers) -> Floats:
        """Return the log likelihood of rows if they are split by each of some columns."""
        hits, draws = self.hits[rows], self._draws[rows]
        inside = np.rint(columns @ hits).astype(np.int64)
        drawn = np.rint(columns @ draws).astype(np.int64)
        others = np.maximum(round(float(draws.sum())) - drawn, hits.sum() - inside)
        scores: Floats = np.round(
            log_mixture(inside, drawn) + log_mixture(hits.sum() - inside, others), 6
        )
        return scores


def _mixture(hits: int, draws: int) -> float:
    return float(log_mixture(np.array([hits]), np.array([draws]))[0])


def _grouped(named: tuple[str, ...], bindings: Sequence[Binding]) -> list[tuple[Binding, Integers]]:
    members: dict[tuple[str | None, ...], list[int]] = {}
    for i, binding in enumerate(bindings):
        members.setdefault(tuple(map(binding.get, named)), []).append(i)
    return [
        ({k: v for k, v in zip(named, key, strict=True) if v is not None}, np.array(rows))
        for key, rows in members.items()
    ]


def _held(
    condition: PartCondition,
    binding: Binding,
    vocabulary: Vocabulary,
    bits: Mask,
    rows: Integers,
) -> Mask:
    tests = condition.tests(binding, vocabulary)
    held = np.zeros(len(rows), dtype=np.int64)
    for required, forbidden in tests:
        true: Mask = np.ones(len(rows), dtype=bool)
        if required:
            true &= bits[rows[:, None], _places(required)].all(axis=1)
        if forbidden:
            true &= ~bits[rows[:, None], _places(forbidden)].any(axis=1)
        held += true
    fits: Mask = held >= condition.least
    return fits


def _places(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _conditions(
    vocabulary: Vocabulary,
    variables: Sequence[str],
    roles: Sequence[str],
    bindings: Sequence[Binding],
    states: Mask,
) -> Iterator[PartCondition]:
    """Yield candidates for conditions, the most general first."""
    yield PartCondition("achieved")
    yield PartCondition("nothing")
    names = [*variables, *roles]
    for name in variables:
        yield from (PartCondition("same", equal=(name, role)) for role in roles)
    for predicate in vocabulary.predicates:
        arity = len(predicate.types)
        for where in ("added", "deleted"):
            yield PartCondition(where, (Literal(Atom(predicate.name, (ANY,) * arity)),))
            for place, name in itertools.product(range(arity), names):
                arguments = tuple(name if i == place else ANY for i in range(arity))
                yield PartCondition(where, (Literal(Atom(predicate.name, arguments)),))
        if arity <= 2:
            for arguments in itertools.product([*names, OTHER], repeat=arity):
                if set(arguments) & set(names) or not arity:
                    yield PartCondition("state", (Literal(Atom(predicate.name, arguments)),))
    yield from _neighbours(vocabulary, names)
    for name in (*names, REQUEST):
        values = sorted({b[name] for b in bindings if name in b})
        yield from (PartCondition("same", equal=(name, value)) for value in values)
    vary = np.flatnonzero(states.any(axis=0) & ~states.all(axis=0))
    if len(vary) <= _MOST_GROUND:
        for i in vary.tolist():
            yield PartCondition("state", (Literal(vocabulary.atoms[i]),))


def _neighbours(vocabulary: Vocabulary, names: Sequence[str]) -> Iterator[PartCondition]:
    """Yield conditions on the number of objects in a relation of which something is true."""
    unary = [p.name for p in vocabulary.predicates if len(p.types) == 1]
    binary = [p.name for p in vocabulary.predicates if len(p.types) == 2]
    for relation, name, least in itertools.product(binary, names, (1, 2, 3)):
        for arguments in ((name, OTHER), (OTHER, name)):
            near = Literal(Atom(relation, arguments))
            if least > 1:
                yield PartCondition("state", (near,), least)
            for predicate, positive in itertools.product(unary, (True, False)):
                other = Literal(Atom(predicate, (OTHER,)), positive)
                yield PartCondition("state", (near, other), least)
