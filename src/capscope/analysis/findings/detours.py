"""Steps that do not lead to the intent: changes on the way that the way did not need.

An execution may end before the intent is achieved (`temporal_length`), so that it takes several to
get there. Then a change is a detour if the intent is no nearer after it, and a known sequence leads
there without it that is as short as any. Both are known only as far as requests were made: a state
counts if the capability was tried in the state after the change too, and if any sequence is known
that leads from it to the intent without the change. If there is none, it may just not have been
tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from capscope.analysis.findings.case import Case, answered, merged
from capscope.analysis.findings.caused_literals import CausedLiterals
from capscope.analysis.findings.context import FindingContext, FindingKind
from capscope.analysis.findings.finding import Finding, joined, pairs_of
from capscope.analysis.findings.known_steps import FAR
from capscope.analysis.findings.lifted_intents import (
    Family,
    Rows,
    Thresholds,
    Topic,
    agree,
    families,
)
from capscope.analysis.findings.rate import LEAST_RATE
from capscope.analysis.findings.side_effects import caused_literals, hits_of
from capscope.analysis.findings.splits import EventCounts, narrow_down
from capscope.statistics.arrays import Integers
from capscope.statistics.error_budget import Share
from capscope.symbolic import Effect, Literal, State

_MOSTLY = 0.8
_LEAST_JUDGED = 3  # changes, if there are so many


def find_detours(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the changes on the way to an intent that lead no nearer to it."""
    caused = context.once(caused_literals)
    topics = [
        Topic(c, literal)
        for c, own in enumerate(caused)
        for literal in own.hits
        if any(_is_step(context, c, s, e) for s, e in hits_of(context, c, own, literal))
    ]
    asked = families(context, topics)
    thresholds = Thresholds.of(share, asked)
    rows_of = {
        topic: _rows(context, caused[topic.capability], topic)
        for topic in {topic: None for family in asked for topic in family.topics}
    }
    found = answered(context, asked, rows_of, thresholds, partial(_case, context))
    told = pairs_of(earlier)
    return [_finding(context, case) for case in merged(found) if not case.pairs <= told]


DETOUR = FindingKind("detour", "needless detours", find_detours, severity=1)


def _is_step(context: FindingContext, capability: int, state: State, effect: Effect) -> bool:
    """Return whether an outcome is one of several steps: neither it nor another achieves it."""
    after = effect.apply(state)
    return not context.holds(capability, after) and not context.possible_at_once(capability, state)


def _rows(context: FindingContext, caused: CausedLiterals, topic: Topic) -> Rows:
    """Count the literal in the states where it was false and the intent takes several requests."""
    assert topic.literal is not None
    atom = context.atom_index[topic.literal.atom]
    far = np.array(
        [
            not context.possible_at_once(topic.capability, context.nodes[i].state)
            for i in caused.states.tolist()
        ],
        dtype=bool,
    )
    counted = (context.bits[caused.states, atom] != topic.literal.positive) & far
    hits = np.zeros(len(caused.states), dtype=np.int64)
    for row, number in caused.hits.get(topic.literal, {}).items():
        hits[row] = number
    return caused.states[counted], hits[counted], caused.draws[counted]


def _case(
    context: FindingContext, family: Family, everywhere: EventCounts, needed: Thresholds
) -> Case | None:
    when, inside = narrow_down(everywhere, needed.condition, needed.later)
    if not inside.draws.any() or not inside.rate.surely_above(LEAST_RATE, needed.rate):
        return None
    case = Case(family, everywhere, inside, tuple(when))
    judged = list(_judged(context, case))
    least = min(_LEAST_JUDGED, sum(1 for _ in _steps(context, case)))
    if not judged or len(judged) < least or sum(judged) < _MOSTLY * len(judged):
        return None
    if not agree(family, inside):
        return None
    return case


def _judged(context: FindingContext, case: Case) -> Iterator[bool]:
    """Yield for each change of which that can be known whether it was a detour."""
    for topic, state, effect in _steps(context, case):
        assert topic.literal is not None
        after = effect.apply(state)
        if context.graph.pair(after, topic.capability) is None:
            continue
        here, there = (context.index[s] for s in (state, after))
        distance = context.distances(topic.capability)
        sparing = distance_without(context, topic.capability, topic.literal)
        if sparing[here] < FAR:
            yield bool(distance[here] <= distance[there] and sparing[here] == distance[here])


def _steps(context: FindingContext, case: Case) -> Iterator[tuple[Topic, State, Effect]]:
    for topic, state in case.topics_inside():
        assert topic.literal is not None
        bit = context.vocabulary.bit[topic.literal.atom]
        for effect in context.pair(topic.capability, state).counts:
            if (effect.adds if topic.literal.positive else effect.deletes) & bit:
                yield topic, state, effect


def distance_without(context: FindingContext, capability: int, literal: Literal) -> Integers:
    """Return how many requests lead to the intent from each state, the literal staying false."""
    false = context.bits[:, context.atom_index[literal.atom]] != literal.positive
    return context.steps.distances(context.goal(capability), false)


def _finding(context: FindingContext, case: Case) -> Finding:
    what = (
        f"makes a detour: it causes {joined(case.literals)}, after which the intent is no nearer, "
        "although a known sequence as short as any leads there without it"
    )
    outcomes = [(topic.capability, state, e) for topic, state, e in _steps(context, case)]
    sentence = case.sentence(context, what)
    return case.finding(context, DETOUR.label, sentence, case.literals, outcomes)
