"""What the agent also does: changes that come with a request and that the intent did not need.

Each literal that executions of a capability caused is a question of its own: how often does it
happen, over all states in which it could, and under which condition? A side effect that always
happens where the condition holds is the worst, so nothing here needs chance: states with the
condition are compared with their siblings without it.

Achieving `on(a,b)` always ends `holding(a)`; that is how the world works. A literal counts as a
side effect of a capability only if it was spared, decided once for both:

- **in the same state**: other executions of the request achieved the intent without it, and changed
  nothing that those with it did not change, surely more often than a slip would; or another request
  does so reliably. If the execution did not achieve the intent, it must have led no nearer: a step
  towards a better place is not a side effect;
- **in sibling states**: without the condition, the same capability, or the same one for another
  object, achieved the intent without it, by a part of the same changes. That may be a needed step
  that removes the condition (a block on top is put aside), so it is reported only if the condition
  remains, and all that distinguishes these states, or nothing undoes the change.

The rate counts all draws from the states in which the literal was false. Whether a single outcome
was avoidable plays no part in it: otherwise luck in *showing* that would look like a condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from capscope.insight.earlier_findings.case import Case, answered, frequent, merged
from capscope.insight.earlier_findings.context import FindingContext, FindingKind
from capscope.insight.earlier_findings.failures import leads_reliably
from capscope.insight.earlier_findings.families import (
    Family,
    Instance,
    Rows,
    Thresholds,
    Topic,
    families,
    ground_clauses,
    negates,
)
from capscope.insight.earlier_findings.finding import LEAST_RATE, Clause, Finding, more_than_luck
from capscope.insight.earlier_findings.splits import EventCounts
from capscope.logic import Effect, Intent, Literal, State
from capscope.stats.error_budget import Share
from capscope.wording import joined


@dataclass
class CausedLiterals:
    """What the executions of a capability changed beyond its intent."""

    states: np.ndarray
    """The states in which it was tried and did not hold, by index."""
    draws: np.ndarray
    hits: dict[Literal, dict[int, int]] = field(default_factory=dict)
    """For each literal the rows in which it was caused, and how often."""
    achieving: dict[Effect, tuple[State, State]] = field(default_factory=dict)
    """Effects that achieved the intent: atoms that held before, and that did not, in some state."""


_NOTHING = Effect(0, 0)
_MOST_CHECKED = 50


def find_side_effects(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the changes that come with a request and were not needed."""
    caused = context.once(caused_literals)
    others = OtherObjects(context, caused)
    topics: dict[Topic, None] = {}
    for c, own in enumerate(caused):
        for literal in own.hits:
            if _reported(earlier, context.intents[c], literal):
                continue
            if _may_be_side_effect(context, c, own, literal):
                topics[Topic(c, literal)] = None
            else:
                topics |= dict.fromkeys(others.compared(c, literal))
    asked = families(context, list(topics))
    thresholds = Thresholds.of(share, asked)
    rows_of = {
        topic: _rows(context, caused[topic.capability], topic)
        for topic in {topic: None for family in asked for topic in family.topics}
    }
    found = answered(context, asked, rows_of, thresholds, partial(_case, context))
    return [_finding(context, cases) for cases in _simultaneous(merged(found))]


def _reported(earlier: Sequence[Finding], intent: Intent, literal: Literal) -> bool:
    """Return whether a change of other objects was reported, whichever object it was."""
    own = set(intent.objects)
    shape = literal.atom.predicate, literal.positive
    return own.isdisjoint(literal.atom.arguments) and any(
        intent in finding.intents
        and shape in {(x.atom.predicate, x.positive) for x in finding.literals}
        for finding in earlier
    )


SIDE_EFFECT = FindingKind("side effect", "side effects", find_side_effects)


def caused_literals(context: FindingContext) -> list[CausedLiterals]:
    """List for each capability what its executions changed beyond the intent."""
    return [_caused_by(context, c) for c in range(len(context.intents))]


