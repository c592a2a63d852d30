"""What the same request for another object shows to be avoidable.

A side effect with a condition is compared with states without it. But a property of an object may
never change: a box that is open stays open in all states seen. Then the comparison is with the same
request for other objects that lack the property.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from capscope.insight.findings.caused_literals import CausedLiterals
from capscope.insight.findings.context import FindingContext
from capscope.insight.findings.lifted_intents import Family, Instance, Topic, lifted_request
from capscope.logic import Effect, Literal


class OtherObjects:
    """Capabilities that ask the same for different objects."""

    def __init__(self, context: FindingContext, caused: Sequence[CausedLiterals]) -> None:
        self._context = context
        self._caused = caused
        self._requests = [lifted_request(context, c) for c in range(len(context.intents))]
        self._alike: dict[object, list[int]] = {}
        for capability, (shape, _) in enumerate(self._requests):
            self._alike.setdefault(shape, []).append(capability)
        self._compared: dict[tuple[object, Literal], list[Topic]] = {}

    def compared(self, capability: int, literal: Literal) -> list[Topic]:
        """Return what a literal corresponds to for each of the objects.

        Empty if it does not depend on the objects, or if none of them was spared: no capability
        achieved its intent without what corresponds to the literal.
        """
        shape, instance = self._requests[capability]
        if instance.variables.keys().isdisjoint(literal.atom.arguments):
            return []
        lifted = Literal(instance.lift(literal.atom), literal.positive)
        if (shape, lifted) not in self._compared:
            topics = [topic for c in self._alike[shape] if (topic := self._topic(c, lifted))]
            is_spared = any(self._achieves_without(topic) for topic in topics)
            self._compared[shape, lifted] = topics if is_spared else []
        return self._compared[shape, lifted]

    def _topic(self, capability: int, lifted: Literal) -> Topic | None:
        _, instance = self._requests[capability]
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
