"""Objects that the agent mistakes for another of their type: asked to move yellow, it moves green.

`slips` counts where the mistaken object could be told from others by nothing but itself. That it is
taken more often than all the others together is a sign test, valid however the draws were chosen;
it must be at least twice as often to be reported. Two objects may be mistaken for each other, or
one for the other only, so both are asked. A condition may say where it happens more often.

Predicates do not capture everything: in one state, the block beside the place may be hit again and
again. So several states must show the mistake, each of which counts once.

What looks like a slip may be a needed step, with a free choice of objects. So most slips must have
led no nearer to the intent, as far as is known, and some must have been avoidable: the same request
achieved the intent from the same state in another draw, or a reliable one did.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from capscope.analysis.findings.case import Case, restricted
from capscope.analysis.findings.context import FindingContext, FindingKind
from capscope.analysis.findings.finding import Finding, conditional, first_few, joined
from capscope.analysis.findings.lifted_intents import (
    MOST_NAMED,
    Family,
    Instance,
    Rows,
    Thresholds,
    Topic,
    family_counts,
    groups_agree,
    variable_names,
)
from capscope.analysis.findings.object_swap import ObjectSwap, swaps
from capscope.analysis.findings.rate import LEAST_RATE, Rate
from capscope.analysis.findings.slips import ObjectPair, SlipCounts, SlipTable
from capscope.analysis.findings.splits import EventCounts, narrow_down
from capscope.analysis.findings.success_rows import leads_reliably
from capscope.statistics.arrays import Integers
from capscope.statistics.error_budget import ERROR_RATE, Share
from capscope.statistics.sign_test import log_evidence, log_evidence_of_strata
from capscope.symbolic import Effect, State

_SHOWN_BY_STATES = -math.log(ERROR_RATE)
"""The log score that the states must reach, each counted once."""
_LEAST_RATIO = 2
"""How many times as often as the others together an object must be taken."""


@dataclass(frozen=True)
class MistakeQuestion:
    """Whether one object is mistaken for another; with two pairs, also the other for the one."""

    pairs: tuple[ObjectPair, ...]
    rows: Mapping[tuple[int, State], SlipCounts]
    """By capability and state; a capability is about one of the pairs."""
    pair_of: Mapping[int, ObjectPair]

    @classmethod
    def of(cls, table: SlipTable, *pairs: ObjectPair) -> MistakeQuestion:
        """Collect the slips of some pairs."""
        pair_of: dict[int, ObjectPair] = {}
        rows: dict[tuple[int, State], SlipCounts] = {}
        for pair in pairs:
            for row in table.rows.get(pair, ()):
                rows[row.capability, row.state] = row
                pair_of[row.capability] = pair
        return cls(pairs, rows, dict(sorted(pair_of.items())))

    @property
    def evidence(self) -> float:
        """The log score against "the others are taken at least as often"."""
        wins, losses = self._tosses
        return float(log_evidence(wins.sum(), losses.sum()))

    @property
    def evidence_beyond_accident(self) -> float:
        """The same if each state may favour one object or the other without a reason."""
        return log_evidence_of_strata(*self._tosses)

    @property
    def _tosses(self) -> tuple[Integers, Integers]:
        """The wins and losses of each state."""
        states: dict[State, list[int]] = {}
        for row in self.rows.values():
            tosses = states.setdefault(row.state, [0, 0])
            tosses[0] += row.wins
            tosses[1] += row.losses
        columns = np.array(list(states.values()), dtype=np.int64).reshape(-1, 2)
        return columns[:, 0], columns[:, 1]

    @property
    def swapped(self) -> frozenset[str]:
        """The two objects."""
        return frozenset(self.pairs[0])


def find_mistaken_objects(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the objects that the agent mistakes for others of their type."""
    possible = list(swaps(context))
    table = SlipTable(context, possible)
    asked = [q for swap in possible for q in _questions(table, swap)]
    # Half of the share for which object is taken, half for when and how often.
    surely_taken = share.threshold(len(asked), 0.5)
    thresholds = Thresholds(
        share.threshold(len(asked), 0.25),
        share.threshold(2 * len(asked), 0.125),
        share.threshold(len(asked), 0.125),
    )
    found: list[Finding] = []
    told: set[frozenset[str]] = set()
    for question in sorted(asked, key=lambda q: -len(q.pairs)):
        if question.swapped in told or not _is_shown(question, surely_taken):
            continue
        case = _case(context, question, thresholds)
        if case is not None:
            found.append(_finding(context, question, case))
            if len(question.pairs) > 1:
                told.add(question.swapped)
    return found


MISTAKEN_OBJECT = FindingKind(
    "mistaken object", "objects that are mistaken for others", find_mistaken_objects
)


def _is_shown(question: MistakeQuestion, surely_taken: float) -> bool:
    beyond_accident = question.evidence_beyond_accident >= _SHOWN_BY_STATES
    return beyond_accident and question.evidence >= surely_taken


def _questions(table: SlipTable, swap: ObjectSwap) -> Iterator[MistakeQuestion]:
    pair = ObjectPair(swap.one, swap.other)
    for pairs in ((pair, pair.reverse), (pair,), (pair.reverse,)):
        yield MistakeQuestion.of(table, *pairs)


