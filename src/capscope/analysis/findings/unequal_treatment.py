"""Objects of one type that the agent treats differently, although nothing seen distinguishes them.

**Unequal success.** Two events are compared over pairs and their mirror images (`object_swap`), for
all intents of one schema: success if it can be expected in both states, and doing anything at all
if the intent is farther away. Whether it can be expected is decided by rules and by other requests
(`success_rows`), not by whether the pair itself ever succeeded: then an object with which the agent
often fails would be judged only where it does not. If rules do depend on that, because each state
always showed the same, one execution must have achieved the intent in both states. Counts are
compared within each mirror pair (`paired_rates`). Pairs of earlier findings are left out.

**Unequal steps.** An agent that succeeds with both may always set out with the first of two trucks.
So each mirror pair is compared by its whole distribution of outcomes (`categorical`). Most pairs
show no difference, and the product of all scores would hide those that do; so each score is first
averaged with 1, by several weights (`stratified_test.evidence_of_some`). The vocabulary may not
capture what distinguishes two objects, so only outcomes are compared that were seen to be possible
in both mirror images and that lead equally near to the intent. If a preference between mirrored
alternatives is reported, nothing is added about the two objects. Otherwise each swap is reported
once, by the intents for which it is surest.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from capscope.analysis.findings.context import FindingContext, FindingKind
from capscope.analysis.findings.finding import Finding, Pairs, joined, pairs_of
from capscope.analysis.findings.object_swap import MirrorPair, ObjectSwap, mirrored
from capscope.analysis.findings.preferences import PREFERENCE
from capscope.analysis.findings.rate import LEAST_DIFFERENCE, Rate
from capscope.analysis.findings.success_rows import chosen_by_rules, fair_states
from capscope.statistics.categorical import evidence_of_imbalance, evidence_of_two_distributions
from capscope.statistics.error_budget import Share
from capscope.statistics.paired_rates import PairedCounts, evidence_of_unequal_rates
from capscope.statistics.stratified_test import evidence_of_some
from capscope.symbolic import Effect, Literal

SUCCESS = "achieves the intent at once"
EFFORT = "does anything where the intent is farther away"
_WEIGHTS = (0.02, 0.1, 0.5)
_MOST_EVIDENCE = 500.0
"""Pairs that are surer than this count as equally sure."""
EffectCounts = Mapping[Effect, int]


@dataclass(frozen=True)
class MirrorComparison:
    """An event counted for two objects, over the intents of one schema."""

    swap: ObjectSwap
    schema: Hashable
    event: str
    pairs: tuple[MirrorPair, ...]
    counts: tuple[PairedCounts, ...]

    @property
    def rates(self) -> tuple[Rate, Rate]:
        """The rate for the first object and for the other."""
        states, images = (len({pair.sides[i][1] for pair in self.pairs}) for i in (0, 1))
        one = Rate.of(((c.hits, c.draws) for c in self.counts), states)
        return one, Rate.of(((c.other_hits, c.other_draws) for c in self.counts), images)


def find_unequal_success(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the objects of one type between which success or effort differs."""
    compared = list(_comparisons(context, pairs_of(earlier)))
    threshold = share.threshold(len(compared))
    reported: dict[Hashable, MirrorComparison] = {}
    for comparison in compared:
        one, other = comparison.rates
        if abs(one.probability - other.probability) < LEAST_DIFFERENCE:
            continue
        if evidence_of_unequal_rates(comparison.counts) >= threshold:
            # Once for each swap and schema; success is more informative than effort.
            key = comparison.swap, comparison.schema
            if key not in reported or comparison.event == SUCCESS:
                reported[key] = comparison
    return [
        _success_finding(context, comparison, [c for c in compared if (c.swap, c.schema) == key])
        for key, comparison in reported.items()
    ]


UNEQUAL_SUCCESS = FindingKind(
    "unequal success",
    "objects of one type that are treated differently",
    find_unequal_success,
    reported_as="asymmetry",
    approximate=True,
    severity=1,
    assumes_steady_agent=True,
)


def _comparisons(context: FindingContext, reported: Pairs) -> Iterator[MirrorComparison]:
    """Count the events in all pairs that have a mirror image, and in these."""
    for swap, pairs in context.once(mirrored):
        groups: dict[tuple[str, Hashable], list[MirrorPair]] = defaultdict(list)
        for pair in pairs:
            told = pair.same_intent or not reported.isdisjoint(pair.sides)
            event = None if told else _event_to_count(context, pair)
            if event is not None:
                groups[event, pair.schema].append(pair)
        for (event, schema), members in groups.items():
            counts = tuple(_paired_counts(context, pair, event) for pair in members)
            yield MirrorComparison(swap, schema, event, tuple(members), counts)


