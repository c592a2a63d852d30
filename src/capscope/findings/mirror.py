"""Mirror images: what becomes of states and intents when two objects are exchanged.

Exchange two objects of one type in the state, the intent and the outcome, and every draw becomes a
draw of the mirror image. An agent that treats the two alike does as often one as the other; so
wherever a pair and its mirror image were both tried, their counts can be compared. Facts that tell
the objects apart for a good reason (one road leads there, one location has water) are atoms of the
state, and their mirror image is never seen: such pairs have nothing to be compared with.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from capscope.findings.finding import Pairs
from capscope.findings.graph import Graph
from capscope.model.lattice import Pair
from capscope.symbolic import Atom, Effect, Intent, Literal, State, Vocabulary


@dataclass(frozen=True)
class Swap:
    """The exchange of two objects."""

    one: str
    other: str
    bits: tuple[tuple[int, int], ...]
    """The atoms that become each other."""

    @classmethod
    def of(cls, one: str, other: str, vocabulary: Vocabulary) -> Swap:
        """Work out which atoms two objects exchange."""
        plain = cls(one, other, ())
        images = ((atom, plain.atom(atom)) for atom in vocabulary.atoms)
        bit = vocabulary.bit
        return cls(one, other, tuple((bit[a], bit[b]) for a, b in images if bit[a] < bit[b]))

    def atom(self, atom: Atom) -> Atom:
        """Return the mirror image of an atom."""
        image = {self.one: self.other, self.other: self.one}
        return Atom(atom.predicate, tuple(image.get(o, o) for o in atom.arguments))

    def intent(self, intent: Intent) -> Intent:
        """Return the mirror image of an intent."""
        return Intent.of(Literal(self.atom(x.atom), x.positive) for x in intent.literals)

    def effect(self, effect: Effect) -> Effect:
        """Return the mirror image of an effect."""
        return Effect(self.state(effect.adds), self.state(effect.deletes))

    def state(self, state: State) -> State:
        """Return the mirror image of a state."""
        for a, b in self.bits:
            if bool(state & a) != bool(state & b):
                state ^= a | b
        return state


@dataclass(frozen=True)
class Couple:
    """A pair and its mirror image, both tried; the first is the first object's."""

    schema: Hashable
    """The intent with all objects but the two left open."""
    capability: int
    state: State
    mirrored_capability: int
    mirrored_state: State

    @property
    def sides(self) -> tuple[tuple[int, State], tuple[int, State]]:
        """The capability and the state of either."""
        return (
            (self.capability, self.state),
            (self.mirrored_capability, self.mirrored_state),
        )

    @property
    def same_intent(self) -> bool:
        """Whether the intent is its own mirror image."""
        return self.capability == self.mirrored_capability

    @property
    def same(self) -> bool:
        """Whether the pair is its own mirror image."""
        return self.same_intent and self.state == self.mirrored_state


def swaps(vocabulary: Vocabulary) -> Iterator[Swap]:
    """Yield the exchanges of two objects of one type."""
    for one, other in itertools.combinations(vocabulary.objects, 2):
        if vocabulary.objects[one] == vocabulary.objects[other]:
            yield Swap.of(one, other, vocabulary)


def couples(graph: Graph, swap: Swap, told: Pairs) -> Iterator[Couple]:
    """Yield the pairs that were tried like their mirror images, each once, if none was told."""
    for capability, intent in enumerate(graph.intents):
        mirrored = graph.models.index.get(swap.intent(intent))
        if mirrored is None or _belongs_to_image(capability, mirrored, graph, swap):
            continue
        schema = _schema(intent, swap)
        for place, _ in graph.tried(capability):
            image = swap.state(place.state)
            if capability == mirrored and image < place.state:
                continue
            if image in graph.models.places and graph.models.pair(image, mirrored) is not None:
                couple = Couple(schema, capability, place.state, mirrored, image)
                if not told.intersection(couple.sides):
                    yield couple


def pair_of(graph: Graph, side: tuple[int, State]) -> Pair:
    """Return what was seen on one side of a couple."""
    pair = graph.models.pair(side[1], side[0])
    assert pair is not None
    return pair


def _belongs_to_image(capability: int, mirrored: int, graph: Graph, swap: Swap) -> bool:
    """Say whether the couples of an intent are those of its mirror image, the sides exchanged."""
    first, image_first = (_comes_first(graph.intents[c], swap) for c in (capability, mirrored))
    # Both may name the same object first: p(a,x) and p(b,y), p(a,y) and p(b,x).
    return mirrored < capability if first == image_first else image_first


def _comes_first(intent: Intent, swap: Swap) -> bool:
    """Say whether the first of the two objects is named before the other, or none is."""
    objects = [o for literal in intent.literals for o in literal.atom.arguments]
    return next((o for o in objects if o in (swap.one, swap.other)), swap.one) == swap.one


def _schema(intent: Intent, swap: Swap) -> Hashable:
    """Return the intent with all objects but the two left open."""
    return tuple(
        (
            literal.atom.predicate,
            literal.positive,
            tuple(o if o in (swap.one, swap.other) else "*" for o in literal.atom.arguments),
        )
        for literal in intent.literals
    )
