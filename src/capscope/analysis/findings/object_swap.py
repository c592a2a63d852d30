"""Swap two objects of one type, and compare a pair with its mirror image.

An agent that treats the two equally does the mirror image of an outcome in the mirrored state as
often as the outcome. Facts that distinguish the objects for a good reason (one road leads there)
are atoms of the state, and their mirror image is never seen: such pairs are not compared.

Some objects are not alike although no atom says so: floors have an order, cells have neighbors. The
vocabulary can mark their type as distinct. A type has a structure, too, if exactly one of its
objects is the place of something that was seen to go from some of them only to some others. In both
cases its objects are not compared.

With 130 objects there are thousands of swaps, and each would be tried on every state. So the
objects that most draws are about are compared, in a bounded number of states.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from capscope.analysis.findings.context import FindingContext
from capscope.symbolic import Atom, Effect, Intent, State, Vocabulary

MOST_SWAPS = 60
MOST_STATES = 4000
_CONNECTED = 0.75
"""The share of all moves between places that must have been seen for them to be alike."""


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
        return intent.renamed(self.atom)

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


def swaps(context: FindingContext) -> Iterator[ObjectSwap]:
    """Yield the exchanges of two objects of one type, of those that most draws are about."""
    vocabulary = context.vocabulary
    structured = structured_types(context) | vocabulary.distinct_types
    draws: Counter[str] = Counter()
    for capability, intent in enumerate(context.intents):
        number = sum(pair.total for _, pair in context.tried[capability])
        draws.update(dict.fromkeys(intent.objects, number))
    types: dict[str, list[str]] = {}
    for name in sorted(vocabulary.objects, key=lambda o: -draws[o]):
        types.setdefault(vocabulary.objects[name], []).append(name)
    types = {
        name: objects
        for name, objects in types.items()
        if len(objects) > 1
        and structured.isdisjoint((name, *vocabulary.combined_types.get(name, ())))
    }
    most = max(MOST_SWAPS // max(len(types), 1), 1)
    order = {name: i for i, name in enumerate(vocabulary.objects)}
    for names in types.values():
        # The pairs of the first objects come first.
        pairs = sorted(itertools.combinations(range(len(names)), 2), key=lambda p: (p[1], p[0]))
        for i, j in pairs[:most]:
            one, other = sorted((names[i], names[j]), key=lambda name: order[name])
            yield ObjectSwap.of(one, other, vocabulary)


def structured_types(context: FindingContext) -> set[str]:
    """Return the types whose objects are places between which only some moves were seen."""
    graph, vocabulary = context.graph, context.vocabulary
    effects = {e for c in range(len(context.intents)) for g in graph.groups(c) for e in g.effects}
    found: set[str] = set()
    for group in context.exactly_one.groups:
        moves = {(e.deletes & group, e.adds & group) for e in effects if e.adds & group}
        places = {place for move in moves for place in move}
        left = {before for before, _ in moves}
        atoms = vocabulary.holding(group)
        if len(left) > 2 and len(moves) < _CONNECTED * len(left) * (len(places) - 1):
            columns = zip(*(atom.arguments for atom in atoms), strict=True)
            found |= {vocabulary.objects[c[0]] for c in columns if len(set(c)) > 1}
    return found


def mirrored(context: FindingContext) -> list[tuple[ObjectSwap, list[MirrorPair]]]:
    """Return the swaps and the pairs that were tried like their mirror images, each once."""
    return [(swap, list(mirror_pairs(context, swap))) for swap in swaps(context)]


def mirror_pairs(context: FindingContext, swap: ObjectSwap) -> Iterator[MirrorPair]:
    """Yield the pairs that were tried like their mirror images, each once."""
    nodes = context.graph.nodes
    # Few states have a mirror image that was seen, so these are found first.
    every = max(len(nodes) // MOST_STATES, 1)
    states = itertools.islice(nodes, 0, None, every)
    images = [(s, image) for s in states if (image := swap.state(s)) in nodes]
    if not images:
        return
    for capability, intent in enumerate(context.intents):
        other = context.graph.index.get(swap.intent(intent))
        if other is None or _belongs_to_image(capability, other, context, swap):
            continue
        schema = _schema(intent, swap)
        for state, image in images:
            if capability == other and image < state and every == 1:
                continue
            if nodes[state].pairs[capability] is None or nodes[image].pairs[other] is None:
                continue
            if not context.holds(capability, state):
                yield MirrorPair(schema, ((capability, state), (other, image)))


def _belongs_to_image(
    capability: int, mirrored: int, context: FindingContext, swap: ObjectSwap
) -> bool:
    """Return whether the mirror pairs of an intent are those of its image, sides exchanged."""
    first, image_first = (_comes_first(context.intents[c], swap) for c in (capability, mirrored))
    # Both may name the same object first: p(a,x) and p(b,y), p(a,y) and p(b,x).
    return mirrored < capability if first == image_first else image_first


def _comes_first(intent: Intent, swap: ObjectSwap) -> bool:
    """Return whether the first of the two objects is named before the other, or none is."""
    return next((o for o in intent.objects if o in (swap.one, swap.other)), swap.one) == swap.one


def _schema(intent: Intent, swap: ObjectSwap) -> Hashable:
    kept = {swap.one, swap.other}
    return tuple(
        tuple(
            (x.positive, x.atom.predicate, *(o if o in kept else "*" for o in x.atom.arguments))
            for x in one
        )
        for one in intent.alternatives
    )
