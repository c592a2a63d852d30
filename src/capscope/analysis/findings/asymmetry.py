"""Objects of one type with which the agent does not succeed alike.

Two events are compared over pairs and their mirror images (`mirror.py`), for all intents of one
schema together: success where it is possible at once in both states, and doing anything at all
where the intent is farther away. States differ in how easy they are, and were not drawn from
equally often, so counts are compared within each couple of states: given how many of its draws
succeeded, how many of them belong to the one object? Without asymmetry that is hypergeometric; the
alternative is one odds ratio for all couples, averaged over a range of them. (This conditions on
the numbers of draws, so it leans on an adaptive strategy having no favourite of the two.)

Pairs that another finding speaks of are left out: a weak spot of one intent is not told twice.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.finding import Example, Finding, Kind, Pairs, best_examples
from capscope.analysis.findings.mirror import Couple, Swap, couples, pair_of, swaps
from capscope.statistics.betting import LEAST_DIFFERENCE, Rate, bar
from capscope.symbolic import State

_LOG_ODDS = tuple(x / 2 for x in range(-10, 11) if x)

Event = Callable[[int, State, State], bool]
"""Whether an execution of a capability, from one state to another, counts."""


class Tally(NamedTuple):
    """Hits and draws of a pair and of its mirror image."""

    hits: int
    draws: int
    mirrored_hits: int
    mirrored_draws: int


@dataclass(frozen=True)
class Comparison:
    """An event counted for two objects, over the intents of one schema."""

    swap: Swap
    schema: Hashable
    what: str
    couples: tuple[Couple, ...]
    tallies: tuple[Tally, ...]

    @property
    def rates(self) -> tuple[Rate, Rate]:
        """The rate for the first object and for the other."""
        hits, draws, mirrored_hits, mirrored_draws = map(sum, zip(*self.tallies, strict=True))
        states = len({couple.state for couple in self.couples})
        mirrored = len({couple.mirrored_state for couple in self.couples})
        return Rate(hits, draws, states), Rate(mirrored_hits, mirrored_draws, mirrored)


def asymmetries(context: FindingContext, told: Pairs) -> list[Finding]:
    """Find the objects of one type between which success or effort differs."""
    compared = list(_comparisons(context, told))
    least = bar(len(compared))
    told_of: dict[Hashable, Comparison] = {}
    for comparison in compared:
        one, other = comparison.rates
        if abs(one.probability - other.probability) < LEAST_DIFFERENCE:
            continue
        if evidence_of_asymmetry(comparison.tallies) >= least:
            # Once for each swap and schema; success says more than effort.
            key = comparison.swap, comparison.schema
            if key not in told_of or comparison.what == SUCCESS:
                told_of[key] = comparison
    return [
        _finding(context, comparison, [c for c in compared if (c.swap, c.schema) == key])
        for key, comparison in told_of.items()
    ]


def evidence_of_asymmetry(tallies: Sequence[Tally]) -> float:
    """Return the log ratio against "in each couple, one and the same probability"."""
    ratios = [sum(_log_ratio(tally, odds) for tally in tallies) for odds in _LOG_ODDS]
    largest = max(ratios)
    return largest + math.log(sum(math.exp(r - largest) for r in ratios) / len(ratios))


@lru_cache(maxsize=65536)
def _log_ratio(tally: Tally, log_odds: float) -> float:
    """Return how much likelier a split of the hits is at an odds ratio than at none."""
    hits, draws, mirrored_hits, mirrored_draws = tally
    total = hits + mirrored_hits
    low, high = max(0, total - mirrored_draws), min(total, draws)
    weights = [
        _log_choose(draws, k) + _log_choose(mirrored_draws, total - k) for k in range(low, high + 1)
    ]
    plain = _log_sum(weights)
    tilted = _log_sum([w + k * log_odds for k, w in enumerate(weights, low)])
    return hits * log_odds - tilted + plain


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_sum(values: Sequence[float]) -> float:
    largest = max(values)
    return largest + math.log(sum(math.exp(value - largest) for value in values))


def _comparisons(context: FindingContext, told: Pairs) -> Iterator[Comparison]:
    """Pair up all pairs with their mirror images, and count both events in them."""
    for swap in swaps(context.words):
        groups: dict[tuple[str, Hashable], list[Couple]] = defaultdict(list)
        for couple in couples(context, swap, told):
            what = None if couple.same_intent else _what_to_count(context, couple)
            if what is not None:
                groups[what, couple.schema].append(couple)
        for (what, schema), members in groups.items():
            event = _EVENTS[what](context)
            tallies = [_tally(context, couple, event) for couple in members]
            yield Comparison(swap, schema, what, tuple(members), tuple(tallies))


SUCCESS = "achieves the intent where it is possible at once"
EFFORT = "does anything where the intent is farther away"
_EVENTS: dict[str, Callable[[FindingContext], Event]] = {
    SUCCESS: lambda context: lambda capability, _, after: context.holds(capability, after),
    EFFORT: lambda _: lambda __, before, after: before != after,
}


def _what_to_count(context: FindingContext, couple: Couple) -> str | None:
    """Return which event tells something about a couple; None if none does."""
    at_once = [context.possible_at_once(c, state) for c, state in couple.sides]
    if all(at_once):
        return SUCCESS
    within_reach = all(context.nearness(c).reachable(state) for c, state in couple.sides)
    return EFFORT if within_reach and not any(at_once) else None


def _tally(context: FindingContext, couple: Couple, event: Event) -> Tally:
    numbers: list[int] = []
    for capability, state in couple.sides:
        pair = pair_of(context, (capability, state))
        counted = (n for e, n in pair.counts.items() if event(capability, state, e.apply(state)))
        numbers += (sum(counted), pair.total)
    return Tally(*numbers)


def _finding(context: FindingContext, comparison: Comparison, related: list[Comparison]) -> Finding:
    """Tell a comparison; those of the same swap and schema need not be told any more."""
    swap = comparison.swap
    one, other = comparison.rates
    sides = [couple.sides[0] for couple in comparison.couples]
    images = [couple.sides[1] for couple in comparison.couples]
    if one.probability > other.probability:
        # The object that fares worse is the one to tell about.
        one, other, sides, images = other, one, images, sides
        swap = Swap(swap.other, swap.one, swap.moves)
    intents = tuple(dict.fromkeys(context.intents[c] for c, _ in sides))
    mirrored = context.intents[images[0][0]]
    sentence = (
        f"The agent does not treat {swap.one} like {swap.other}: asked for {intents[0]}"
        f"{' and the like' if len(intents) > 1 else ''}, it {comparison.what} with probability "
        f"{one.text}; asked for {mirrored} in the mirrored states, {other.text}."
    )
    return Finding(
        Kind.ASYMMETRY,
        intents,
        sentence,
        one,
        other,
        (),
        intents[0].literals + mirrored.literals,
        _examples(context, sides),
        frozenset(side for other in related for couple in other.couples for side in couple.sides),
        strength=max(other.interval[0] - one.interval[1], 0.0),
    )


def _examples(context: FindingContext, sides: list[tuple[int, State]]) -> tuple[Example, ...]:
    found = []
    for capability, state in sides:
        pair = pair_of(context, (capability, state))
        for effect, count in pair.counts.items():
            after, intent = effect.apply(state), context.intents[capability]
            if not context.holds(capability, after):
                found.append(Example(intent, state, after, count, pair.total, context.words))
    return best_examples(found)
