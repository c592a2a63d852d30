"""Changes of objects that the request did not mention: archiving a mail deletes another one.

Which object is hit may differ each time. Asked about one victim after another, twenty draws of a
hundred become six cases of three each, and none is sure. So the event is that *some* other object
changes in this way, counted over all requests that differ only in their objects.

It was not needed, since draws of the same pair achieved the intent by a part of the same changes,
surely more often than by a slip, and is counted where it could happen and the request can succeed.
That it happens more often than `LEAST_RATE` must be sure, with the share of this kind in the error
budget. Its condition is one literal, about the objects of the request or about objects of other
types; of the 5 % each of these has half, because the former are few. Fisher's exact test is enough
for that, since the side effect itself is beyond doubt. It assumes numbers of draws that were fixed
in advance, and the strategy draws more after a hit, so it holds only approximately; simulated as
the strategy draws, it names a false condition in at most 4 %. A betting score that holds at any
time missed the condition about three times as often.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from capscope.insight.earlier_findings.case import Case
from capscope.insight.earlier_findings.context import FindingContext, FindingKind
from capscope.insight.earlier_findings.failures import fair_states
from capscope.insight.earlier_findings.families import Family, Instance, Topic
from capscope.insight.earlier_findings.finding import (
    LEAST_RATE,
    Clause,
    Finding,
    is_often_spared,
    more_than_luck,
)
from capscope.insight.earlier_findings.splits import EventCounts
from capscope.logic import Atom, Effect, Literal, State
from capscope.logic.footprint import Footprint, Shape
from capscope.stats.betting import evidence_above, log_p_value
from capscope.stats.error_budget import ERROR_RATE, Share
from capscope.stats.split_search import price

_SEVERAL = 3
"""Executions of one request from which on they must agree with the others."""


_Question = tuple[tuple[int, ...], Shape]
"""Requests that differ in objects only, and a change of other objects that some made."""


def find_collateral(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the changes of objects that a request does not mention."""
    questions = list(_questions(context))
    threshold = share.threshold(max(len(questions), 1))
    found = (_answer(context, question, threshold) for question in questions)
    return [finding for finding in found if finding is not None]


COLLATERAL = FindingKind(
    "collateral change",
    "changes of objects that were not mentioned",
    find_collateral,
    approximate=True,
)


def _questions(context: FindingContext) -> Iterator[_Question]:
    """Yield each change of other objects that a pair made, and did without by a part of the rest.

    Another path to the intent may change other objects and is not a slip.
    """
    forms: dict[object, list[int]] = {}
    shapes: dict[object, set[Shape]] = {}
    for capability, footprint in enumerate(context.footprints):
        forms.setdefault(footprint.form, []).append(capability)
        own = shapes.setdefault(footprint.form, set())
        for node, pair in context.tried[capability]:
            achieving = [
                effect
                for effect in pair.counts
                if context.holds(capability, effect.apply(node.state))
            ]
            for more, less in itertools.permutations(achieving, 2):
                if less.is_part_of(more):
                    shapes_of_more = _shapes(context, footprint, more)
                    own |= shapes_of_more - _shapes(context, footprint, less)
    for form, capabilities in forms.items():
        for shape in sorted(shapes[form]):
            yield tuple(capabilities), shape


def _shapes(context: FindingContext, footprint: Footprint, effect: Effect) -> frozenset[Shape]:
    beyond = context.exactly_one.beyond(effect, footprint.intent, context.vocabulary)
    return footprint.shapes(context.exactly_one.without_implied(beyond))


def _answer(context: FindingContext, question: _Question, threshold: float) -> Finding | None:
    capabilities, changed = question
    counts = _counts(context, question)
    hits, draws = counts.pooled
    if not hits:
        return None
    own = len(context.footprints[capabilities[0]].own_atoms)
    when, inside = _condition(counts, own)
    if evidence_above(*inside.pooled, LEAST_RATE) - price(1, inside.selected_from) < threshold:
        when, inside = (), counts
        if evidence_above(hits, draws, LEAST_RATE) < threshold:
            return None
    if not _avoidable(context, changed, inside):
        return None
    return _finding(context, changed, counts, inside, when)


