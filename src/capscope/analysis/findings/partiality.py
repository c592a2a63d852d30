"""Objects of one type that an agent's steps tell apart, though it succeeds with both.

Success is one thing, the way another: asked for anything, an agent may always set out with the
first of two trucks. Then the outcomes of a pair are not the mirror image of those of its mirrored
pair. Each couple is compared by its whole distribution: the draws of both sides under two
distributions (Dirichlet mixtures), against the best single one. Most couples are even and say
nothing, and multiplying their ratios would drown those that speak; so each ratio is first averaged
with 1, by a weight that is averaged over in turn.

The vocabulary may not say all that tells two objects apart: the key lies in one of two rooms, and
no atom names it. So only outcomes are compared that were seen to be possible in both mirror images,
by whatever capability, and that lead equally near to the intent.

A reported preference between two alternatives that are each other's mirror image is this very
finding in better words; then nothing more is said of the two objects. Else it is said once for each
swap, by the intents where it is surest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.finding import Example, Finding, Kind, Pairs, best_examples, joined
from capscope.analysis.findings.mirror import Couple, Swap, couples, pair_of, swaps
from capscope.statistics.betting import LEAST_DIFFERENCE, Rate, bar
from capscope.symbolic import Effect, Literal

_WEIGHTS = (0.02, 0.1, 0.5)
Counts = Mapping[Effect, int]


@dataclass(frozen=True)
class Group:
    """The couples of one schema of intents under one swap, with what was seen on both sides."""

    swap: Swap
    couples: tuple[Couple, ...]
    seen: tuple[tuple[Counts, Counts], ...]

    @property
    def ratios(self) -> list[float]:
        """Of each couple, the log ratio against "each side is the mirror image of the other"."""
        return [
            _even_evidence(ones, self.swap) if couple.same else _difference(ones, others)
            for couple, (ones, others) in zip(self.couples, self.seen, strict=True)
        ]


def partialities(context: FindingContext, told: Pairs, habits: Sequence[Finding]) -> list[Finding]:
    """Find the pairs of objects that the agent's outcomes tell apart."""
    groups: list[Group] = []
    for swap in swaps(context.words):
        if not any(_explains(habit.literals, swap) for habit in habits):
            groups += _groups(context, swap, told)
    least = bar(len(groups))
    best: dict[tuple[str, str], tuple[float, Group]] = {}
    for group in groups:
        evidence = evidence_of_partiality(group.ratios)
        key = group.swap.one, group.swap.other
        if evidence >= least and evidence > best.get(key, (0.0,))[0]:
            best[key] = evidence, group
    findings = (_finding(context, group) for _, group in best.values())
    return [finding for finding in findings if finding is not None]


def evidence_of_partiality(ratios: Sequence[float]) -> float:
    """Join the log ratios of couples of which perhaps few differ."""
    joint = [
        sum(math.log1p(weight * math.expm1(min(ratio, 500.0))) for ratio in ratios)
        for weight in _WEIGHTS
    ]
    largest = max(joint)
    return largest + math.log(sum(math.exp(j - largest) for j in joint) / len(joint))


def _explains(literals: Sequence[Literal], swap: Swap) -> bool:
    images = {Literal(swap.atom(x.atom), x.positive) for x in literals}
    return any(x in images and swap.atom(x.atom) != x.atom for x in literals)


def _groups(context: FindingContext, swap: Swap, told: Pairs) -> list[Group]:
    members: dict[Hashable, list[Couple]] = defaultdict(list)
    for couple in couples(context, swap, told):
        if all(context.nearness(c).reachable(state) for c, state in couple.sides):
            schema = members[couple.schema]
            # The question is asked, even where there is nobody to answer it.
            if not couple.same or _lopsided(context, swap, couple):
                schema.append(couple)
    return [
        Group(swap, tuple(group), tuple(_seen(context, swap, couple) for couple in group))
        for group in members.values()
    ]


def _lopsided(context: FindingContext, swap: Swap, couple: Couple) -> bool:
    """Say whether a pair that is its own mirror image has outcomes that are not."""
    effects = pair_of(context, couple.sides[0]).counts
    return any(swap.effect(effect) != effect for effect in effects)


