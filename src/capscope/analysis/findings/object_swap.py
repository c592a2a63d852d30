"""Swap two objects of one type, and compare a pair with its mirror image.

An agent that treats the two equally does the mirror image of an outcome in the mirrored state as
often as the outcome. Facts that distinguish the objects for a good reason (one road leads there)
are atoms of the state, and their mirror image is never seen: such pairs are not compared.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.finding import Pairs
from capscope.symbolic import Atom, Effect, Intent, Literal, State, Vocabulary


@dataclass(frozen=True)
class ObjectSwap:
    """The exchange of two objects."""

    one: str
    other: str
    moves: tuple[tuple[int, int], ...]
    """The atoms that become each other: a distance, and the bits that swap places with those this
    far above them."""

    @classmethod
    def of(cls, one: str, other: str, vocabulary: Vocabulary) -> ObjectSwap:
        """Work out which atoms the two objects exchange."""
        plain = cls(one, other, ())
        index = {atom: i for i, atom in enumerate(vocabulary.atoms)}
        moves: dict[int, int] = {}
        for atom, i in index.items():
            distance = index[plain.atom(atom)] - i
            if distance > 0:
                moves[distance] = moves.get(distance, 0) | 1 << i
        return cls(one, other, tuple(moves.items()))

    def atom(self, atom: Atom) -> Atom:
        """Return the mirror image of an atom."""
        image = {self.one: self.other, self.other: self.one}
        return Atom(atom.predicate, tuple(image.get(o, o) for o in atom.arguments))

    def intent(self, intent: Intent) -> Intent:
        """Return the mirror image of an intent."""
        return Intent.of(Literal(self.atom(x.atom), x.positive) for x in intent.literals)

    @cached_property
    def effect(self) -> Callable[[Effect], Effect]:
        """Returns the mirror image of an effect; the same few effects occur in many states."""
        return cache(lambda effect: Effect(self.state(effect.adds), self.state(effect.deletes)))

    def state(self, state: State) -> State:
        """Return the mirror image of a state."""
        # Swapping two objects moves the atoms of one predicate and argument by one distance, so a
        # few distances serve all of them, and all bits of a distance are swapped at once.
        for distance, bits in self.moves:
            differ = (state ^ state >> distance) & bits
            state ^= differ | differ << distance
        return state


class MirrorPair(NamedTuple):
    """A pair and its mirror image, both tried; the first belongs to the first object."""

    schema: Hashable
    """The intent with all objects but the two replaced by a placeholder."""
    sides: tuple[tuple[int, State], tuple[int, State]]
    """The capability and the state of either."""

    @property
    def same_intent(self) -> bool:
        """Whether the intent is its own mirror image."""
        return self.sides[0][0] == self.sides[1][0]

    @property
    def same(self) -> bool:
        """Whether the pair is its own mirror image."""
        return self.sides[0] == self.sides[1]


def swaps(vocabulary: Vocabulary) -> Iterator[ObjectSwap]:
    """Yield the exchanges of two objects of one type."""
    for one, other in itertools.combinations(vocabulary.objects, 2):
        if vocabulary.objects[one] == vocabulary.objects[other]:
            yield ObjectSwap.of(one, other, vocabulary)


def mirror_pairs(
    context: FindingContext, swap: ObjectSwap, reported: Pairs
) -> Iterator[MirrorPair]:
    """Yield the pairs that were tried like their mirror images, each once, if none is reported."""
    nodes = context.graph.nodes
    # Few states have a mirror image that was seen, so these are found first.
    images = {s: image for s in nodes if (image := swap.state(s)) in nodes}
    if not images:
        return
    for capability, intent in enumerate(context.intents):
        mirrored = context.graph.index.get(swap.intent(intent))
        if mirrored is None or _belongs_to_image(capability, mirrored, context, swap):
            continue
        schema = _schema(intent, swap)
        for node, _ in context.tried[capability]:
            partner = images.get(node.state)
            if partner is None or (capability == mirrored and partner < node.state):
                continue
            if nodes[partner].pairs[mirrored] is not None:
                sides = (capability, node.state), (mirrored, partner)
                if reported.isdisjoint(sides):
                    yield MirrorPair(schema, sides)


def _belongs_to_image(
    capability: int, mirrored: int, context: FindingContext, swap: ObjectSwap
) -> bool:
    """Return whether the mirror pairs of an intent are those of its image, sides exchanged."""
    first, image_first = (_comes_first(context.intents[c], swap) for c in (capability, mirrored))
    # Both may name the same object first: p(a,x) and p(b,y), p(a,y) and p(b,x).
    return mirrored < capability if first == image_first else image_first


def _comes_first(intent: Intent, swap: ObjectSwap) -> bool:
    """Return whether the first of the two objects is named before the other, or none is."""
    objects = [o for literal in intent.literals for o in literal.atom.arguments]
    return next((o for o in objects if o in (swap.one, swap.other)), swap.one) == swap.one


def _schema(intent: Intent, swap: ObjectSwap) -> Hashable:
    kept = {swap.one, swap.other}
    schema = []
    for literal in intent.literals:
        arguments = tuple(o if o in kept else "*" for o in literal.atom.arguments)
        schema.append((literal.atom.predicate, literal.positive, arguments))
    return tuple(schema)
