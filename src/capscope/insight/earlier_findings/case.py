"""What was found for intents that differ only in objects, before it becomes a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from capscope.insight.earlier_findings.context import FindingContext
from capscope.insight.earlier_findings.families import (
    MOST_NAMED,
    Family,
    Instance,
    Rows,
    Thresholds,
    Topic,
    agree,
    family_counts,
    ground_clauses,
    overlap,
)
from capscope.insight.earlier_findings.finding import (
    MOST_EXAMPLES,
    Clause,
    Finding,
    Pairs,
    conditional,
)
from capscope.insight.earlier_findings.splits import EventCounts, narrow_down
from capscope.logic import Effect, Literal, State
from capscope.stats.arrays import Mask
from capscope.stats.rate import Rate
from capscope.wording import first_few, joined

_MOST_SHOW = 0.75
_MOST_FAMILIES = 200
"""Questions that are searched for a condition, those with the most hits first; all are paid for."""


@dataclass
class Case:
    """An event counted for a family of intents, where a condition holds and elsewhere."""

    family: Family
    everywhere: EventCounts
    inside: EventCounts
    """Where the condition holds."""
    when: tuple[Clause, ...]
    instead: bool = False
    irreversible: bool = False
    also: tuple[Family, ...] = ()
    """Other intents that the same was found for."""

    @cached_property
    def rate(self) -> Rate:
        """How often it happened where the condition holds."""
        return self.inside.rate

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs for which the condition holds."""
        return frozenset(self.inside.pairs)

    @cached_property
    def outside(self) -> EventCounts:
        """The rows for which the condition does not hold."""
        rest = self.everywhere.without(self.inside)
        return replace(rest, selected_from=self.inside.selected_from)

    @cached_property
    def against(self) -> Rate | None:
        """How often it happened elsewhere; None if there is nowhere else."""
        return self.outside.rate if len(self.outside.pairs) else None

    @property
    def families(self) -> tuple[Family, ...]:
        """All families it was found for."""
        return (self.family, *self.also)

    @property
    def intents(self) -> tuple[int, ...]:
        """The capabilities it was found for."""
        return tuple(dict.fromkeys(t.capability for f in self.families for t in f.topics))

    @property
    def literals(self) -> tuple[Literal, ...]:
        """What is caused, with variables."""
        literal = self.family.instances[0].topic.literal
        return () if literal is None else self.family.lifted([literal])

    def topics_inside(self) -> Iterator[tuple[Topic, State]]:
        """Yield the topics and states for which the condition holds."""
        return self._topics(self.inside)

    def topics_outside(self) -> Iterator[tuple[Topic, State]]:
        """Yield the topics and states for which it does not."""
        return self._topics(self.outside)

    def _topics(self, counts: EventCounts) -> Iterator[tuple[Topic, State]]:
        topics = [topic for family in self.families for topic in family.topics]
        for member, (_, state) in zip(counts.members.tolist(), counts.pairs, strict=True):
            yield topics[member], state

    def asked(self, context: FindingContext) -> str:
        """Write the first part of a sentence: what was asked for, and where."""
        requests = dict.fromkeys(a for f in self.families for a in f.asked(context.intents))
        asked = joined(first_few([*requests], MOST_NAMED), "or")
        return f"Asked for {asked}{conditional(self.when)}{self.family.bindings}"

    def sentence(self, context: FindingContext, what: str) -> str:
        """Write the behaviour of the agent and its probability."""
        elsewhere = "" if self.against is None else f"; otherwise {self.against.text}"
        return f"{self.asked(context)}, the agent {what}: probability {self.rate.text}{elsewhere}."

    def finding(
        self,
        context: FindingContext,
        kind: str,
        sentence: str,
        literals: Sequence[Literal],
        outcomes: Sequence[tuple[int, State, Effect]],
    ) -> Finding:
        """Return the case as a finding, with some of its outcomes as examples."""
        examples = [
            context.example(c, state, effect.apply(state))
            for c, state, effect in context.nearest_first(outcomes)[:MOST_EXAMPLES]
        ]
        strength = self.rate.low if self.against is None else self.against.gap_to(self.rate)
        return Finding(
            kind,
            tuple(context.intents[c] for c in self.intents),
            sentence,
            self.rate,
            self.against,
            self.when,
            tuple(literals),
            tuple(examples),
            self.pairs,
            strength,
            irreversible=self.irreversible,
            instead=self.instead,
        )


Judge = Callable[[Family, EventCounts, Thresholds], Case | None]
"""Returns the case that the counts of a family make, if the evidence reaches the thresholds."""


def frequent(
    family: Family, everywhere: EventCounts, needed: Thresholds, bound: float
) -> Case | None:
    """Narrow an event down to where it is frequent.

    None if it is not surely above the bound there, or if the intents of the family differ.
    """
    when, inside = narrow_down(everywhere, needed.condition, needed.later)
    if not inside.draws.any() or not inside.surely_above(bound, needed.rate):
        return None
    return Case(family, everywhere, inside, tuple(when)) if agree(family, inside) else None


