"""Changes that the intent did not need.

Achieving `on(a,b)` always ends `holding(a)`; that is how the world works. A change counts as
avoidable only by example: an execution from s ended in s′, and some state t differs from s in a
strict subset of what s′ differs in and is at least as near the intent (`context.Nearness`). What s′
changed beyond t was not needed. Such a t may be

- s itself: the agent changed things and is no nearer than if it had done nothing;
- another state in which one execution from s ended, of any capability;
- if s′ achieves the intent, a state that achieves it and that a short sequence leads to.

The world's bad luck (a flat tire) is reported too, because a user of the capability meets both. The
rate counts the draws from all states in which the change could have happened; counting only those
that showed it would overestimate it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from capscope.analysis.findings.context import FindingContext, FindingKind
from capscope.analysis.findings.finding import Finding, best_examples
from capscope.analysis.findings.grouping import Ends, FindingCase, merged
from capscope.analysis.findings.rate import LEAST_RATE
from capscope.analysis.findings.splits import EventCounts, narrow_down
from capscope.statistics.error_budget import Share
from capscope.symbolic import Effect, ExactlyOne, State

NOTHING = Effect(0, 0)


class AvoidableOutcome(NamedTuple):
    """The end of executions, with what was avoidable in it."""

    state: State
    after: State
    excess: Effect
    number: int


def find_side_effects(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the avoidable changes that happen often enough."""
    seen = {c: list(_outcomes(context, c)) for c in range(len(context.intents))}
    candidates = {c: _candidates(outcomes, context.exactly_one) for c, outcomes in seen.items()}
    # Two questions for each: how often, and under which condition.
    threshold = share.threshold(2 * sum(map(len, candidates.values())))
    cases: list[FindingCase] = []
    for capability, excesses in candidates.items():
        reported: list[Effect] = []
        for excess in excesses:
            if any(_contains(excess, other) for other in reported):
                continue
            case = _case(context, capability, excess, seen[capability], threshold)
            if case is not None:
                reported.append(excess)
                cases.append(case)
    return [_finding(case) for case in merged(cases)]


SIDE_EFFECT = FindingKind("side effect", "side effects that were not needed", find_side_effects)


def avoidable(context: FindingContext, capability: int, state: State, after: State) -> Effect:
    """Return what an execution changed beyond what was needed, as far as the draws show."""
    near = context.nearness(capability)
    if near.at_least_as_near(state, after):
        return Effect.between(state, after)
    modest = [t for t in context.smaller_steps(state, after) if near.at_least_as_near(t, after)]
    if not modest and context.holds(capability, after):
        modest = list(context.modest_ways(capability, state, after))
    if not modest:
        return NOTHING
    needed = min(modest, key=lambda t: ((state ^ t).bit_count(), t)) ^ state
    changes = Effect.between(state, after)
    return Effect(changes.adds & ~needed, changes.deletes & ~needed)


def _outcomes(context: FindingContext, capability: int) -> Iterator[AvoidableOutcome]:
    near = context.nearness(capability)
    for node, pair in context.tried[capability]:
        # If the intent is not known to be within reach, nothing is near or far.
        if not near.reachable(node.state):
            continue
        for effect, count in pair.counts.items():
            after = effect.apply(node.state)
            changed = after != node.state
            excess = avoidable(context, capability, node.state, after) if changed else NOTHING
            yield AvoidableOutcome(node.state, after, excess, count)


def _candidates(outcomes: list[AvoidableOutcome], groups: ExactlyOne) -> list[Effect]:
    """List the avoidable changes, the most frequent first.

    If exactly one of several atoms holds, that one ended because another began is not a change of
    its own: arriving somewhere is one event, wherever the agent came from.
    """
    counts: Counter[Effect] = Counter()
    for outcome in outcomes:
        if outcome.excess != NOTHING:
            counts[groups.without_implied(outcome.excess)] += outcome.number
    totals = {
        excess: sum(count for other, count in counts.items() if _contains(other, excess))
        for excess in counts
    }
    return sorted(totals, key=lambda e: (-totals[e], e.adds.bit_count() + e.deletes.bit_count(), e))


def _contains(effect: Effect, part: Effect) -> bool:
    return not part.adds & ~effect.adds and not part.deletes & ~effect.deletes


def _ends(outcomes: list[AvoidableOutcome], excess: Effect) -> dict[State, Ends]:
    """Return where draws ended from the states in which an avoidable change could happen."""
    counts: dict[State, dict[State, int]] = defaultdict(dict)
    showing: dict[State, set[State]] = defaultdict(set)
    for o in outcomes:
        if not o.state & excess.adds and o.state & excess.deletes == excess.deletes:
            counts[o.state][o.after] = o.number
            if _contains(o.excess, excess):
                showing[o.state].add(o.after)
    return {state: Ends(counts[state], frozenset(showing[state])) for state in counts}


def _case(
    context: FindingContext,
    capability: int,
    excess: Effect,
    outcomes: list[AvoidableOutcome],
    threshold: float,
) -> FindingCase | None:
    vocabulary, seen = context.vocabulary, _ends(outcomes, excess)
    everywhere = EventCounts.of((state, ends.hits, ends.draws) for state, ends in seen.items())
    when, counts = narrow_down(everywhere, vocabulary, threshold)
    if not counts.rate.surely_above(LEAST_RATE, threshold):
        return None
    within = set(counts.states)
    shown = [o for o in outcomes if o.state in within and _contains(o.excess, excess)]
    examples = [context.example(capability, o.state, o.after) for o in shown]
    whole = sum(o.number for o in shown if o.excess == Effect.between(o.state, o.after))
    return FindingCase(
        (context.intents[capability],),
        {(capability, state): ends for state, ends in seen.items()},
        frozenset((capability, state) for state in within),
        tuple(when),
        excess.literals(vocabulary),
        best_examples(examples),
        detail=2 * whole > counts.rate.hits,
    )


def _finding(case: FindingCase) -> Finding:
    if case.detail:
        what = f"causes {case.named_literals} instead, which is not a step toward it"
    else:
        what = f"also causes {case.named_literals}, which was not needed"
    return case.finding(SIDE_EFFECT.label, case.sentence(what), case.rate.interval[0])