def _caused_by(context: FindingContext, capability: int) -> CausedLiterals:
    tried = context.tried[capability]
    intent, vocabulary = context.intents[capability], context.vocabulary
    index = context.index
    states = np.array([index[node.state] for node, _ in tried], dtype=np.int64)
    caused = CausedLiterals(states, np.array([p.total for _, p in tried], dtype=np.int64))
    beyond: dict[Effect, tuple[Literal, ...]] = {}
    for row, (node, pair) in enumerate(tried):
        for effect, count in pair.counts.items():
            if effect not in beyond:
                rest = context.exactly_one.beyond(effect, intent, vocabulary)
                beyond[effect] = context.exactly_one.without_implied(rest).literals(vocabulary)
            for literal in beyond[effect]:
                hits = caused.hits.setdefault(literal, {})
                hits[row] = hits.get(row, 0) + count
            if context.holds(capability, effect.apply(node.state)):
                held, missing = caused.achieving.get(effect, (0, 0))
                caused.achieving[effect] = held | node.state, missing | ~node.state
    return caused


def _rows(context: FindingContext, caused: CausedLiterals, topic: Topic) -> Rows:
    """Return hits and draws of the states in which a literal was false."""
    assert topic.literal is not None
    atom = context.atom_index[topic.literal.atom]
    false = context.bits[caused.states, atom] != topic.literal.positive
    hits = np.zeros(len(caused.states), dtype=np.int64)
    for row, number in caused.hits.get(topic.literal, {}).items():
        hits[row] = number
    return caused.states[false], hits[false], caused.draws[false]


def _bit(context: FindingContext, literal: Literal) -> State:
    return context.vocabulary.bit[literal.atom]


def _contains(effect: Effect, literal: Literal, bit: State) -> bool:
    return bool((effect.adds if literal.positive else effect.deletes) & bit)


def _may_be_side_effect(
    context: FindingContext, capability: int, caused: CausedLiterals, literal: Literal
) -> bool:
    """Return whether a literal was ever avoided, in the same state or in another."""
    bit = _bit(context, literal)
    ends = caused.achieving
    for whole in ends:
        if not _contains(whole, literal, bit):
            continue
        for part, (held, missing) in ends.items():
            possible = (missing if literal.positive else held) & bit
            if possible and not _contains(part, literal, bit) and part.is_part_of(whole):
                return True
    states = (context.nodes[i].state for i in caused.states[list(caused.hits[literal])])
    checked = (s for _, s in zip(range(_MOST_CHECKED), states, strict=False))
    return any(spared_in(context, capability, state, literal) for state in checked)


def spared_in(context: FindingContext, capability: int, state: State, literal: Literal) -> int:
    """Count executions from a state that achieved the intent and did not cause the literal.

    They must have changed a part of what an execution that caused it changed, if that execution
    achieved the intent; else that execution must have led no nearer. Another request counts if it
    reliably does so, as often as the literal was caused.
    """
    bit = _bit(context, literal)
    counts = context.pair(capability, state).counts
    wholes, failed = [], False
    for effect in counts:
        if not _contains(effect, literal, bit):
            continue
        after = effect.apply(state)
        if context.holds(capability, after):
            wholes.append(effect)
        else:
            failed = failed or _leads_no_nearer(context, capability, state, after)

    def is_spared(after: State) -> bool:
        effect = Effect.between(state, after)
        if not context.holds(capability, after) or _contains(effect, literal, bit):
            return False
        return failed or any(effect.is_part_of(whole) for whole in wholes)

    if leads_reliably(context, state, is_spared):
        return sum(n for effect, n in counts.items() if _contains(effect, literal, bit))
    return sum(n for effect, n in counts.items() if is_spared(effect.apply(state)))


def _case(
    context: FindingContext, family: Family, everywhere: EventCounts, needed: Thresholds
) -> Case | None:
    """Answer the question about a family; None if there is nothing to report."""
    case = frequent(family, everywhere, needed, LEAST_RATE)
    if case is None:
        return None
    hits = list(_hits(context, case))
    failing, astray, total = _executions(context, hits)
    if 2 * failing > total and 2 * astray <= total:
        return None  # mostly steps on the way
    irreversible = _irreversible(context, hits)
    if not _avoidable(context, hits):
        spared = _spared_by_siblings(context, case)
        if not case.when or 2 * failing > total or not _is_spared(hits, spared):
            return None
        if not irreversible and _removes_condition(context, case, hits, spared):
            return None
    case.instead = 2 * failing > total
    case.irreversible = irreversible
    return case


def _leads_no_nearer(context: FindingContext, capability: int, state: State, after: State) -> bool:
    """Return whether an outcome is known to be no nearer to the intent than the state before."""
    return context.nearness(capability).at_least_as_near(state, after)


