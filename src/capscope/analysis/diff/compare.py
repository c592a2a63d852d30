"""Ask everything that can be asked of two runs, under one error rate.

Half of the error rate is for what is achieved, shared evenly by the capabilities; half is for side
effects, shared by the capabilities and the literals that came about on either side. Each question
has two answers (A is ahead, B is ahead), and each is looked for in several places (`where`). A bar
is the logarithm of all that a betting score has to pay for. Plain shares rather than Holm's steps:
Holm would spend the share of a capability once found on the others, and then the places named for
them would no longer be covered.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capscope.analysis.diff.comparison import Alike, Comparison, Scope
from capscope.analysis.diff.difference import (
    Change,
    Difference,
    Estimate,
    Where,
    state_counts,
)
from capscope.analysis.diff.implied import without_implied
from capscope.analysis.diff.matching import Matched, match
from capscope.analysis.diff.run_data import Side, read_side
from capscope.analysis.diff.strata import Counts, Questions
from capscope.analysis.diff.subsets import Places, Spot
from capscope.analysis.diff.unknown import Reason, Unknown
from capscope.errors import CapscopeError
from capscope.symbolic import ExactlyOne, Intent, Literal
from capscope.symbolic.dnf import shortest_dnf

ERROR_RATE = 0.05
_LIMITS = ("temporal length", "horizon")
_DIRECTIONS = 2
_KINDS = 2

_ORDER = {change: i for i, change in enumerate(Change)}


@dataclass(frozen=True)
class _Asked:
    """A question and what was counted for it."""

    intent: Intent
    literals: tuple[Literal, ...]
    """Empty: is the intent achieved?"""
    counts: Counts


def compare_runs(
    a: str | Path, b: str | Path, *, error_rate: float = ERROR_RATE, any_position: bool = False
) -> Comparison:
    """Compare two run directories; what is said of B is said against A.

    With `any_position` the symbolic state is taken to say all that matters: draws that started from
    different positions of the simulator count as alike.
    """
    return compare_sides(
        read_side(Path(a)), read_side(Path(b)), error_rate=error_rate, any_position=any_position
    )


def compare_sides(
    a: Side, b: Side, *, error_rate: float = ERROR_RATE, any_position: bool = False
) -> Comparison:
    """Compare two runs that were read already."""
    if not 0 < error_rate < 1:
        raise CapscopeError(f"the error rate must be between 0 and 1, not {error_rate}")
    _same_limits(a, b)
    matched = match(a, b, any_position=any_position)
    asked = [Questions(matched, c) for c in range(len(matched.capabilities))]
    achieved = [_Asked(q.intent, (), q.achieved()) for q in asked]
    achieved = [question for question in achieved if len(question.counts.states)]
    groups = ExactlyOne.seen_in(matched.states, matched.words.vocabulary)
    effects = [question for q in asked for question in _side_effects(q, groups)]
    bars = [_bar(len(kind), error_rate) for kind in (achieved, effects)]
    found = [
        difference
        for kind, bar in zip((achieved, effects), bars, strict=True)
        for question in kind
        for difference in _differences(question, matched, bar, error_rate)
    ]
    found = [*without_implied(found, {q.intent: q.effects() for q in asked}, groups)]
    found.sort(key=lambda d: (_ORDER[d.change], -abs(d.difference[0]), str(d.capability)))
    told = {d.capability for d in found if not d.literals}
    unknown = [*_not_shared(a, b), *_undecidable(achieved, matched, bars[0])]
    silent = told | {u.capability for u in unknown}
    alike = [_alike(q) for q in achieved if q.intent not in silent]
    scope = _scope(a, b, matched, len(achieved), len(effects))
    return Comparison(
        a.as_dict(), b.as_dict(), error_rate, scope, tuple(found), tuple(alike), tuple(unknown)
    )


def _same_limits(a: Side, b: Side) -> None:
    for name in _LIMITS:
        mine, theirs = (side.meta["identity"].get(name) for side in (a, b))
        if mine != theirs:
            raise CapscopeError(
                f"{a.path} has {name} {mine}, {b.path} has {theirs}: an execution is not the same "
                "in the two runs; assess both with the same limits"
            )


def _bar(questions: int, error_rate: float) -> float:
    return math.log(_KINDS * _DIRECTIONS * max(questions, 1) / error_rate)


def _side_effects(questions: Questions, groups: ExactlyOne) -> Iterator[_Asked]:
    """Ask for each literal that came about; those that always came about together are one."""
    together: defaultdict[tuple[bytes, ...], list[tuple[Literal, Counts]]] = defaultdict(list)
    for literal in questions.literals_changed(groups):
        counts = questions.comes_about(literal)
        a, b, tosses = counts.a, counts.b, counts.tosses
        if len(counts.states) and (a.hits.any() or b.hits.any()):
            parts = counts.states, tosses.wins_a, tosses.wins_b, a.hits, b.hits
            together[tuple(part.tobytes() for part in parts)].append((literal, counts))
    for alike in together.values():
        yield _Asked(questions.intent, tuple(literal for literal, _ in alike), alike[0][1])


def _differences(
    question: _Asked, matched: Matched, bar: float, error_rate: float
) -> Iterator[Difference]:
    counts = question.counts
    for bets, a_ahead in zip(counts.bets(), (True, False), strict=True):
        # Most questions show too little to be worth a look at their places.
        if bets.most < bar:
            continue
        spot = Places(counts.states, matched).best(bets, bar)
        if spot is not None:
            exceeded = spot.log_evidence - spot.log_price - bar
            adjusted = min(error_rate * math.exp(-exceeded), 1.0)
            difference = _told(question, matched, spot, a_ahead, adjusted)
            # What changed may be only with what it comes about; and then its number says nothing.
            _, low, high = difference.difference
            if high < 0 if a_ahead else low > 0:
                yield difference


def _told(
    question: _Asked, matched: Matched, spot: Spot, a_ahead: bool, adjusted_p: float
) -> Difference:
    counts, members = question.counts, spot.members
    a, b = Estimate.of_both(counts, members)
    wins = (spot.wins, spot.losses) if a_ahead else (spot.losses, spot.wins)
    return Difference(
        _change(a, b, a_ahead, bool(question.literals)),
        question.intent,
        question.literals,
        _where(counts, spot, matched),
        a,
        b,
        *wins,
        adjusted_p,
        state_counts(counts, members, matched.states),
        matched.words.vocabulary,
    )


def _change(a: Estimate, b: Estimate, a_ahead: bool, side_effect: bool) -> Change:
    less, more = (a, b) if not a_ahead else (b, a)
    # Nothing was seen on one side, and what it may hide is less than what the other shows.
    nothing = less.hits == 0 and less.high < more.low
    if side_effect:
        if a_ahead:
            return Change.SIDE_EFFECT_GONE if nothing else Change.LESS_FREQUENT
        return Change.NEW_SIDE_EFFECT if nothing else Change.MORE_FREQUENT
    if a_ahead:
        return Change.LOST if nothing else Change.LESS_RELIABLE
    return Change.GAINED if nothing else Change.MORE_RELIABLE


def _where(counts: Counts, spot: Spot, matched: Matched) -> Where:
    inside, outside = (np.unique(counts.states[mask]) for mask in (spot.members, ~spot.members))
    size = len(inside) + len(outside)
    if not len(outside):
        return Where(((),), size, size, None)
    if spot.literal is not None:
        when: tuple[tuple[Literal, ...], ...] = ((spot.literal,),)
    else:
        on, off = ([matched.states[i] for i in some] for some in (inside, outside))
        when = shortest_dnf(on, off, matched.words.vocabulary)
    return Where(when, len(inside), size, Estimate.of_both(counts, ~spot.members))


def _alike(question: _Asked) -> Alike:
    counts = question.counts
    everywhere = np.ones(len(counts.states), dtype=bool)
    states = len(np.unique(counts.states))
    return Alike(question.intent, states, *Estimate.of_both(counts, everywhere))


def _not_shared(a: Side, b: Side) -> Iterator[Unknown]:
    for side, other, reason in ((a, b, Reason.ONLY_A), (b, a, Reason.ONLY_B)):
        theirs = set(other.intents)
        for intent in side.intents:
            if intent not in theirs:
                yield Unknown(intent, reason if _sayable(intent, other) else Reason.WORDS)


def _sayable(intent: Intent, side: Side) -> bool:
    return all(literal.atom in side.vocabulary.bit for literal in intent.literals)


def _undecidable(asked: Sequence[_Asked], matched: Matched, bar: float) -> Iterator[Unknown]:
    """List the capabilities that no shared state, or too few draws, can say anything about."""
    by_intent = {question.intent: question.counts for question in asked}
    for intent in matched.capabilities:
        counts = by_intent.get(intent)
        if counts is None:
            yield Unknown(intent, Reason.APART)
            continue
        if Places(counts.states, matched).best(counts.most_possible(), bar) is None:
            draws = int(counts.a.draws.sum()), int(counts.b.draws.sum())
            yield Unknown(intent, Reason.FEW, *draws)


def _scope(a: Side, b: Side, matched: Matched, achieved: int, effects: int) -> Scope:
    size = max(len(matched.states), 1)
    shared = np.unique(matched.a.pair % size)
    # Of every draw that is compared: where it was made.
    strata = np.concatenate([matched.strata.a, matched.strata.b])
    several = matched.several[matched.strata.pair % size][strata]
    return Scope(
        len(shared),
        a.states_asked - len(shared),
        b.states_asked - len(shared),
        int(matched.several[shared].sum()),
        int(several.sum()),
        int(matched.strata.alike[strata[several]].sum()),
        matched.words.only_a,
        matched.words.only_b,
        achieved,
        effects,
        a.agent_failures,
        b.agent_failures,
    )
