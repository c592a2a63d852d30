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

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from capscope.logic import Effect, Literal, State, Vocabulary
from capscope.model.decomposition import Decomposition, tried
from capscope.model.outcome_types import NO_CHANGE
from capscope.model.part_table import PartTable, Path, Record
from capscope.model.parts import (
    REQUEST,
    VARIABLES,
    Binding,
    Part,
    PartInstance,
    Trials,
    instances,
    renamed,
    split,
)
from capscope.model.state_graph import StateGraph
from capscope.seeds import child_seed
from capscope.stats.error_budget import ERROR_RATE

_MOST_RECORDS = 1_500  # pairs to find parts in; more would cost time and teach little
_MOST_EFFECTS = 300  # of one family of requests, to compare with each other
_MOST_INSTANCES = 200  # of a part; one that stands for more is not looked for
_MOST_CANDIDATES = 12
_LEAST_GAIN = 2.0  # of the log likelihood, that joint outcomes must be worse by
_ON_PURPOSE = 0.9  # a requested change with at least this probability is not treated as chance
_MOST_AMONG = 2  # conditions on what is chosen
_NEW = 0.5  # joint outcomes: weight of one that was never seen, in draws
_PEERS = 10.0  # joint outcomes: weight of the peers of a type, in draws
_TYPE = 1.0, 10.0  # joint outcomes: weight of the type for a pair, in draws; the better one counts


def find_parts(graph: StateGraph, carried_over: Sequence[Part] = ()) -> Decomposition:
    """Return the parts that explain the executions better than joint outcomes do.

    Those that were `carried_over` from another instance are among them.
    """
    found = list(carried_over)
    rejected: set[object] = set()
    records: list[Record] | None = None
    known = Decomposition(graph, found)
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


def _records(graph: StateGraph, known: Decomposition) -> list[Record]:
    pairs = list(tried(graph))
    if len(pairs) > _MOST_RECORDS:
        pairs = sorted(pairs, key=lambda p: (child_seed(p[0], p[1]), p[0], p[1]))[:_MOST_RECORDS]
    records: Counter[tuple[State, int, Effect, bool]] = Counter()
    for state, capability, pair in pairs:
        for effect, times in pair.counts.items():
            core = known.core(state, capability, effect)
            records[state, capability, core, core == effect] += times
    return [Record(s, i, core, n, alone) for (s, i, core, alone), n in sorted(records.items())]


def _candidates(graph: StateGraph, known: Decomposition, records: Sequence[Record]) -> list[Part]:
    """Return changes that were seen beside others which were also seen without them."""
    vocabulary = graph.vocabulary
    families: dict[str, dict[frozenset[Literal], Record]] = defaultdict(dict)
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


_Chosen = tuple[Record, list[PartInstance], PartInstance, Effect]
"""A draw with a choice: the record, what could be chosen, what was, and the rest of the effect."""


_Kind = frozenset[tuple[str, bool]]
"""The predicates of an effect, each with whether it becomes true."""
_NO_KIND: _Kind = frozenset()


@dataclass
class _Comparison:
    """Draws in which a part was possible, predicted by it and by joint outcomes."""

    graph: StateGraph
    known: Decomposition
    records: Sequence[Record]
    part: Part
    every: list[PartInstance] = field(init=False)
    rows: list[tuple[Record, list[PartInstance], list[PartInstance], Effect]] = field(init=False)
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
        behavior: a tire goes flat on a drive. So is what occurs beside the same one on request:
        cutting blunts the blade, on the way to another request as well.
        """
        kinds, apart = set(), False
        for _, _, hits, rest in self.rows:
            if hits:
                kinds.add(self._kind(rest))
                literals = rest.literals(self.graph.vocabulary)
                objects = {o for x in literals for o in x.atom.arguments}
                own = any(one.objects and objects.isdisjoint(one.objects) for one in hits)
                apart |= bool(literals) and own
        beside = kinds - {_NO_KIND}
        if len(beside) > 1 or kinds == {_NO_KIND}:
            return True
        return apart and not beside <= self._kinds_on_request

    @property
    def _kinds_on_request(self) -> set[_Kind]:
        """Return beside which kinds of changes the part happened where it was requested."""
        every = [one._replace(requested=True) for one in self.every]
        kinds = set()
        for record in self.records:
            own = self.known.request(record.capability)[1]
            hits, rest = split(False, every, record.state, own, record.effect)
            if any(one.is_asked(own) for one in hits):
                kinds.add(self._kind(rest))
        return kinds

    def _kind(self, effect: Effect) -> _Kind:
        literals = effect.literals(self.graph.vocabulary)
        return frozenset((x.atom.predicate, x.positive) for x in literals)

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
        table = PartTable(self.known, self.graph, self.part, rows)
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
            stays, idle = PartTable(self.known, self.graph, self.part, ends).fit()
            fits.append((score + stays, replace(self.part, rates=rates, idle=idle)))
        return fits

    def _choice(self) -> tuple[float, Part]:
        """Return the log likelihood of the part if at most one instance changes."""
        chosen = [(r, possible, hits[0], rest) for r, possible, hits, rest in self.rows if hits]
        among, price, chosen = self._among(chosen)
        rows = [(record, rest, None, bool(hits)) for record, _, hits, rest in self.rows]
        score, rates = PartTable(self.known, self.graph, self.part, rows).fit()
        score -= price
        evenly = -sum(r.times * math.log(len(possible)) for r, possible, _, _ in chosen)
        preferring, weights = _preferences(chosen)
        # A betting score against "each candidate is as likely as any other".
        preferred = preferring - evenly > math.log(1.0 / ERROR_RATE)
        part = replace(self.part, choice=True, rates=rates, among=among)
        if preferred:
            return score + preferring, replace(part, preferences=weights)
        return score + evenly, part

    def _among(self, chosen: list[_Chosen]) -> tuple[Path, float, list[_Chosen]]:
        """Find conditions that every chosen instance meets and many others do not.

        Returns the conditions, what they cost, and the draws without the instances that are out.
        """
        found: Path = ()
        price = 0.0
        while len(found) < _MOST_AMONG:
            rows = [(r, rest, x, x == hit) for r, possible, hit, rest in chosen for x in possible]
            table = PartTable(self.known, self.graph, self.part, rows)
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