def _seen(context: FindingContext, swap: Swap, couple: Couple) -> tuple[Counts, Counts]:
    """Return the counts of a pair, and those of its mirror image seen in the mirror."""
    one, other = (pair_of(context, side).counts for side in couple.sides)
    images = {swap.effect(effect): n for effect, n in other.items()}
    open_to_both = {e for e in one.keys() | images.keys() if _equivalent(context, swap, couple, e)}
    return (
        {effect: n for effect, n in one.items() if effect in open_to_both},
        {effect: n for effect, n in images.items() if effect in open_to_both},
    )


def _equivalent(context: FindingContext, swap: Swap, couple: Couple, effect: Effect) -> bool:
    """Say whether an outcome and its mirror image were possible and lead equally near."""
    here, there = effect.apply(couple.state), swap.effect(effect).apply(couple.mirrored_state)
    for before, after in ((couple.state, here), (couple.mirrored_state, there)):
        if after != before and after not in context.successors(before):
            return False
    near, mirrored = map(context.nearness, (couple.capability, couple.mirrored_capability))
    return near.by_luck(here) == mirrored.by_luck(there)


def _even_evidence(counts: Counts, swap: Swap) -> float:
    """Compare each outcome of a pair that is its own mirror image with the mirrored outcome."""
    evidence = 0.0
    for effect in {min(effect, swap.effect(effect)) for effect in counts}:
        image = swap.effect(effect)
        if image != effect:
            both = (counts.get(effect, 0), counts.get(image, 0))
            evidence += _dirichlet(both, 2) + sum(both) * math.log(2)
    return evidence


def _difference(ones: Counts, others: Counts) -> float:
    outcomes = ones.keys() | others.keys()
    rows = [tuple(side.get(effect, 0) for effect in outcomes) for side in (ones, others)]
    totals = [sum(column) for column in zip(*rows, strict=True)]
    null = math.fsum(n * math.log(n / sum(totals)) for n in totals)
    # One outcome more than was seen: how many there are was not known beforehand.
    return math.fsum(_dirichlet(row, len(outcomes) + 1) for row in rows) - null


@lru_cache(maxsize=65536)
def _dirichlet(counts: tuple[int, ...], outcomes: int) -> float:
    """Return the log likelihood of a sequence of draws, averaged over Dirichlet(½, …, ½)."""
    inside = sum(math.lgamma(n + 0.5) - math.lgamma(0.5) for n in counts)
    return math.lgamma(outcomes / 2) - math.lgamma(sum(counts) + outcomes / 2) + inside


def _finding(context: FindingContext, group: Group) -> Finding | None:
    """Tell the effect whose rate differs most in the couple that is surest."""
    swap = group.swap
    ratios = group.ratios
    # Evidence that reached the bar came from somewhere: the surest couple has counts.
    surest = max(range(len(ratios)), key=lambda i: (ratios[i], -i))
    couple, (ones, others) = group.couples[surest], group.seen[surest]
    if couple.same:
        others = {swap.effect(effect): n for effect, n in ones.items()}
    effect = max(ones, key=lambda e: (ones[e] / sum(ones.values()) - _share(others, e), e))
    rate, against = (Rate(c.get(effect, 0), sum(c.values()), 1) for c in (ones, others))
    if rate.probability - against.probability < LEAST_DIFFERENCE:
        return None
    (capability, state), (mirrored, _) = couple.sides
    intent = context.intents[capability]
    told = [
        context.exactly_one.told(e).literals(context.words) for e in (effect, swap.effect(effect))
    ]
    changes = [joined(literals) or "nothing" for literals in told]
    sentence = (
        f"The agent does not treat {swap.one} like {swap.other}: asked for {intent}, it brings "
        f"about {changes[0]} with probability {rate.text}; asked for "
        f"{context.intents[mirrored]} in the mirrored state, it brings about {changes[1]} with probability {against.text}."
    )
    example = Example(intent, state, effect.apply(state), rate.hits, rate.draws, context.words)
    return Finding(
        Kind.ASYMMETRY,
        (intent,),
        sentence,
        rate,
        against,
        (),
        told[0],
        best_examples([example]),
        frozenset(couple.sides),
        strength=max(rate.interval[0] - against.interval[1], 0.0),
    )


def _share(counts: Counts, effect: Effect) -> float:
    return counts.get(effect, 0) / sum(counts.values())