Hit = tuple[Topic, State, Effect]


def _executions(context: FindingContext, hits: Sequence[Hit]) -> tuple[int, int, int]:
    """Count executions that failed, those of them that led no nearer, and all, among some hits."""
    failing = astray = total = 0
    for topic, state, effect in hits:
        capability, after = topic.capability, effect.apply(state)
        number = context.pair(capability, state).counts[effect]
        total += number
        if not context.holds(capability, after):
            failing += number
            astray += number * _leads_no_nearer(context, capability, state, after)
    return failing, astray, total


def _avoidable(context: FindingContext, hits: Sequence[Hit]) -> bool:
    """Return whether the literal is spared, surely not by luck, where it was caused."""
    pairs = dict.fromkeys((topic, state) for topic, state, _ in hits)
    spared = sum(spared_in(context, t.capability, s, t.literal) for t, s in pairs if t.literal)
    caused = sum(context.pair(t.capability, s).counts[effect] for t, s, effect in hits)
    return more_than_luck(spared, caused - len(pairs))


def _hits(context: FindingContext, case: Case) -> Iterator[Hit]:
    """Yield the outcomes in which the literal of a topic was caused where the condition holds."""
    for topic, state in case.topics_inside():
        assert topic.literal is not None
        bit = _bit(context, topic.literal)
        for effect in context.pair(topic.capability, state).counts:
            if _contains(effect, topic.literal, bit):
                yield topic, state, effect


Spared = Mapping[Topic, Set[Effect]]
"""Effects that achieved the intent where the condition does not hold, without the literal."""


def _spared_by_siblings(context: FindingContext, case: Case) -> Spared:
    spared: dict[Topic, set[Effect]] = {}
    for topic, state in case.topics_outside():
        assert topic.literal is not None
        bit = _bit(context, topic.literal)
        for effect in context.pair(topic.capability, state).counts:
            achieved = context.holds(topic.capability, effect.apply(state))
            if achieved and not _contains(effect, topic.literal, bit):
                spared.setdefault(topic, set()).add(effect)
    lacking = {topic for topic, _ in case.topics_inside()} - spared.keys()
    borrowed = {topic: borrowed_effects(context, case.family, topic, spared) for topic in lacking}
    return {**spared, **borrowed}


def _is_spared(hits: Sequence[Hit], spared: Spared) -> bool:
    """Return whether siblings achieved the intent by a part of the changes."""
    return any(part.is_part_of(whole) for topic, _, whole in hits for part in spared.get(topic, ()))


def _removes_condition(
    context: FindingContext, case: Case, hits: Sequence[Hit], spared: Spared
) -> bool:
    """Return whether what was changed in addition to siblings' changes mostly ends the condition.

    So does the end of anything else that held in all these states and in no other: the condition
    may say the same by other words. What siblings change too does not count: each grasp ends that
    the hand is free.
    """
    clauses: dict[Topic, list[Clause]] = {
        i.topic: ground_clauses(i, case.when) for i in case.family.instances
    }
    peculiar = _peculiar(case)

    def removes(topic: Topic, whole: Effect) -> bool:
        parts = [part for part in spared.get(topic, ()) if part.is_part_of(whole)]
        additions = [whole.without(part) for part in parts] or [whole]
        own = peculiar.get(topic, _NOTHING)
        return all(
            negates(addition, clauses[topic], context)
            or bool(addition.deletes & own.adds | addition.adds & own.deletes)
            for addition in additions
        )

    return 2 * sum(removes(topic, effect) for topic, _, effect in hits) > len(hits)


def _peculiar(case: Case) -> dict[Topic, Effect]:
    """Return for each topic the atoms that held, or did not, in all states inside and in no other.

    As an effect: what is true inside is added, what is false is deleted.
    """
    found: dict[Topic, Effect] = {}
    for topic, state in case.topics_outside():
        was = found.get(topic, Effect(~state, state))
        found[topic] = Effect(was.adds & ~state, was.deletes & state)
    for topic, state in case.topics_inside():
        if topic in found:
            was = found[topic]
            found[topic] = Effect(was.adds & state, was.deletes & ~state)
    return found