def _counts(context: FindingContext, question: _Question) -> EventCounts:
    """Count for each pair how often some other object changed.

    Features are the atoms about the intent's own objects, and those about objects of other types.
    """
    capabilities, changed = question
    pairs: list[tuple[int, State]] = []
    rows: list[tuple[int, int]] = []
    bits: list[tuple[bool, ...]] = []
    for capability in capabilities:
        footprint = context.footprints[capability]
        fair = context.once(fair_states)(capability)
        for node, pair in context.tried[capability]:
            # A request that can do nothing, like one about a mail that is gone, is not a contrast.
            if node.state not in fair or not footprint.may_show(changed, node.state):
                continue
            hit = sum(
                count
                for effect, count in pair.counts.items()
                if changed in _shapes(context, footprint, effect)
            )
            pairs.append((capability, node.state))
            rows.append((hit, pair.total))
            others = (bool(node.state & context.vocabulary.bit[a]) for a in footprint.other_types)
            bits.append((*footprint.own_state(node.state), *others))
    first = context.footprints[capabilities[0]]
    names = (*map(first.lift, first.own_atoms), *first.other_types)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 2)
    shape = (len(pairs), len(names))
    features = np.array(bits, dtype=bool).reshape(shape)
    alike = np.zeros(len(pairs), dtype=np.int64)  # each pair has one row
    return EventCounts(tuple(pairs), columns[:, 0], columns[:, 1], names, features, alike)


def _condition(counts: EventCounts, own: int) -> tuple[tuple[Clause, ...], EventCounts]:
    """Return the literal that explains most, if its evidence is enough.

    The first `own` features are about the intent's objects. What is chosen is shown by several
    requests if it holds for several.
    """
    varied = [i for i in range(len(counts.names)) if 0 < counts.bits[:, i].sum() < len(counts.bits)]
    groups = [[i for i in varied if i < own], [i for i in varied if i >= own]]
    groups = [group for group in groups if group]
    best, chosen = 0.0, None
    for group in groups:
        options = 2 * len(group) * len(groups)
        for i, sign in ((i, sign) for i in group for sign in (True, False)):
            mask = counts.bits[:, i] == sign
            inside, outside = counts.where(mask), counts.where(~mask)
            (hits, draws), (other_hits, other_draws) = inside.pooled, outside.pooled
            if hits * other_draws <= other_hits * draws or not _shown_by_several(inside):
                continue
            p_value = log_p_value(hits, draws, other_hits, other_draws)
            doubt = p_value - math.log(ERROR_RATE / options)
            if doubt <= best:
                found = Literal(counts.names[i], sign)
                best, chosen = doubt, (found, replace(inside, selected_from=options))
    if chosen is None:
        return (), counts
    literal, within = chosen
    return (Clause((literal,)),), within


def _avoidable(context: FindingContext, changed: Shape, inside: EventCounts) -> bool:
    """Return whether executions of each request spare other objects, and surely not by luck."""
    caused: Counter[int] = Counter()
    spared: Counter[int] = Counter()
    for (capability, state), hits in zip(inside.pairs, inside.hits.tolist(), strict=True):
        if hits:
            caused[capability] += hits - 1
            spared[capability] += _spared(context, capability, changed, state)
    return more_than_luck(spared.total(), caused.total()) and all(
        is_often_spared(spared[c], caused[c]) for c in caused if caused[c] >= _SEVERAL
    )


def _spared(context: FindingContext, capability: int, changed: Shape, state: State) -> int:
    """Count executions that achieved the intent by a part of what others changed, without it."""
    footprint = context.footprints[capability]
    counts = context.pair(capability, state).counts
    achieving = [e for e in counts if context.holds(capability, e.apply(state))]
    shown = {e for e in achieving if changed in _shapes(context, footprint, e)}
    return sum(
        counts[e] for e in achieving if e not in shown and any(e.is_part_of(w) for w in shown)
    )


def _shown_by_several(counts: EventCounts) -> bool:
    asked = {capability for capability, _ in counts.pairs}
    shown = {pair[0] for pair, hits in zip(counts.pairs, counts.hits, strict=True) if hits}
    return len(shown) >= min(2, len(asked))


def _finding(
    context: FindingContext,
    changed: Shape,
    counts: EventCounts,
    inside: EventCounts,
    when: tuple[Clause, ...],
) -> Finding:
    asked = dict.fromkeys(capability for capability, _ in inside.pairs)
    variables = {c: context.footprints[c].variables for c in asked}
    named = {name for own in variables.values() for name in own.values()}
    if not any(named & set(x.atom.arguments) for clause in when for x in clause.term):
        # The condition does not tell objects apart, so it is about these requests only.
        counts = counts.where(np.array([c in asked for c, _ in counts.pairs], dtype=bool))
    family = Family(tuple(Instance(Topic(c), own) for c, own in variables.items()))
    case = Case(family, counts, inside, when)
    predicate, positive = changed
    types = next(p.types for p in context.vocabulary.predicates if p.name == predicate)
    literal = Literal(Atom(predicate, types), positive)
    does = f"also causes {literal} for an object that was not mentioned"
    hits = [
        (capability, state, effect)
        for capability, state in inside.pairs
        for effect in context.pair(capability, state).counts
        if changed in _shapes(context, context.footprints[capability], effect)
    ]
    others = Literal(Atom(predicate, tuple(f"{kind}'" for kind in types)), positive)
    sentence = case.sentence(context, does)
    return case.finding(context, COLLATERAL.name, sentence, (others,), hits)
