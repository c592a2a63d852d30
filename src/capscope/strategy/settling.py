"""When a run is settled: no outcome above ε was missed, and the rules are precise enough.

An outcome of probability above ε escapes n draws of its pair with probability below (1−ε)^n. That
other pairs look reliable says nothing about it, so no pair may be drawn less than a number of times
that does not depend on peers. Bonferroni's correction over all pairs would take ln(pairs/δ)/ε draws
of each. But only pairs that hide something can be missed, and if many do, most are found: with R
outcomes found beside the most frequent one of each pair, the run stops at the first n with

    (1 + R) · (1−ε)^n ≤ δ

This is Hochberg's step-up procedure: of m independent hidden outcomes, the r-th last to be found
would have to escape until (1−ε)^n ≤ δ/(m−r+1), and the probability that any of them does is at most
δ, for every m. It needs no prior and holds whenever the run checks. Two refinements make the bound
approximate; simulations are in `benchmarks/settled_claims` of the experiments.

- Finding an outcome of probability ½ is no sign that others were missed. R counts an outcome by the
  probability that it would have been missed, in relation to one of probability ε.
- If a few capabilities vary everywhere, the pairs of the others need not pay for it. The same rule
  holds with capabilities instead of outcomes: pairs of capabilities that showed no further outcome
  are drawn until (1 + A)·(1−ε)^n is small, where A counts the capabilities that showed a few. Those
  that showed many would hardly have been missed altogether. δ is divided between the two classes of
  capabilities by their numbers of pairs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import ceil, exp, fsum, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

from capscope.journal.settings import Settings
from capscope.logic import Effect
from capscope.model import LearnedModel, OutcomeGroup, PairStats, StateGraph
from capscope.wording import counted

MISSED_SHARE = 2 / 3
"""The part of δ for missed outcomes; the rest is for the probabilities of rules."""
_FEW = 3  # a capability that hides more outcomes escapes n draws with at most (1−ε)^4n

Found = Mapping[tuple[int, int], int]
"""The outcomes that a capability showed, except the most frequent one of each pair.

They are counted by how often they were seen, in how many draws of their pair.
"""


@dataclass(frozen=True, slots=True)
class MissBound:
    """The error probability of "no outcome with probability above ε was missed"."""

    epsilon: float
    delta: float

    def escape(self, draws: int) -> float:
        """Return the probability that an outcome of probability ε escapes this number of draws.

        >>> round(MissBound(0.1, 0.05).escape(9), 2)
        0.39
        """
        return (1.0 - self.epsilon) ** draws

    def error(self, like_missed: float, draws: int) -> float:
        """Return the bound for a number of draws of each pair; `like_missed` is R or A."""
        return min((1.0 + like_missed) * self.escape(draws), 1.0)

    def needed(self, like_missed: float, share: float = 1.0) -> float:
        """Return how often each pair must be drawn for a share of δ; infinite if ε is 0.

        >>> MissBound(0.1, 0.05).needed(0), MissBound(0.1, 0.05).needed(8)
        (29, 50)
        """
        if share <= 0.0:
            return 0
        if self.epsilon <= 0.0:
            return inf
        if self.epsilon >= 1.0:
            return 1
        delta = self.delta * share
        draws = max(ceil(log((1.0 + like_missed) / delta) / -log1p(-self.epsilon)), 1)
        # Rounding must not leave a run that has no draw to make and is not settled either.
        return draws if self.error(like_missed, draws) <= delta else draws + 1

    def like_missed(self, found: Iterable[Found]) -> tuple[float, float]:
        """Return A and R: what was found, each by how easily it would have been missed."""
        found = list(found)
        weights = [self._weight(outcomes) for outcomes in found]
        few = (
            min(weight, 1.0)
            for weight, outcomes in zip(weights, found, strict=True)
            if sum(outcomes.values()) <= _FEW
        )
        return fsum(few), fsum(weights)

    def _weight(self, found: Found) -> float:
        draws = self.needed(0.0)
        if draws == inf:
            return float(sum(found.values()))
        escape = self.escape(int(draws))
        return fsum(
            outcomes * min(_unseen(count, total, int(draws)) / escape, 1.0) if escape else 0.0
            for (count, total), outcomes in found.items()
        )


@lru_cache(maxsize=65536)
def _unseen(count: int, total: int, draws: int) -> float:
    """Return E[(1−q)^draws] after `count` sightings, for q ~ Beta(count + ½, total − count + ½)."""
    b, whole = total - count + 0.5, total + 1.0
    return exp(lgamma(b + draws) - lgamma(b) + lgamma(whole) - lgamma(whole + draws))


def half_width(group: OutcomeGroup, width: float) -> float:
    """Return the error bound of a rule's largest probability, at `width` standard errors."""
    return _half_width(max(group.counts), group.total, width)