def answered(
    context: FindingContext,
    asked: Sequence[Family],
    rows_of: Mapping[Topic, Rows],
    thresholds: tuple[Thresholds, Thresholds],
    judge: Judge,
) -> list[Case]:
    """Judge families, the general ones first; topics that they cover are not asked about again.

    The thresholds are those for single intents, and for several.
    """
    found: list[Case] = []
    covered: set[Topic] = set()
    for family in _most_frequent(asked, rows_of):
        if covered.issuperset(family.topics):
            continue
        needed = thresholds[len(family.instances) > 1].for_overlapping(overlap(context, family))
        case = judge(family, family_counts(context, family, rows_of), needed)
        case = None if case is None else restricted(case)
        if case is not None and _shown_by_most(case):
            found.append(case)
            covered.update(case.family.topics)
    return found


def _shown_by_most(case: Case) -> bool:
    """Return whether nearly all capabilities of a case showed the event where it is claimed."""
    shown = {
        pair[0] for pair, hits in zip(case.inside.pairs, case.inside.hits, strict=True) if hits
    }
    return len(shown) >= _MOST_SHOW * len(case.intents)


def restricted(case: Case) -> Case:
    """Leave out the intents for which the condition never holds, and redundant literals."""
    asked = {capability for capability, _ in case.inside.pairs}
    instances = case.family.instances
    is_kept = np.array([i.topic.capability in asked for i in instances], dtype=bool)
    kept = tuple(i for i, one in zip(instances, is_kept, strict=True) if one)
    renumbered = np.cumsum(is_kept) - 1
    everywhere = case.everywhere.where(is_kept[case.everywhere.members])
    everywhere, inside = (
        replace(counts, members=renumbered[counts.members]) for counts in (everywhere, case.inside)
    )
    # If the intents were left out by the condition alone, it is what they differ in.
    when = shortened(case.when, everywhere) or shortened(case.when, case.everywhere)
    if len(kept) == 1 < len(case.family.instances):
        when = tuple(ground_clauses(kept[0], when))
        kept = (Instance(kept[0].topic, {}),)
    return replace(case, family=Family(kept), everywhere=everywhere, inside=inside, when=when)


def shortened(when: Sequence[Clause], counts: EventCounts) -> tuple[Clause, ...]:
    """Leave out the literals of a condition that follow from the others in all rows.

    False atoms are left out first: if b is on a, that b is not on the table adds nothing.
    """
    column = {atom: i for i, atom in enumerate(counts.names)}

    def covered(clauses: Iterable[Clause]) -> Mask:
        found: Mask = np.ones(len(counts.pairs), dtype=bool)
        for clause in clauses:
            columns = (counts.bits[:, column[x.atom]] == x.positive for x in clause.term)
            found &= np.logical_and.reduce([*columns]) == clause.holds
        return found

    kept, wanted = tuple(when), covered(when)
    literals = {x: None for clause in when if clause.holds for x in clause.term}
    for literal in sorted(literals, key=lambda x: x.positive):
        fewer = tuple(
            Clause(tuple(x for x in c.term if x != literal)) if c.holds else c for c in kept
        )
        fewer = tuple(clause for clause in fewer if clause.term)
        if np.array_equal(covered(fewer), wanted):
            kept = fewer
    return kept


def _most_frequent(asked: Sequence[Family], rows_of: Mapping[Topic, Rows]) -> list[Family]:
    """Keep the questions with the most hits, in their order."""
    hits = [sum(int(rows_of[topic][1].sum()) for topic in family.topics) for family in asked]
    chosen = np.sort(np.argsort(-np.array(hits, dtype=np.int64), kind="stable")[:_MOST_FAMILIES])
    return [asked[i] for i in chosen.tolist()]


def merged(cases: Sequence[Case]) -> list[Case]:
    """Put the cases together in which different requests do the same under the same condition."""
    groups: dict[object, list[Case]] = {}
    for case in cases:
        objects = tuple(tuple(i.objects.items()) for i in case.family.instances)
        flags = case.instead, case.irreversible
        key = case.when, case.literals, flags, tuple(sorted(set(objects)))
        matching = groups.setdefault(key, [])
        for i, other in enumerate(matching):
            both = _together(other, case)
            if not set(other.intents) & set(case.intents) and _agree(both):
                matching[i] = both
                break
        else:
            matching.append(case)
    return [case for matching in groups.values() for case in matching]


def _together(one: Case, other: Case) -> Case:
    members = sum(len(family.instances) for family in one.families)
    return replace(
        one,
        everywhere=one.everywhere.extended(other.everywhere, members),
        inside=one.inside.extended(other.inside, members),
        also=(*one.also, *other.families),
    )


def _agree(case: Case) -> bool:
    instances = tuple(i for family in case.families for i in family.instances)
    return agree(Family(instances), case.inside) and agree(Family(instances), case.outside)