def _event_to_count(context: FindingContext, pair: MirrorPair) -> str | None:
    """Return which event is informative about a mirror pair; None if none is."""
    fair = context.once(fair_states)
    if all(context.once(chosen_by_rules)(c) for c, _ in pair.sides):
        at_once = [state in fair(c) for c, state in pair.sides]
    else:
        # Both sides must be chosen in the same way.
        at_once = [context.possible_at_once(c, state) for c, state in pair.sides]
    if all(at_once):
        return SUCCESS
    within_reach = all(context.nearness(c).reachable(state) for c, state in pair.sides)
    return EFFORT if within_reach and not any(at_once) else None


def _paired_counts(context: FindingContext, pair: MirrorPair, event: str) -> PairedCounts:
    numbers: list[int] = []
    for capability, state in pair.sides:
        stats = context.pair(capability, state)
        ends = ((effect.apply(state), n) for effect, n in stats.counts.items())
        if event == SUCCESS:
            hits = sum(n for after, n in ends if context.holds(capability, after))
        else:
            hits = sum(n for after, n in ends if after != state)
        numbers += (hits, stats.total)
    return PairedCounts(*numbers)


def _success_finding(
    context: FindingContext, comparison: MirrorComparison, related: list[MirrorComparison]
) -> Finding:
    """Report a comparison; those of the same swap and schema need not be reported any more."""
    swap = comparison.swap
    one, other = comparison.rates
    sides, images = (list(side) for side in zip(*(p.sides for p in comparison.pairs), strict=True))
    if one.probability > other.probability:
        # The sentence is about the object that fares worse.
        one, other, sides, images = other, one, images, sides
        swap = ObjectSwap(swap.other, swap.one, swap.moves)
    intents = tuple(dict.fromkeys(context.intents[c] for c, _ in sides))
    image = context.intents[images[0][0]]
    sentence = (
        f"The agent treats {swap.one} and {swap.other} differently: asked for {intents[0]}"
        f"{' and similar intents' if len(intents) > 1 else ''}, it {comparison.event} with "
        f"probability {one.text}; asked for {image} in the mirrored states, {other.text}."
    )
    return Finding(
        UNEQUAL_SUCCESS.label,
        intents,
        sentence,
        one,
        other,
        (),
        intents[0].mentioned + image.mentioned,
        context.failures(sides),
        frozenset(side for other in related for pair in other.pairs for side in pair.sides),
        strength=one.gap_to(other),
    )


@dataclass(frozen=True)
class MirrorGroup:
    """The mirror pairs of one schema of intents under one swap, with the counts of both sides."""

    swap: ObjectSwap
    pairs: tuple[MirrorPair, ...]
    counts: tuple[tuple[EffectCounts, EffectCounts], ...]

    @cached_property
    def scores(self) -> list[float]:
        """For each pair, the log score against "each side is the mirror image of the other"."""
        return [
            _evidence_of_one(ones, self.swap) if pair.same else _evidence_of_two(ones, others)
            for pair, (ones, others) in zip(self.pairs, self.counts, strict=True)
        ]

    @property
    def evidence(self) -> float:
        """The log score against "no pair differs from its mirror image"."""
        return evidence_of_some([min(score, _MOST_EVIDENCE) for score in self.scores], _WEIGHTS)