def _half_width(most: float, draws: int, width: float) -> float:
    """Return the error bound of the probability of the most frequent outcome.

    The variance is taken at the end of the interval that is nearer to one half. Otherwise a rule
    would pass as soon as it looked, by chance, more certain than it is.
    """
    share = (most + 0.5) / (draws + 1.0)
    share = max(share - width * sqrt(share * (1.0 - share) / draws), 0.5)
    return width * sqrt(share * (1.0 - share) / draws)


class Imprecise(NamedTuple):
    """The outcome types and rules of a model whose probabilities are not known precisely enough."""

    types: Sequence[Sequence[Effect]]
    """The outcomes of each type, the most probable first; the least executed type first."""
    families: Sequence[str]
    """Of families that are told by a tree, once for each such rule."""
    several: int
    """How many types and such rules have several outcomes."""

    @classmethod
    def of(cls, model: LearnedModel, settings: Settings) -> Imprecise:
        """Return those whose mean probabilities may be off by more than the precision.

        The others are all within it with probability 1 − δ, on average over their executions.

        Args:
            model: The model that has the types.
            settings: Has δ and the precision.
        """
        odds, draws = model.types.odds, model.types.draws
        used = {
            number
            for capability in range(len(model.capabilities))
            if model.trees.of(capability) is None
            for number in model.labels_of(capability).values()
        }
        several = [i for i in sorted(used) if len(odds[i]) > 1 and draws[i]]
        planted = model.trees.by_family
        told = [
            (family.name, rule)
            for own, family in zip(model.experts.families.all, model.families, strict=True)
            if own.key in planted
            for rule in family.rules
            if len(rule.effects) > 1
        ]
        numbers = [len(odds[i]) - 1 for i in several] + [len(u.effects) - 1 for _, u in told]
        width = NormalDist().inv_cdf(1 - settings.delta / max(sum(numbers), 1) / 2)

        def wide(most: float, total: int) -> bool:
            return _half_width(most, total, width) > settings.precision

        imprecise = [i for i in several if wide(max(odds[i].values()) * draws[i], draws[i])]
        imprecise.sort(key=lambda i: draws[i])
        return cls(
            [sorted(odds[i], key=lambda e: -odds[i][e]) for i in imprecise],
            [name for name, u in told if wide(max(e.count for e in u.effects), u.executions)],
            len(numbers),
        )


@dataclass(frozen=True)
class Requirements:
    """What each pair and each rule needs, given what was found so far."""

    settings: Settings
    draws: Mapping[int, float]
    """For each capability, how often each of its pairs must be executed."""
    width: float
    """Standard errors within which all rules lie with probability 1 − δ/3."""
    bound: MissBound
    like_missed: tuple[float, float]
    """A, for capabilities that did not vary, and R, for those that did."""
    varied: frozenset[int]
    """The capabilities that showed several outcomes in one state."""

    @classmethod
    def of(cls, graph: StateGraph, settings: Settings) -> Requirements:
        """Return the requirements after what was seen.

        Args:
            graph: The pairs that were tried, with their counts.
            settings: Has ε, δ, the precision and the minimum number of draws.
        """
        pairs: Counter[int] = Counter()
        found: defaultdict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
        for capability, pair in _tried(graph):
            pairs[capability] += 1
            if len(pair.counts) > 1:
                _, *others = sorted(pair.counts.values(), reverse=True)
                found[capability].update((count, pair.total) for count in others)
        bound = MissBound(settings.epsilon, settings.delta * MISSED_SHARE)
        like = bound.like_missed(found.values())
        share = sum(pairs[capability] for capability in found) / max(pairs.total(), 1)
        uniform, varied = bound.needed(like[0], 1.0 - share), bound.needed(like[1], share)
        draws = {c: max(varied if c in found else uniform, settings.min_draws) for c in pairs}
        probabilities = sum(len(group.effects) - 1 for c in found for group in graph.groups(c))
        error = settings.delta * (1 - MISSED_SHARE) / max(probabilities, 1)
        width = NormalDist().inv_cdf(1 - error / 2)
        return cls(settings, draws, width, bound, like, frozenset(found))

    def met_by(self, capability: int, pair: PairStats) -> bool:
        """Return whether a pair that was tried needs no further draw."""
        enough = pair.total >= self.draws.get(capability, inf)
        return enough and not self.imprecise(pair.group)

    def imprecise(self, group: OutcomeGroup) -> bool:
        """Return whether the probabilities of a rule are not precise enough."""
        several = len(group.effects) > 1
        return several and half_width(group, self.width) > self.settings.precision

    def missed(self, graph: StateGraph) -> float:
        """Bound the probability that an outcome above ε was missed."""
        least: dict[bool, int] = {}
        for capability, pair in _tried(graph):
            varied = capability in self.varied
            least[varied] = min(pair.total, least.get(varied, pair.total))
        errors = (self.bound.error(self.like_missed[v], draws) for v, draws in least.items())
        return min(sum(errors), 1.0)


