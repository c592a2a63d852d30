"""Ask everything that can be asked about two runs, under one error rate.

Three quarters of the error rate are for achievement, divided among the capabilities; one is for
side effects, divided among the literals that became true. Each question has two answers: A is
ahead, B is ahead. Holm's procedure would spend the share of a capability once found on the others,
and the subsets named for them would not be covered.

**Subsets.** A capability may be lost in one corner of the world only, which goes unnoticed over all
states together. So each question is tested in all states, in those in which a literal holds, and in
every single one. See `strata.best_subset` for how its error rate is divided among them.

**Hazards.** To make a hazard happen is not a capability, so less of it is not a loss and more of
it not a gain, whether it was asked for or came as a side effect (`_diff_kind`). If both runs
were given hazards, a tenth of the error rate is for how often these happen in use
(`hazard_changes`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial, reduce
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
    StateCounts,
    Unchanged,
    Unknown,
    Where,
)
from capscope.insight.diff.matching import MatchedRuns, match
from capscope.insight.diff.run_data import RunData, knows, projected
from capscope.insight.diff.strata import Question, Questions, Subset, best_subset
from capscope.insight.hazards import HazardUse
from capscope.logic import Condition, Effect, ExactlyOne, Intent, Literal
from capscope.logic.effect import ExpectedEffects
from capscope.logic.shortest_condition import shortest_condition
from capscope.stats.arrays import Mask
from capscope.stats.betting import log_p_value
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget
from capscope.stats.rate import Rate

if TYPE_CHECKING:
    from capscope.run import Run


_LIMITS = ("temporal length", "horizon")
_ACHIEVEMENT, _SIDE_EFFECTS = 3 / 4, 1 / 4
_IN_USE = 1 / 10  # of the whole, if both runs have hazards
_ORDER = {kind: i for i, kind in enumerate(DiffKind)}
_MOST_STATES = 20


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
    achieved = [q.achieved(hazard=q.intent in hazards) for q in asked]
    achieved = [question for question in achieved if len(question.states)]
    groups = ExactlyOne.seen_in(matched.states, matched.vocabulary, _expected(a, b))
    effects = [question for q in asked for question in _side_effects(q, groups, hazards)]
    effects += [question for q in asked for question in _hazard_questions(q, matched, hazards)]
    # Either side may be ahead: two questions each.
    in_use = len(a.hazard_uses.keys() & b.hazard_uses.keys())
    rates = share.threshold(2 * in_use, _IN_USE) if in_use else math.inf
    kept = 1.0 - _IN_USE if in_use else 1.0
    first = share.threshold(2 * len(achieved), _ACHIEVEMENT * kept)
    second = share.threshold(2 * len(effects), _SIDE_EFFECTS * kept)
    found = [d for q in achieved for d in _differences(q, matched, first, error_rate)]
    found += [d for q in effects for d in _differences(q, matched, second, error_rate)]
    found = [*_without_implied(found, {q.intent: q.effects() for q in asked}, groups)]
    found.sort(key=lambda d: (_ORDER[d.change], -abs(d.difference[0]), str(d.capability)))
    unknown = [*_not_shared(a, b), *_undecidable(achieved, matched, first)]
    reported = {d.capability for d in found if not d.literals} | {u.capability for u in unknown}
    asked_again = [q for q in achieved if q.intent not in reported]
    return Comparison(
        a.named,
        b.named,
        error_rate,
        _scope(a, b, matched, len(achieved), len(effects)),
        tuple(found),
        tuple(_unchanged(q, matched, first, error_rate) for q in asked_again),
        tuple(unknown),
        tuple(hazard_changes(a.hazard_uses, b.hazard_uses, rates)),
        tuple(_new_changes(a, b, matched, groups, found)),
    )


def _expected(a: RunData, b: RunData) -> ExpectedEffects:
    """Return what was declared for either run, of both if they have the same atoms."""
    texts = a.identity.settings.expected
    if a.vocabulary.fingerprint == b.vocabulary.fingerprint:
        texts += b.identity.settings.expected
    return ExpectedEffects(texts, a.vocabulary)


def _new_changes(
    a: RunData, b: RunData, matched: MatchedRuns, groups: ExactlyOne, found: Sequence[Difference]
) -> Iterator[NewChange]:
    """List what B changed beyond the requests and A never did, unless a difference says so."""
    said = {
        (one.capability, _shape(literal))
        for one in found
        for literal in one.literals
        if one.change in NEW_SIDE_EFFECTS | HAZARDS
    }
    newer, older = (_of_shared_requests(side, matched) for side in (b, a))
    for change, missed in new_changes(newer, older, groups, matched.vocabulary):
        if said.isdisjoint((intent, _shape(change.change)) for intent in change.intents):
            p = math.exp(log_p_value(change.executions, change.possible, 0, missed))
            yield NewChange(change, missed, p)


def _shape(literal: Literal | str) -> str:
    """Return a literal without its objects: `not at` for `not at(x)`."""
    return str(literal).partition("(")[0]


def _of_shared_requests(side: RunData, matched: MatchedRuns) -> Requested:
    """Return the executions whose request both runs can express, in the atoms that they share."""
    atoms = matched.vocabulary, matched.shared
    known = np.array([knows(*atoms, intent) for intent in side.intents], dtype=bool)
    kept = known[side.executions.capability]
    numbers = np.cumsum(known) - 1
    table = replace(side.executions, states=projected(side, *atoms)).only(kept)
    table = replace(table, capability=numbers[table.capability])
    return table, [intent for intent, own in zip(side.intents, known, strict=True) if own]


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


def _check_limits(a: RunData, b: RunData) -> None:
    for name in _LIMITS:
        mine, theirs = (getattr(run.identity, name.replace(" ", "_")) for run in (a, b))
        if mine != theirs:
            raise CapscopeError(
                f"{a.path} has {name} {mine}, {b.path} has {theirs}, so their executions are not "
                "comparable; assess both with the same limits"
            )


def _hazard_questions(
    questions: Questions, matched: MatchedRuns, hazards: Iterable[Intent]
) -> Iterator[Question]:
    """Ask about hazards of several literals, except where they are asked for."""
    known = partial(knows, matched.vocabulary, matched.shared)
    for hazard in sorted(one for one in hazards if len(one.literals) > 1 and known(one)):
        if not any(set(hazard.literals) <= set(one) for one in questions.intent.alternatives):
            question = questions.happens(hazard.literals, hazard=True)
            if question.seen:
                yield question


def _side_effects(
    questions: Questions, groups: ExactlyOne, hazards: Set[Intent]
) -> Iterable[Question]:
    """Ask about each literal that became true; those that always did so together are one.

    But a hazard is one by itself.
    """
    together: dict[tuple[bool, bool, tuple[bytes, ...]], Question] = {}
    for literal in questions.literals_changed(groups):
        for one in _questions_about(literal, questions, hazards):
            if one.seen:
                parts = one.states, one.wins_a, one.wins_b, one.a.hits, one.b.hits
                key = one.hazard, one.held, tuple(part.tobytes() for part in parts)
                known = together.get(key)
                more = one.literals if known is None else (*known.literals, literal)
                together[key] = replace(known or one, literals=more)
    return together.values()


def _questions_about(
    literal: Literal, questions: Questions, hazards: Set[Intent]
) -> Iterator[Question]:
    if Intent.of([literal]) in hazards:
        yield questions.happens([literal], hazard=True)
    else:
        yield questions.becomes_true(literal)
        yield questions.happens([literal], held=True)


def _differences(
    question: Question, matched: MatchedRuns, threshold: float, error_rate: float
) -> Iterator[Difference]:
    for evidence, a_ahead in zip(question.evidence(), (True, False), strict=True):
        # Most questions show too little for any subset to reach the threshold.
        if evidence.most < threshold:
            continue
        best = best_subset(question.states, matched, evidence, threshold)
        if best is not None:
            adjusted = best.adjusted_p(threshold, error_rate)
            difference = _difference(question, matched, best, a_ahead, adjusted)
            # If only the company of a change differs, its own probability need not.
            _, low, high = difference.difference
            if high < 0 if a_ahead else low > 0:
                yield difference


def _difference(
    question: Question, matched: MatchedRuns, subset: Subset, a_ahead: bool, adjusted_p: float
) -> Difference:
    a, b = question.rates(subset.members)
    wins = subset.evidence.wins, subset.evidence.losses
    return Difference(
        _diff_kind(question, a, b, a_ahead),
        question.intent,
        question.literals,
        _where(question, subset, matched),
        a,
        b,
        *(wins if a_ahead else wins[::-1]),
        adjusted_p,
        _state_counts(question, subset.members, matched),
        matched.vocabulary,
    )


def _diff_kind(question: Question, a: Rate, b: Rate, a_ahead: bool) -> DiffKind:
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


def _where(question: Question, subset: Subset, matched: MatchedRuns) -> Where:
    held = question.intent.alternatives if question.held else ((),)
    members, states = subset.members, question.states
    inside, outside = (np.unique(states[mask]) for mask in (members, ~members))
    size = len(inside) + len(outside)
    if not len(outside):
        return Where(Condition(tuple(held)), size, size, None)
    if subset.literal:
        when = Condition(((subset.literal,),))
    else:
        on, off = ([matched.states[i] for i in some] for some in (inside, outside))
        when = shortest_condition(on, off, matched.vocabulary)
    when = Condition(tuple((*first, *term) for first in held for term in when))
    return Where(when, len(inside), size, question.rates(~members))


def _state_counts(
    question: Question, members: Mask, matched: MatchedRuns
) -> tuple[StateCounts, ...]:
    """List the states behind a difference, those with most disagreements first."""
    which, place = np.unique(question.states[members], return_inverse=True)
    won, a, b = (question.wins_a + question.wins_b).max(axis=0), question.a, question.b
    columns = (won, a.hits, a.draws, b.hits, b.draws)
    sums = [np.bincount(place, column[members]).astype(int) for column in columns]
    found = []
    for i in np.lexsort((which, -sums[0]))[:_MOST_STATES]:
        state = matched.states[which[i]]
        holding = tuple(map(str, matched.vocabulary.holding(state)))
        found.append(StateCounts(state, holding, *(int(column[i]) for column in sums[1:])))
    return tuple(found)


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
    question: Question, matched: MatchedRuns, threshold: float, error_rate: float
) -> Unchanged:
    everywhere = question.rates(np.ones(len(question.states), dtype=bool))
    best = partial(best_subset, question.states, matched, threshold=-math.inf)
    found = filter(None, map(best, question.evidence()))
    p = min((one.adjusted_p(threshold, error_rate) for one in found), default=1.0)
    way = int(np.argmax(question.compared.sum(axis=1)))
    wins = int(question.wins_a[way].sum()), int(question.wins_b[way].sum())
    return Unchanged(question.intent, len(np.unique(question.states)), *everywhere, p, *wins)


def _not_shared(a: RunData, b: RunData) -> Iterator[Unknown]:
    for side, other, reason in ((a, b, Reason.ONLY_A), (b, a, Reason.ONLY_B)):
        theirs, atoms = set(other.intents), other.vocabulary.bit
        for intent in side.intents:
            if intent not in theirs:
                expressible = all(literal.atom in atoms for literal in intent.mentioned)
                yield Unknown(intent, reason if expressible else Reason.VOCABULARY)


def _undecidable(
    asked: Sequence[Question], matched: MatchedRuns, threshold: float
) -> Iterator[Unknown]:
    """List the capabilities without a shared state, or with too few draws to show anything."""
    by_intent = {question.intent: question for question in asked}
    for intent in matched.capabilities:
        question = by_intent.get(intent)
        if question is None:
            yield Unknown(intent, Reason.APART)
        elif not best_subset(question.states, matched, question.most_possible(), threshold):
            draws = int(question.a.draws.sum()), int(question.b.draws.sum())
            yield Unknown(intent, Reason.FEW, *draws)


def _scope(a: RunData, b: RunData, matched: MatchedRuns, achieved: int, effects: int) -> Scope:
    size = max(len(matched.states), 1)
    shared = np.unique(matched.a.pair % size)
    strata = np.concatenate([matched.a.stratum, matched.b.stratum])
    several = matched.several[matched.pair % size][strata]
    only_a, only_b = (
        tuple(str(atom) for atom in side.vocabulary.atoms if atom not in other.vocabulary.bit)
        for side, other in ((a, b), (b, a))
    )
    return Scope(
        len(shared),
        a.states_asked - len(shared),
        b.states_asked - len(shared),
        int(matched.several[shared].sum()),
        int(several.sum()),
        int(matched.exchangeable[strata[several]].sum()),
        only_a,
        only_b,
        achieved,
        effects,
        a.agent_failures,
        b.agent_failures,
    )
