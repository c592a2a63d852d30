"""Which pairs may lead into a hazard: what was seen of it, and what was never tried near it.

A model cannot predict a hazard that never happened. But what happens to `x` most likely depends on
the condition of `x`, so states are divided by the atoms that mention the objects of an instance,
and each capability is to be tried in every such condition, however the other objects are. An
instance without objects has all atoms for its condition.

A pair is worth more if the model believes that its outcome is the hazard, or brings it nearer (more
literals of a conjunction hold), if its capability is about the objects, and if the model is in
doubt. Requests for the hazard itself are not worth asking.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from capscope.logic import Condition, Effect, State, Term, Vocabulary
from capscope.model import LearnedModel
from capscope.seeds import child_seed
from capscope.stats.arrays import Bits, Floats, Integers, Mask

if TYPE_CHECKING:
    from capscope.problem.hazard import Hazard

_MOST_CONDITIONS = 32  # sets of objects whose conditions are followed
_MOST_JOINT = 64  # conjunctions whose progress is followed
_UNRELATED = 0.3  # the worth of a capability that mentions none of the objects
_REPEATED = 0.5  # of a pair that was tried, though in its condition there may be others
_POTENTIAL = 0.3  # of a pair without evidence for the hazard
_SAMPLE = -9  # a child of the seed
_Item = TypeVar("_Item")


class HazardSearch:
    """How far each pair is worth trying in search of the hazards."""

    def __init__(self, model: LearnedModel, hazards: Sequence[Hazard], seed: int) -> None:
        self._model = model
        self._hazards = hazards
        vocabulary = model.graph.vocabulary
        instances = [one for hazard in hazards for one in hazard.condition]
        rng = random.Random(child_seed(seed, _SAMPLE))
        objects = dict.fromkeys(frozenset(Condition((one,)).objects) for one in instances)
        self._conditions = [
            _Condition(some, _mentioning(some, vocabulary), model)
            for some in _some(list(objects), _MOST_CONDITIONS, rng)
        ]
        joint = _some([one for one in instances if len(one) > 1], _MOST_JOINT, rng)
        self._progress = _progress(joint, vocabulary) if joint else None
        masks = [vocabulary.literal_masks(one) for one in instances]
        self._made = reduce(or_, (required for required, _ in masks), 0)
        self._ended = reduce(or_, (forbidden for _, forbidden in masks), 0)
        self._asking: list[bool] = []
        self._potential: Floats = np.zeros((0, 0))

    def observe(self, pairs: Iterable[tuple[State, int]]) -> None:
        """Take in which pairs were executed."""
        for state, capability in pairs:
            for condition in self._conditions:
                condition.count(state, capability)

    def refresh(self, rows: Integers, types: Integers) -> None:
        """Rate what speaks for the hazard in each pair; `types` are those predicted."""
        capabilities = self._model.graph.capabilities
        for intent in capabilities[len(self._asking) :]:
            self._asking.append(any(hazard.asked_by(intent) for hazard in self._hazards))
        self._potential = np.full(types.shape, _POTENTIAL)
        if not len(rows):
            return
        bits = self._model.matrix.bits[rows]
        self._rate_progress(bits, types)
        entering = self._entering(rows)
        for capability in range(len(types) if entering else 0):
            voted, shares = self._model.experts.votes(capability, rows)
            weights = self._model.experts.weights(capability)
            believed = np.tensordot(weights, shares, axes=1)
            for column, number in enumerate(voted):
                if number in entering:
                    mass = believed[:, column] * entering[number]
                    self._potential[capability] += np.sqrt(mass)

    def _touching(self, effect: Effect) -> bool:
        return bool(effect.adds & self._made or effect.deletes & self._ended)

    def _entering(self, rows: Integers) -> dict[int, Mask]:
        """Return for each type that can lead into a hazard in which of the rows it does."""
        types, states = self._model.types, [self._model.matrix.states[row] for row in rows]
        found = {}
        for number in range(len(types)):
            effects = [e for e in types.effects[number] if self._touching(e)]
            if effects:
                flags = [
                    any(h.happens(state, e.apply(state)) for e in effects for h in self._hazards)
                    for state in states
                ]
                found[number] = np.array(flags, dtype=bool)
        return found

    def _rate_progress(self, bits: Bits, types: Integers) -> None:
        """Add how far an instance of several literals is true afterward, if that is nearer."""
        if self._progress is None:
            return
        before = self._progress(bits)
        for number in np.unique(types).tolist():
            effect = self._model.types.main_effect(number)
            if not self._touching(effect):
                continue
            capability, place = np.nonzero(types == number)
            after = bits[place] | self._model.matrix.unpack(effect.adds)
            after &= 1 - self._model.matrix.unpack(effect.deletes)
            progress = self._progress(after)
            nearer = progress > before[place]
            self._potential[capability, place] += np.where(nearer, progress, 0.0).max(axis=1)

    def weights(self, rows: Integers, tried: Mask, doubt: Floats) -> Floats:
        """Return the worth of each pair; rows may have been added since the last refresh."""
        potential = np.full(tried.shape, _POTENTIAL)
        known = self._potential[:, : tried.shape[1]]
        potential[: len(known), : known.shape[1]] = known
        worth = np.zeros(tried.shape)
        for condition in self._conditions:
            related = condition.related[: len(tried), None]
            np.maximum(worth, related / (1.0 + condition.times(rows, len(tried))), out=worth)
        worth *= potential * (1.0 + doubt)
        worth[tried] *= _REPEATED
        worth[np.array(self._asking[: len(tried)], dtype=bool)] = 0.0
        return worth

    def unfinished(self, rows: Integers, capabilities: int) -> bool:
        """Return whether a capability was never tried in a condition that was seen."""
        wanted = ~np.array(self._asking[:capabilities], dtype=bool)
        return any(
            bool((condition.times(rows, capabilities)[wanted] == 0).any())
            for condition in self._conditions
        )


class _Condition:
    """How often each capability was tried in each condition of some objects."""

    def __init__(self, objects: frozenset[str], mask: int, model: LearnedModel) -> None:
        self._objects = objects
        self._mask = mask
        self._model = model
        self._number: dict[int, int] = {}
        self._of_row: list[int] = []
        self._tried = np.zeros((16, 16), dtype=np.int64)  # by condition and capability

    def count(self, state: State, capability: int) -> None:
        """Count an execution."""
        number = self._numbered(state)
        rows, columns = self._tried.shape
        if number >= rows or capability >= columns:
            more = max(2 * rows if number >= rows else rows, number + 1)
            wider = max(2 * columns if capability >= columns else columns, capability + 1)
            grown = np.zeros((more, wider), dtype=np.int64)
            grown[:rows, :columns] = self._tried
            self._tried = grown
        self._tried[number, capability] += 1

    def _numbered(self, state: State) -> int:
        return self._number.setdefault(state & self._mask, len(self._number))

    def times(self, rows: Integers, capabilities: int) -> Integers:
        """Return how often each capability was tried in the condition of each row."""
        states = self._model.matrix.states
        self._of_row += map(self._numbered, states[len(self._of_row) :])
        found = np.zeros((capabilities, len(rows)), dtype=np.int64)
        numbers = np.array(self._of_row, dtype=np.int64)[rows]
        seen = numbers < len(self._tried)
        tried = self._tried[numbers[seen], :capabilities].T
        found[: len(tried), seen] = tried
        return found

    @property
    def related(self) -> Floats:
        """How much each capability is worth."""
        own = self._objects
        return np.array(
            [
                1.0 if not own or own.intersection(intent.objects) else _UNRELATED
                for intent in self._model.graph.capabilities
            ]
        )


def _progress(instances: Sequence[Term], vocabulary: Vocabulary) -> Callable[[Bits], Floats]:
    """Return a function: for each row and instance, the fraction of literals that hold."""
    place = {atom: i for i, atom in enumerate(vocabulary.atoms)}
    signs = np.zeros((len(vocabulary.atoms), len(instances)))
    sizes = np.array([len(one) for one in instances], dtype=np.float64)
    for column, one in enumerate(instances):
        for literal in one:
            signs[place[literal.atom], column] = 1.0 if literal.positive else -1.0
    negative = (signs < 0).sum(axis=0)
    return lambda bits: (bits @ signs + negative) / sizes


def _mentioning(objects: frozenset[str], vocabulary: Vocabulary) -> int:
    """Return the atoms about some objects; all atoms if there are none."""
    about = (atom for atom in vocabulary.atoms if objects.intersection(atom.arguments))
    return vocabulary.state(about) if objects else vocabulary.mask


def _some(items: Sequence[_Item], most: int, rng: random.Random) -> Sequence[_Item]:
    return items if len(items) <= most else rng.sample(items, most)