def find_unequal_steps(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the pairs of objects that the agent's outcomes treat differently."""
    preferences = [finding for finding in earlier if finding.kind == PREFERENCE.label]
    reported = pairs_of(earlier)
    groups: list[MirrorGroup] = []
    for swap, pairs in context.once(mirrored):
        if not any(_explains(preference.literals, swap) for preference in preferences):
            groups += _groups(context, swap, [p for p in pairs if reported.isdisjoint(p.sides)])
    threshold = share.threshold(len(groups))
    best: dict[tuple[str, str], tuple[float, MirrorGroup]] = {}
    for group in groups:
        evidence, key = group.evidence, (group.swap.one, group.swap.other)
        if evidence >= threshold and evidence > best.get(key, (0.0,))[0]:
            best[key] = evidence, group
    findings = (_steps_finding(context, group) for _, group in best.values())
    return [finding for finding in findings if finding is not None]


UNEQUAL_STEPS = FindingKind(
    "unequal steps",
    UNEQUAL_SUCCESS.description,
    find_unequal_steps,
    reported_as=UNEQUAL_SUCCESS.label,
    approximate=True,
    severity=1,
    assumes_steady_agent=True,
)


def _explains(literals: Sequence[Literal], swap: ObjectSwap) -> bool:
    images = {Literal(swap.atom(x.atom), x.positive) for x in literals}
    return any(x in images and swap.atom(x.atom) != x.atom for x in literals)


def _groups(
    context: FindingContext, swap: ObjectSwap, pairs: Sequence[MirrorPair]
) -> list[MirrorGroup]:
    members: dict[Hashable, list[MirrorPair]] = defaultdict(list)
    for pair in pairs:
        if all(context.nearness(c).reachable(state) for c, state in pair.sides):
            schema = members[pair.schema]
            # A schema counts as a question even if none of its pairs can answer it.
            if not pair.same or _lopsided(context, swap, pair):
                schema.append(pair)
    return [
        MirrorGroup(swap, tuple(group), tuple(_counts(context, swap, pair) for pair in group))
        for group in members.values()
    ]


def _lopsided(context: FindingContext, swap: ObjectSwap, pair: MirrorPair) -> bool:
    effects = context.pair(*pair.sides[0]).counts
    return any(swap.effect(effect) != effect for effect in effects)


def _counts(
    context: FindingContext, swap: ObjectSwap, pair: MirrorPair
) -> tuple[EffectCounts, EffectCounts]:
    """Return the counts of a pair, and those of its mirror image with the effects mirrored."""
    one, other = (context.pair(*side).counts for side in pair.sides)
    images = {swap.effect(effect): n for effect, n in other.items()}
    open_to_both = {e for e in one.keys() | images.keys() if _equivalent(context, swap, pair, e)}
    return (
        {effect: n for effect, n in one.items() if effect in open_to_both},
        {effect: n for effect, n in images.items() if effect in open_to_both},
    )


def _equivalent(
    context: FindingContext, swap: ObjectSwap, pair: MirrorPair, effect: Effect
) -> bool:
    """Return whether an outcome and its mirror image were possible and lead equally near."""
    near = []
    for (capability, before), change in zip(pair.sides, (effect, swap.effect(effect)), strict=True):
        after = change.apply(before)
        if after != before and after not in context.successors(before):
            return False
        near.append(context.nearness(capability).if_lucky(after))
    return near[0] == near[1]


def _evidence_of_one(counts: EffectCounts, swap: ObjectSwap) -> float:
    """Compare each outcome of a pair that is its own mirror image with the mirrored outcome."""
    evidence = 0.0
    for effect in {min(effect, swap.effect(effect)) for effect in counts}:
        image = swap.effect(effect)
        if image != effect:
            evidence += evidence_of_imbalance(counts.get(effect, 0), counts.get(image, 0))
    return evidence


def _evidence_of_two(ones: EffectCounts, others: EffectCounts) -> float:
    # One outcome more than was seen: their number was not known in advance.
    return evidence_of_two_distributions(ones, others, len(ones.keys() | others.keys()) + 1)


def _steps_finding(context: FindingContext, group: MirrorGroup) -> Finding | None:
    """Report the effect whose rate differs most in the mirror pair that is surest."""
    swap, scores, vocabulary = group.swap, group.scores, context.vocabulary
    # Evidence that reached the threshold has a source: the surest pair has counts.
    surest = max(range(len(scores)), key=lambda i: (scores[i], -i))
    pair, (ones, others) = group.pairs[surest], group.counts[surest]
    if pair.same:
        others = {swap.effect(effect): n for effect, n in ones.items()}
    effect = max(ones, key=lambda e: (_share(ones, e) - _share(others, e), e))
    # The surest of many pairs.
    number = 2 * len(scores)
    rate, against = (
        Rate.of([(c.get(effect, 0), sum(c.values()))], 1, number) for c in (ones, others)
    )
    if rate.probability - against.probability < LEAST_DIFFERENCE:
        return None
    (capability, state), (other, _) = pair.sides
    intent = context.intents[capability]
    literals, image = (
        context.exactly_one.without_implied(e).literals(vocabulary)
        for e in (effect, swap.effect(effect))
    )
    sentence = (
        f"The agent treats {swap.one} and {swap.other} differently: asked for {intent}, it causes "
        f"{joined(literals) or 'nothing'} with probability {rate.text}; asked for "
        f"{context.intents[other]} in the mirrored state, it causes "
        f"{joined(image) or 'nothing'} with probability {against.text}."
    )
    example = context.example(capability, state, effect.apply(state), rate.draws)
    return Finding(
        UNEQUAL_STEPS.label,
        (intent,),
        sentence,
        rate,
        against,
        (),
        literals,
        (example,),
        frozenset(pair.sides),
        strength=against.gap_to(rate),
    )


def _share(counts: EffectCounts, effect: Effect) -> float:
    return counts.get(effect, 0) / sum(counts.values())
