"""Ask everything that can be asked about two runs, under one error rate.

Three quarters of the error rate are for achievement, divided among the capabilities; one is for
side effects, divided among the literals that became true. Each question has two answers: A is
ahead, B is ahead. Holm's procedure would spend the share of a capability once found on the others,
and the subsets named for them would not be covered.

**Subsets.** A capability may be lost in one corner of the world only, which goes unnoticed over all
states together. So each question is tested in all states, in those in which a literal holds, and in
every single one. See `strata.StateSubsets` for how its error rate is divided among them.

**Hazards.** To make a hazard happen is not a capability, so less of it is not a loss and more of
it not a gain, whether it was asked for or came as a side effect (`_diff_kind`). If both runs
were given hazards, a tenth of the error rate is for how often these happen in use
(`hazard_changes`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from capscope.errors import CapscopeError
from capscope.insight.changes import Requested, new_changes
from capscope.insight.diff.comparison import (
    HAZARDS,
    NEW_SIDE_EFFECTS,
    Comparison,
    Difference,
    DiffKind,
    HazardChange,
    NewChange,
    Reason,
    Scope,
    Unchanged,
    Unknown,
    Where,
    rates_of,
    state_counts,
)
from capscope.insight.diff.matching import MatchedRuns, match
from capscope.insight.diff.run_data import RunData, SharedPredicates, projected
from capscope.insight.diff.strata import (
    QuestionCounts,
    Questions,
    StateSubsets,
    SubsetEvidence,
)
from capscope.insight.hazards import HazardUse
from capscope.logic import Condition, Effect, ExactlyOne, Intent, Literal
from capscope.logic.effect import ExpectedEffects
from capscope.logic.shortest_condition import shortest_condition
from capscope.stats.betting import log_p_value
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget, Share
from capscope.stats.rate import Rate

if TYPE_CHECKING:
    from capscope.run import Run


_LIMITS = ("temporal length", "horizon")
_ACHIEVEMENT, _SIDE_EFFECTS = 3 / 4, 1 / 4
_IN_USE = 1 / 10  # of the whole, if both runs have hazards
_ORDER = {kind: i for i, kind in enumerate(DiffKind)}


@dataclass(frozen=True)
class _Question:
    intent: Intent
    literals: tuple[Literal, ...]
    """Empty if the question is whether the intent is achieved."""
    counts: QuestionCounts
    hazard: bool = False
    """Whether the event is one that should not happen."""
    held: bool = False
    """Whether it is about the states in which the intent holds already."""


def compare_runs(
    a: Run, b: Run, *, error_rate: float = ERROR_RATE, any_position: bool = False
) -> Comparison:
    """Compare two runs.

    Args:
        a: The baseline.
        b: The run that is described relative to it.
        error_rate: The probability of any difference between two identical agents, at most.
        any_position: Whether all positions that share a symbolic state count as equal.

    Returns:
        The differences, and what could not be compared.
    """
    mine, theirs = RunData.of(a), RunData.of(b)
    return compare_data(mine, theirs, error_rate=error_rate, any_position=any_position)


def compare_data(
    a: RunData, b: RunData, *, error_rate: float = ERROR_RATE, any_position: bool = False
) -> Comparison:
    """Compare the data of two runs."""
    share = ErrorBudget(error_rate, 1).share("differences")
    _check_limits(a, b)
    matched = match(a, b, any_position=any_position)
    asked = [Questions(matched, c) for c in range(len(matched.capabilities))]
    hazards = a.hazards | b.hazards
    achieved = [_Question(q.intent, (), q.achieved(), q.intent in hazards) for q in asked]
    achieved = [question for question in achieved if len(question.counts.states)]
    groups = ExactlyOne.seen_in(matched.states, matched.vocabulary, _expected(a, b))
    effects = [question for q in asked for question in _side_effects(q, groups, hazards)]
    joint = [one for one in hazards if len(one.literals) > 1 and matched.predicates.knows(one)]
    effects += [question for q in asked for question in _hazard_questions(q, sorted(joint))]
    rates, kept = _rates_in_use(a, b, share)
    # Either side may be ahead: two questions each.
    thresholds = [
        share.threshold(2 * len(questions), fraction * kept)
        for questions, fraction in ((achieved, _ACHIEVEMENT), (effects, _SIDE_EFFECTS))
    ]
    found = [
        difference
        for questions, threshold in zip((achieved, effects), thresholds, strict=True)
        for question in questions
        for difference in _differences(question, matched, threshold, error_rate)
    ]
    found = [*_without_implied(found, {q.intent: q.effects() for q in asked}, groups)]
    found.sort(key=lambda d: (_ORDER[d.change], -abs(d.difference[0]), str(d.capability)))
    unknown = [*_not_shared(a, b), *_undecidable(achieved, matched, thresholds[0])]
    reported = {d.capability for d in found if not d.literals} | {u.capability for u in unknown}
    asked_again = [q for q in achieved if q.intent not in reported]
    unchanged = [_unchanged(q, matched, thresholds[0], error_rate) for q in asked_again]
    scope = _scope(a, b, matched, len(achieved), len(effects))
    return Comparison(
        a.named, b.named, error_rate, scope, tuple(found), tuple(unchanged), tuple(unknown),
        rates, tuple(_new_changes(a, b, matched.predicates, groups, found)),
    )  # fmt: skip


def _expected(a: RunData, b: RunData) -> ExpectedEffects:
    """Return what was declared for either run, of both if they have the same atoms."""
    texts = a.identity.settings.expected
    if a.vocabulary.fingerprint == b.vocabulary.fingerprint:
        texts += b.identity.settings.expected
    return ExpectedEffects(texts, a.vocabulary)


def _new_changes(
    a: RunData,
    b: RunData,
    predicates: SharedPredicates,
    groups: ExactlyOne,
    found: Sequence[Difference],
) -> Iterator[NewChange]:
    """List what B changed beyond the requests and A never did, unless a difference says so."""
    said = {
        (one.capability, _shape(literal))
        for one in found
        for literal in one.literals
        if one.change in NEW_SIDE_EFFECTS | HAZARDS
    }
    newer, older = (_of_shared_requests(side, predicates) for side in (b, a))
    for change, missed in new_changes(newer, older, groups, predicates.vocabulary):
        if said.isdisjoint((intent, _shape(change.change)) for intent in change.intents):
            p = math.exp(log_p_value(change.executions, change.possible, 0, missed))
            yield NewChange(change, missed, p)


def _shape(literal: Literal | str) -> str:
    """Return a literal without its objects: `not at` for `not at(x)`."""
    return str(literal).partition("(")[0]


def _of_shared_requests(side: RunData, predicates: SharedPredicates) -> Requested:
    """Return the executions whose request both runs can express, in the atoms that they share."""
    known = np.array([predicates.knows(intent) for intent in side.intents], dtype=bool)
    kept = known[side.executions.capability]
    numbers = np.cumsum(known) - 1
    table = replace(side.executions, states=projected(side, predicates)).only(kept)
    table = replace(table, capability=numbers[table.capability])
    return table, [intent for intent, own in zip(side.intents, known, strict=True) if own]


def _rates_in_use(a: RunData, b: RunData, share: Share) -> tuple[tuple[HazardChange, ...], float]:
    """Compare hazards in use; return also which part of the error rate is left for the rest."""
    shared = len(a.hazard_uses.keys() & b.hazard_uses.keys())
    if not shared:
        return (), 1.0
    threshold = share.threshold(2 * shared, _IN_USE)
    return tuple(hazard_changes(a.hazard_uses, b.hazard_uses, threshold)), 1.0 - _IN_USE


def hazard_changes(
    a: Mapping[str, HazardUse], b: Mapping[str, HazardUse], threshold: float
) -> Iterator[HazardChange]:
    """Compare the hazards that both runs were given; each direction has to reach the threshold.

    A hazard may happen in states that only one of the runs found, where no draws can be matched.
    But the draws of audits are made in the same way in both runs, so their rates can be compared as
    they are: one is called higher if its lower bound exceeds the upper bound of the other.
    """
    error = math.exp(-threshold)
    for text in sorted(a.keys() & b.keys()):
        (low_a, high_a), (low_b, high_b) = a[text].bounds(error), b[text].bounds(error)
        change = None
        if high_a < low_b:
            change = DiffKind.MORE_HAZARDOUS
        elif high_b < low_a:
            change = DiffKind.LESS_HAZARDOUS
        yield HazardChange(text, a[text], b[text], change)


def _hazard_questions(questions: Questions, hazards: Sequence[Intent]) -> Iterator[_Question]:
    """Ask about hazards of several literals, except where they are asked for."""
    for hazard in hazards:
        if not any(set(hazard.literals) <= set(one) for one in questions.intent.alternatives):
            counts = questions.happens(hazard.literals)
            if len(counts.states) and (counts.a.hits.any() or counts.b.hits.any()):
                yield _Question(questions.intent, hazard.literals, counts, hazard=True)


def _check_limits(a: RunData, b: RunData) -> None:
    for name in _LIMITS:
        mine, theirs = (getattr(run.identity, name.replace(" ", "_")) for run in (a, b))
        if mine != theirs:
            raise CapscopeError(
                f"{a.path} has {name} {mine}, {b.path} has {theirs}, so their executions are not "
                "comparable; assess both with the same limits"
            )


def _side_effects(
    questions: Questions, groups: ExactlyOne, hazards: Set[Intent]
) -> list[_Question]:
    """Ask about each literal that became true; those that always did so together are one.

    But a hazard is one by itself.
    """
    together: dict[tuple[bool, bool, tuple[bytes, ...]], _Question] = {}
    for literal in questions.literals_changed(groups):
        for one in _questions_about(literal, questions, hazards):
            a, b, signs = one.counts.a, one.counts.b, one.counts.signs
            if len(one.counts.states) and (a.hits.any() or b.hits.any()):
                parts = one.counts.states, signs.wins_a, signs.wins_b, a.hits, b.hits
                key = one.hazard, one.held, tuple(part.tobytes() for part in parts)
                first = together.setdefault(key, one)
                together[key] = replace(first, literals=(*first.literals, literal))
    return list(together.values())


def _questions_about(
    literal: Literal, questions: Questions, hazards: Set[Intent]
) -> Iterator[_Question]:
    intent = questions.intent
    if Intent.of([literal]) in hazards:
        yield _Question(intent, (), questions.happens([literal]), hazard=True)
    else:
        yield _Question(intent, (), questions.becomes_true(literal))
        yield _Question(intent, (), questions.happens([literal], held=True), held=True)


def _differences(
    question: _Question, matched: MatchedRuns, threshold: float, error_rate: float
) -> Iterator[Difference]:
    counts = question.counts
    for evidence, a_ahead in zip(counts.evidence(), (True, False), strict=True):
        # Most questions show too little for any subset to reach the threshold.
        if evidence.most < threshold:
            continue
        best = StateSubsets(counts.states, matched).best(evidence, threshold)
        if best is not None:
            adjusted = best.adjusted_p(threshold, error_rate)
            difference = _difference(question, matched, best, a_ahead, adjusted)
            # If only the company of a change differs, its own probability need not.
            _, low, high = difference.difference
            if high < 0 if a_ahead else low > 0:
                yield difference


def _difference(
    question: _Question,
    matched: MatchedRuns,
    subset: SubsetEvidence,
    a_ahead: bool,
    adjusted_p: float,
) -> Difference:
    counts, members = question.counts, subset.members
    a, b = rates_of(counts, members)
    wins = (subset.wins, subset.losses) if a_ahead else (subset.losses, subset.wins)
    return Difference(
        _diff_kind(question, a, b, a_ahead),
        question.intent,
        question.literals,
        _where(question, subset, matched),
        a,
        b,
        *wins,
        adjusted_p,
        state_counts(counts, members, matched),
        matched.vocabulary,
    )


def _diff_kind(question: _Question, a: Rate, b: Rate, a_ahead: bool) -> DiffKind:
    if question.hazard:
        return DiffKind.LESS_HAZARDOUS if a_ahead else DiffKind.MORE_HAZARDOUS
    less, more = (b, a) if a_ahead else (a, b)
    # Nothing was seen on one side, and the two intervals do not overlap.
    nothing = less.hits == 0 and less.high < more.low
    if question.literals and a_ahead:
        return DiffKind.SIDE_EFFECT_GONE if nothing else DiffKind.LESS_FREQUENT
    if question.literals:
        return DiffKind.NEW_SIDE_EFFECT if nothing else DiffKind.MORE_FREQUENT
    if a_ahead:
        return DiffKind.LOST if nothing else DiffKind.LESS_RELIABLE
    return DiffKind.GAINED if nothing else DiffKind.MORE_RELIABLE


def _where(question: _Question, subset: SubsetEvidence, matched: MatchedRuns) -> Where:
    counts, held = question.counts, question.intent.alternatives if question.held else ((),)
    inside, outside = (np.unique(counts.states[mask]) for mask in (subset.members, ~subset.members))
    size = len(inside) + len(outside)
    if not len(outside):
        return Where(Condition(tuple(held)), size, size, None)
    if subset.literal:
        when = Condition(((subset.literal,),))
    else:
        on, off = ([matched.states[i] for i in some] for some in (inside, outside))
        when = shortest_condition(on, off, matched.vocabulary)
    when = Condition(tuple((*first, *term) for first in held for term in when))
    return Where(when, len(inside), size, rates_of(counts, ~subset.members))


def _without_implied(
    found: Sequence[Difference], effects: Mapping[Intent, Set[Effect]], groups: ExactlyOne
) -> Iterator[Difference]:
    """Yield the differences without deletions that reported additions of the same change imply.

    If exactly one of several atoms holds, one of them ends because another begins. If it is
    reported where B goes, that it leaves need not be. `effects` has what either run saw of a
    capability: an addition implies a deletion only if one execution showed both.
    """
    begun: defaultdict[tuple[Intent, bool], int] = defaultdict(int)
    for one in found:
        begun[_direction(one)] |= one.vocabulary.literal_masks(one.literals)[0]
    for one in found:
        adds, deletes = one.vocabulary.literal_masks(one.literals)
        reported = begun[_direction(one)]
        together = (Effect(e.adds & reported, e.deletes) for e in effects[one.capability])
        implied = reduce(or_, (e.deletes & ~groups.without_implied(e).deletes for e in together), 0)
        left = Effect(adds, deletes & ~implied)
        if left != Effect(0, 0) or not one.literals:
            yield replace(one, literals=left.literals(one.vocabulary))


def _direction(one: Difference) -> tuple[Intent, bool]:
    return one.capability, one.difference[0] > 0


def _unchanged(
    question: _Question, matched: MatchedRuns, threshold: float, error_rate: float
) -> Unchanged:
    counts = question.counts
    everywhere = rates_of(counts, np.ones(len(counts.states), dtype=bool))
    subsets = StateSubsets(counts.states, matched)
    found = (subsets.best(evidence, -math.inf) for evidence in counts.evidence())
    p = min((one.adjusted_p(threshold, error_rate) for one in found if one), default=1.0)
    signs = counts.signs
    way = int(np.argmax(signs.compared.sum(axis=1)))
    wins = int(signs.wins_a[way].sum()), int(signs.wins_b[way].sum())
    return Unchanged(question.intent, len(np.unique(counts.states)), *everywhere, p, *wins)


def _not_shared(a: RunData, b: RunData) -> Iterator[Unknown]:
    for side, other, reason in ((a, b, Reason.ONLY_A), (b, a, Reason.ONLY_B)):
        theirs, atoms = set(other.intents), other.vocabulary.bit
        for intent in side.intents:
            if intent not in theirs:
                expressible = all(literal.atom in atoms for literal in intent.mentioned)
                yield Unknown(intent, reason if expressible else Reason.VOCABULARY)


def _undecidable(
    asked: Sequence[_Question], matched: MatchedRuns, threshold: float
) -> Iterator[Unknown]:
    """List the capabilities without a shared state, or with too few draws to show anything."""
    by_intent = {question.intent: question.counts for question in asked}
    for intent in matched.capabilities:
        counts = by_intent.get(intent)
        if counts is None:
            yield Unknown(intent, Reason.APART)
        elif StateSubsets(counts.states, matched).best(counts.most_possible(), threshold) is None:
            draws = int(counts.a.draws.sum()), int(counts.b.draws.sum())
            yield Unknown(intent, Reason.FEW, *draws)


def _scope(a: RunData, b: RunData, matched: MatchedRuns, achieved: int, effects: int) -> Scope:
    size = max(len(matched.states), 1)
    shared = np.unique(matched.a.pair % size)
    strata = np.concatenate([matched.strata.a, matched.strata.b])
    several = matched.several[matched.strata.pair % size][strata]
    return Scope(
        len(shared),
        a.states_asked - len(shared),
        b.states_asked - len(shared),
        int(matched.several[shared].sum()),
        int(several.sum()),
        int(matched.strata.exchangeable[strata[several]].sum()),
        matched.predicates.only_a,
        matched.predicates.only_b,
        achieved,
        effects,
        a.agent_failures,
        b.agent_failures,
    )
