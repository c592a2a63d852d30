"""Changes that the intent did not need.

Achieving `on(a,b)` always ends `holding(a)`; that is how the world is, and no surprise. Nothing but
the draws is known of the world, so a change counts as avoidable only by example: from the state s
an execution ended in s′, and a state t differs from s in a strict part of what s′ differs in, and
is at least as near the intent (`graph.Nearness`). What s′ changed beyond t was not needed. There
are three such t:

- s itself: the agent changed things and is no nearer than if it had done nothing;
- another state that one execution from s was seen to end in, by whatever capability;
- where s′ achieves the intent, a state that achieves it and that a short sequence leads to.

A step on the way is nearer than s and therefore no side effect, and neither is what every way
needs. A world that is unkind by chance (a tire goes flat) is reported like an agent that is
careless: whoever relies on the capability meets both.

How often: among the draws from all states where the change could have come about, whether it did
or not. Counting the states that showed it would forget those that might have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.finding import (
    Example,
    Finding,
    Kind,
    best_examples,
)
from capscope.analysis.findings.schema import Case, Ends, merged
from capscope.analysis.findings.trials import Trials, refined
from capscope.statistics.betting import LEAST_RATE, bar, evidence_above
from capscope.symbolic import Effect, ExactlyOne, State

NOTHING = Effect(0, 0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """An execution's end with what was avoidable in it."""

    state: State
    after: State
    excess: Effect
    count: int
    draws: int


def side_effects(context: FindingContext) -> list[Finding]:
    """Find the avoidable changes that come about often enough."""
    seen = {c: list(_outcomes(context, c)) for c in range(len(context.intents))}
    candidates = {c: _candidates(outcomes, context.exactly_one) for c, outcomes in seen.items()}
    least = bar(2 * sum(map(len, candidates.values())))
    cases: list[Case] = []
    for capability, excesses in candidates.items():
        reported: list[Effect] = []
        for excess in excesses:
            if any(_contains(excess, other) for other in reported):
                continue
            case = _case(context, capability, excess, seen[capability], least)
            if case is not None:
                reported.append(excess)
                cases.append(case)
    return [_worded(case) for case in merged(cases)]


def avoidable(context: FindingContext, capability: int, state: State, after: State) -> Effect:
    """Return what an execution changed beyond what was needed, as far as the draws tell."""
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


def _outcomes(context: FindingContext, capability: int) -> Iterator[Outcome]:
    near = context.nearness(capability)
    for node, pair in context.tried(capability):
        # Where the intent is not known to be within reach, nothing is near or far.
        if not near.reachable(node.state):
            continue
        for effect, count in pair.counts.items():
            after = effect.apply(node.state)
            excess = NOTHING
            if after != node.state:
                excess = avoidable(context, capability, node.state, after)
            yield Outcome(node.state, after, excess, count, pair.total)


def _candidates(outcomes: list[Outcome], groups: ExactlyOne) -> list[Effect]:
    """List the avoidable changes, those that came about most often first.

    That one atom ended because another began, as exactly one of them holds, is no change of its
    own: to come to a place is one event, wherever one came from.
    """
    counts: dict[Effect, int] = {}
    for outcome in outcomes:
        if outcome.excess != NOTHING:
            told = groups.told(outcome.excess)
            counts[told] = counts.get(told, 0) + outcome.count
    totals = {
        excess: sum(count for other, count in counts.items() if _contains(other, excess))
        for excess in counts
    }
    return sorted(totals, key=lambda e: (-totals[e], e.adds.bit_count() + e.deletes.bit_count(), e))


def _contains(effect: Effect, part: Effect) -> bool:
    return not part.adds & ~effect.adds and not part.deletes & ~effect.deletes


def _ends(outcomes: list[Outcome], excess: Effect) -> dict[State, Ends]:
    """Return where the draws ended from the states where an avoidable change could come about."""
    counts: dict[State, dict[State, int]] = defaultdict(dict)
    showing: dict[State, set[State]] = defaultdict(set)
    for o in outcomes:
        if not o.state & excess.adds and o.state & excess.deletes == excess.deletes:
            counts[o.state][o.after] = o.count
            if _contains(o.excess, excess):
                showing[o.state].add(o.after)
    return {state: Ends(counts[state], frozenset(showing[state])) for state in counts}


def _case(
    context: FindingContext, capability: int, excess: Effect, outcomes: list[Outcome], least: float
) -> Case | None:
    """Count an avoidable change where it could come about; None if it is rare or unsure."""
    seen = _ends(outcomes, excess)
    everywhere = Trials.of((state, ends.hits, ends.draws) for state, ends in seen.items())
    when, trials = refined(everywhere, context.words, least)
    if evidence_above(trials.rate, LEAST_RATE) < least:
        return None
    within = set(trials.states)
    shown = [o for o in outcomes if o.state in within and _contains(o.excess, excess)]
    intent = context.intents[capability]
    examples = [Example(intent, o.state, o.after, o.count, o.draws, context.words) for o in shown]
    whole = sum(o.count for o in shown if o.excess == Effect.between(o.state, o.after))
    return Case(
        (intent,),
        {(capability, state): ends for state, ends in seen.items()},
        frozenset((capability, state) for state in within),
        tuple(when),
        excess.literals(context.words),
        best_examples(examples),
        detail=2 * whole > trials.rate.hits,
    )


def _worded(case: Case) -> Finding:
    changes = case.named_literals
    if case.detail:
        what = f"brings about {changes} instead, which is no step towards it"
    else:
        what = f"also brings about {changes}, which was not needed"
    return case.told(Kind.SIDE_EFFECT, what)