def _tried(graph: StateGraph) -> Iterator[tuple[int, PairStats]]:
    for node in graph.nodes.values():
        for capability, pair in enumerate(node.pairs):
            if pair is not None:
                yield capability, pair


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is settled and what is open."""

    tried: int
    """Pairs that were tried."""
    untried: int
    """Pairs of visited states that were never tried."""
    hidden: float
    """A bound on the probability that an outcome above ε was missed in a pair that was tried."""
    imprecise: int
    """Rules whose probabilities are not precise enough."""
    thin: int
    """Pairs that were tried less often than `min_draws`."""
    least_draws: int
    """How often the pair was tried that was tried least often."""
    epsilon: float
    delta: float
    precision: float

    @classmethod
    def of(cls, graph: StateGraph, settings: Settings) -> Verdict:
        """Return what a graph settles and what it leaves open.

        Args:
            graph: The pairs that were tried, with their counts.
            settings: Has ε, δ, the precision and the minimum number of draws.
        """
        required = Requirements.of(graph, settings)
        totals = [pair.total for _, pair in _tried(graph)]
        rules = (group for c in required.varied for group in graph.groups(c))
        return cls(
            tried=graph.pairs_tried,
            untried=sum(len(node.pairs) - node.tried for node in graph.nodes.values()),
            hidden=required.missed(graph),
            imprecise=sum(map(required.imprecise, rules)),
            thin=sum(total < settings.min_draws for total in totals),
            least_draws=min(totals, default=0),
            epsilon=settings.epsilon,
            delta=settings.delta,
            precision=settings.precision,
        )

    @property
    def reached(self) -> bool:
        """Whether nothing is open."""
        open_ends = not self.tried or self.untried or self.imprecise or self.thin
        return not open_ends and not self._may_hide

    @property
    def _may_hide(self) -> bool:
        return self.hidden > self.delta * MISSED_SHARE

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {**asdict(self), "reached": self.reached}

    def __str__(self) -> str:
        if self.reached:
            return f"settled: {self.claim}"
        return f"still open: {', '.join(self.open_points())}"

    @property
    def claim(self) -> str:
        """The claim that holds if the verdict is reached."""
        escape = (1 - self.epsilon) ** self.least_draws
        return (
            f"with probability {1 - self.delta:g}, no outcome with probability above "
            f"{self.epsilon:g} was missed in the states seen (every pair was tried at least "
            f"{_times(self.least_draws)}; an outcome of probability {self.epsilon:g} escapes that "
            f"with probability {escape:.2g}), and the probabilities of all rules with several "
            f"outcomes are known to within {self.precision:g} on average over the executions of "
            "each rule"
        )

    def open_points(self) -> Iterator[str]:
        """Yield what is still open."""
        if not self.tried:
            yield "nothing was tried yet"
        if self.untried:
            yield f"{counted(self.untried, 'pair')} of a state and a capability never tried"
        if self._may_hide:
            yield (
                f"an outcome with probability above {self.epsilon:g} may have been missed with "
                f"probability up to {self.hidden:.2g} (settled at "
                f"{self.delta * MISSED_SHARE:.2g}; the least-tried "
                f"pair was tried {_times(self.least_draws)})"
            )
        if self.imprecise:
            yield f"{counted(self.imprecise, 'rule')} not yet known to within {self.precision:g}"
        if self.thin:
            yield f"{counted(self.thin, 'pair')} tried less often than --set min-draws asks for"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
