"""Objects of one type with which the agent does not succeed equally often.

Two events are compared over pairs and their mirror images (`object_swap`), for all intents of one
schema: success if one execution can achieve it in both states, and doing anything at all if the
intent is farther away. Counts are compared within each mirror pair (`odds_ratio`). Pairs of earlier
findings are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from capscope.analysis.findings.context import FindingContext, FindingKind
from capscope.analysis.findings.finding import Finding, Pairs, pairs_of
from capscope.analysis.findings.object_swap import MirrorPair, ObjectSwap, mirror_pairs, swaps
from capscope.analysis.findings.rate import LEAST_DIFFERENCE, Rate
from capscope.statistics.error_budget import Share
from capscope.statistics.odds_ratio import PairedCounts, evidence_of_odds_ratio
from capscope.symbolic import State

Event = Callable[[int, State, State], bool]
"""Whether an execution of a capability, from one state to another, counts."""

SUCCESS = "achieves the intent where one execution can"
EFFORT = "does anything where the intent is farther away"
_EVENTS: dict[str, Callable[[FindingContext], Event]] = {
    SUCCESS: lambda context: lambda capability, _, after: context.holds(capability, after),
    EFFORT: lambda _: lambda __, before, after: before != after,
}


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
        hits, draws, mirrored_hits, mirrored_draws = map(sum, zip(*self.counts, strict=True))
        states, mirrored = (len({pair.sides[i][1] for pair in self.pairs}) for i in (0, 1))
        return Rate(hits, draws, states), Rate(mirrored_hits, mirrored_draws, mirrored)


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
        if evidence_of_odds_ratio(comparison.counts) >= threshold:
            # Once for each swap and schema; success is more informative than effort.
            key = comparison.swap, comparison.schema
            if key not in reported or comparison.event == SUCCESS:
                reported[key] = comparison
    return [
        _finding(context, comparison, [c for c in compared if (c.swap, c.schema) == key])
        for key, comparison in reported.items()
    ]


UNEQUAL_SUCCESS = FindingKind(
    "unequal success",
    "objects of one type that are treated differently",
    find_unequal_success,
    reported_as="asymmetry",
    approximate=True,
)


def _comparisons(context: FindingContext, reported: Pairs) -> Iterator[MirrorComparison]:
    """Count the events in all pairs that have a mirror image, and in these."""
    for swap in swaps(context.vocabulary):
        groups: dict[tuple[str, Hashable], list[MirrorPair]] = defaultdict(list)
        for pair in mirror_pairs(context, swap, reported):
            event = None if pair.same_intent else _event_to_count(context, pair)
            if event is not None:
                groups[event, pair.schema].append(pair)
        for (event, schema), members in groups.items():
            counted = _EVENTS[event](context)
            counts = tuple(_paired_counts(context, pair, counted) for pair in members)
            yield MirrorComparison(swap, schema, event, tuple(members), counts)


def _event_to_count(context: FindingContext, pair: MirrorPair) -> str | None:
    """Return which event is informative about a mirror pair; None if none is."""
    at_once = [context.possible_at_once(c, state) for c, state in pair.sides]
    if all(at_once):
        return SUCCESS
    within_reach = all(context.nearness(c).reachable(state) for c, state in pair.sides)
    return EFFORT if within_reach and not any(at_once) else None


def _paired_counts(context: FindingContext, pair: MirrorPair, event: Event) -> PairedCounts:
    numbers: list[int] = []
    for capability, state in pair.sides:
        stats = context.pair(capability, state)
        counted = (n for e, n in stats.counts.items() if event(capability, state, e.apply(state)))
        numbers += (sum(counted), stats.total)
    return PairedCounts(*numbers)


def _finding(
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
    mirrored = context.intents[images[0][0]]
    sentence = (
        f"The agent treats {swap.one} and {swap.other} differently: asked for {intents[0]}"
        f"{' and similar intents' if len(intents) > 1 else ''}, it {comparison.event} with "
        f"probability {one.text}; asked for {mirrored} in the mirrored states, {other.text}."
    )
    return Finding(
        UNEQUAL_SUCCESS.label,
        intents,
        sentence,
        one,
        other,
        (),
        intents[0].literals + mirrored.literals,
        context.failures(sides),
        frozenset(side for other in related for pair in other.pairs for side in pair.sides),
        strength=one.gap_to(other),
    )