def _irreversible(context: FindingContext, hits: Sequence[Hit]) -> bool:
    """Return whether no known sequence makes the literal false again, although some were tried."""
    tried = 0
    for topic, state, effect in hits:
        assert topic.literal is not None
        after = effect.apply(state)
        atom = context.atom_index[topic.literal.atom]
        if context.can_regain(atom, not topic.literal.positive)[context.index[after]]:
            return False
        tried += context.graph.nodes[after].departures
    return tried >= LEAST_TRIES


LEAST_TRIES = 20
"""Executions after a change before it may be said that nothing undoes it."""


def _simultaneous(cases: Sequence[Case]) -> list[list[Case]]:
    """Put the cases together in which several literals were caused by the same executions."""
    groups: dict[object, list[Case]] = {}
    for case in cases:
        key = case.intents, case.when, case.inside.pairs, case.inside.hits.tobytes()
        groups.setdefault(key, []).append(case)
    return list(groups.values())


def _finding(context: FindingContext, cases: Sequence[Case]) -> Finding:
    case = cases[0]
    literals = tuple(dict.fromkeys(literal for c in cases for literal in c.literals))
    what = joined(literals)
    does = f"causes {what} instead" if case.instead else f"also causes {what}"
    undo = " No known sequence undoes it." if any(c.irreversible for c in cases) else ""
    return case.finding(
        context,
        SIDE_EFFECT.name,
        case.sentence(context, does) + undo,
        literals,
        [(topic.capability, state, effect) for topic, state, effect in _hits(context, case)],
    )


class OtherObjects:
    """Capabilities that ask the same for different objects."""

    def __init__(self, context: FindingContext, caused: Sequence[CausedLiterals]) -> None:
        self._context = context
        self._caused = caused
        self._alike: dict[object, list[int]] = {}
        for capability, footprint in enumerate(context.footprints):
            self._alike.setdefault(footprint.form, []).append(capability)
        self._compared: dict[tuple[object, Literal], list[Topic]] = {}

    def compared(self, capability: int, literal: Literal) -> list[Topic]:
        """Return what a literal corresponds to for each of the objects.

        Empty if it does not depend on the objects, or if none of them was spared: no capability
        achieved its intent without what corresponds to the literal.
        """
        footprint = self._context.footprints[capability]
        if set(footprint.objects).isdisjoint(literal.atom.arguments):
            return []
        key = footprint.form, Literal(footprint.lift(literal.atom), literal.positive)
        if key not in self._compared:
            alike = self._alike[footprint.form]
            topics = [topic for c in alike if (topic := self._topic(c, key[1]))]
            is_spared = any(self._achieves_without(topic) for topic in topics)
            self._compared[key] = topics if is_spared else []
        return self._compared[key]

    def _topic(self, capability: int, lifted: Literal) -> Topic | None:
        instance = Instance(Topic(capability), self._context.footprints[capability].variables)
        literal = Literal(instance.ground(lifted.atom), lifted.positive)
        if literal.atom not in self._context.atom_index or not self._context.tried[capability]:
            return None
        if literal in self._context.intents[capability].mentioned:
            return None
        return Topic(capability, literal)

    def _achieves_without(self, topic: Topic) -> bool:
        assert topic.literal is not None
        bit = self._context.vocabulary.bit[topic.literal.atom]
        adds = topic.literal.positive
        return any(
            (missing if adds else held) & bit
            and not (effect.adds if adds else effect.deletes) & bit
            for effect, (held, missing) in self._caused[topic.capability].achieving.items()
        )


def borrowed_effects(
    context: FindingContext, family: Family, topic: Topic, known: Mapping[Topic, Set[Effect]]
) -> set[Effect]:
    """Return what effects of other topics of a family would be with the objects of a topic."""
    instances = {instance.topic: instance for instance in family.instances}
    renamed = (
        _renamed(context, effect, instances[other], instances[topic])
        for other, effects in known.items()
        for effect in effects
    )
    return {effect for effect in renamed if effect is not None}


def _renamed(
    context: FindingContext, effect: Effect, old: Instance, new: Instance
) -> Effect | None:
    """Replace the objects of one instance by those of another; None if an atom has no match."""
    vocabulary = context.vocabulary
    sides = []
    for mask in effect:
        bits = [vocabulary.bit.get(new.ground(old.lift(a))) for a in vocabulary.holding(mask)]
        if None in bits:
            return None
        sides.append(sum(bit for bit in bits if bit is not None))
    return Effect(*sides)