def _family(context: FindingContext, question: MistakeQuestion) -> Family:
    """Return the requests, with variables for the two objects if either may be asked for."""
    names = variable_names(context)
    lifted = (next(names), next(names)) if len(question.pairs) > 1 else ()
    return Family(
        tuple(
            Instance(Topic(capability), dict(zip(pair, lifted, strict=False)))
            for capability, pair in question.pair_of.items()
        )
    )


def _case(context: FindingContext, question: MistakeQuestion, needed: Thresholds) -> Case | None:
    family = _family(context, question)
    everywhere = family_counts(context, family, _rows(context, question))
    if len(question.pairs) > 1:
        everywhere = _without_features_of(question.swapped, everywhere)
    when, inside = narrow_down(everywhere, needed.condition, needed.later)
    if not inside.rate.surely_above(LEAST_RATE, needed.rate):
        return None
    case = restricted(Case(family, everywhere, inside, tuple(when), instead=True))
    sides = np.array([question.pairs.index(question.pair_of[c]) for c, _ in case.inside.pairs])
    shown = set(sides[case.inside.hits > 0].tolist())
    if len(shown) < len(question.pairs) or not groups_agree(case.inside, sides):
        return None
    others = _others(question, case)
    if case.rate.probability < _LEAST_RATIO * others.probability:
        return None
    return case if _is_mistake(context, question) else None


def _without_features_of(objects: frozenset[str], counts: EventCounts) -> EventCounts:
    """Leave out the atoms about some objects; variables stand for them."""
    kept = [i for i, name in enumerate(counts.names) if objects.isdisjoint(name.arguments)]
    return replace(counts, names=tuple(counts.names[i] for i in kept), bits=counts.bits[:, kept])


def _rows(context: FindingContext, question: MistakeQuestion) -> dict[Topic, Rows]:
    columns: dict[Topic, list[tuple[int, int, int]]] = {}
    for row in question.rows.values():
        own = columns.setdefault(Topic(row.capability), [])
        own.append((context.index[row.state], row.hits, row.draws))
    arrays = {topic: np.array(own, dtype=np.int64) for topic, own in columns.items()}
    return {topic: (a[:, 0], a[:, 1], a[:, 2]) for topic, a in arrays.items()}


def _others(question: MistakeQuestion, case: Case) -> Rate:
    """Return how often other objects in the same situation were taken."""
    rows = [question.rows[pair] for pair in case.inside.pairs]
    states = len({row.state for row in rows})
    return Rate.of(((r.others, r.draws) for r in rows), states, case.inside.selected_from)


def _is_mistake(context: FindingContext, question: MistakeQuestion) -> bool:
    """Return whether slips are no needed steps: some were avoidable, and most led no nearer."""
    slips = list(_slips(context, question, question.rows))
    nearer = sum(_leads_nearer(context, *slip) for slip in slips)
    return 2 * nearer <= len(slips) and any(_is_avoidable(context, *slip) for slip in slips)


def _slips(
    context: FindingContext, question: MistakeQuestion, pairs: Iterable[tuple[int, State]]
) -> Iterator[tuple[int, State, Effect]]:
    """Yield the outcomes that did what was asked for with the mistaken object."""
    for capability, state in pairs:
        if not question.rows[capability, state].hits:
            continue
        swap = ObjectSwap(*question.pair_of[capability], ())
        done = swap.intent(context.intents[capability]).test(context.vocabulary)
        for effect in context.pair(capability, state).counts:
            after = effect.apply(state)
            if done(after) and not context.holds(capability, after):
                yield capability, state, effect


def _leads_nearer(context: FindingContext, capability: int, state: State, slip: Effect) -> bool:
    before, after = (context.index[s] for s in (state, slip.apply(state)))
    distances = context.distances(capability)
    return bool(distances[after] < distances[before])


def _is_avoidable(context: FindingContext, capability: int, state: State, slip: Effect) -> bool:
    """Return whether the same request, or a reliable one, achieved the intent from there."""
    good = [after for after in context.successors(state) if context.holds(capability, after)]
    own = context.pair(capability, state).counts
    return any(
        Effect.between(state, after) in own or leads_reliably(context, capability, state, after)
        for after in good
    )


def _finding(context: FindingContext, question: MistakeQuestion, case: Case) -> Finding:
    others = _others(question, case)
    outcomes = list(_slips(context, question, case.inside.pairs))
    first = question.pair_of[case.intents[0]]
    literals = ObjectSwap(*first, ()).intent(context.intents[case.intents[0]]).mentioned
    sentence = _sentence(context, question, case, others)
    found = case.finding(context, MISTAKEN_OBJECT.label, sentence, literals, outcomes)
    return replace(found, against=others, strength=others.gap_to(case.rate))


def _sentence(context: FindingContext, question: MistakeQuestion, case: Case, others: Rate) -> str:
    asked, taken = question.pairs[0]
    kind = context.vocabulary.objects[taken]
    if len(question.pairs) > 1:
        does = f"mistakes {asked} and {taken} for each other"
        taken = list(case.family.instances[0].objects)[1]
    else:
        does = f"mistakes {taken} for {asked}"
    requests = joined(first_few(case.family.asked(context.intents), MOST_NAMED), "or")
    elsewhere = "" if case.against is None else f"; otherwise {case.against.text}"
    return (
        f"The agent {does}: asked for {requests}{conditional(case.when)}{case.family.bindings}, it "
        f"does so with {taken} instead: probability {case.rate.text}{elsewhere}; with any other "
        f"{kind} in the same situation, {others.text}."
    )
