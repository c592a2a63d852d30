"""A committee of small decision trees: which class a state belongs to, and how sure that is.

A single tree is always sure. So several are grown: the first takes the feature with the highest
information gain at each node; the others see a random half of the features, with noise on the
gains. What they disagree on is in doubt. All features of a node are scored by one matrix product.

**Lifting.** `on(a,b)` and `on(b,c)` are one question about different objects, so all capabilities
that differ in their objects only share one committee. A capability is renamed to the first of its
group by swapping its objects for those of the first, and with it each state and each effect; all
other objects stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from capscope.logic import Atom, Effect, Intent, Vocabulary
from capscope.logic.footprint import Footprint
from capscope.model.outcome_types import OutcomeTypes
from capscope.model.state_graph import Bits, StateMatrix
from capscope.seeds import child_seed
from capscope.stats.arrays import Floats, Integers

_LEAF = -1
_SMOOTHING = 0.5  # a leaf with n examples is believed with n / (n + this)
_NOISE = 0.3  # gains are raised by up to this share, at random
_NO_GAIN = 1e-9


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree over bits; nodes are numbered, and node 0 is the root."""

    feature: Integers
    """The bit that a node tests; -1 in a leaf."""
    child: Integers
    """For each node the one for a bit of 0 and the one for 1."""
    counts: Floats
    """For each node the number of examples of each class."""

    def leaves(self, bits: Bits, columns: Integers | None = None) -> Integers:
        """Return the leaf of each row; with `columns`, bit i of a row is in column `columns[i]`."""
        node = np.zeros(len(bits), dtype=np.int64)
        inner = np.flatnonzero(self.feature[node] != _LEAF)
        tested = self.feature if columns is None else columns[self.feature]
        while len(inner):
            at = node[inner]
            node[inner] = self.child[at, bits[inner, tested[at]]]
            inner = inner[self.feature[node[inner]] != _LEAF]
        return node

    def shares(self, bits: Bits, columns: Integers | None = None) -> Floats:
        """Return how much each class is believed for each row; a thin leaf leaves a rest."""
        believed = self.counts / (self.counts.sum(axis=1, keepdims=True) + _SMOOTHING)
        shares: Floats = believed[self.leaves(bits, columns)]
        return shares


def grow(
    bits: Bits, labels: Integers, classes: int, random: np.random.Generator | None = None
) -> Tree:
    """Grow a tree until its leaves are pure; with `random`, on random features and noisy gains."""
    # What is the same in all examples tells nothing; in a large world that is most of the atoms.
    varying = np.flatnonzero(bits.any(axis=0) & ~bits.all(axis=0))
    ones = bits[:, varying].astype(np.float64)
    examples = np.zeros((len(labels), classes))
    examples[np.arange(len(labels)), labels] = 1.0
    feature: list[int] = []
    child: list[list[int]] = []
    counts: list[Floats] = []
    pending = [(np.arange(len(labels)), -1, 0)]
    while pending:
        rows, parent, side = pending.pop()
        node = len(feature)
        if parent >= 0:
            child[parent][side] = node
        counts.append(examples[rows].sum(axis=0))
        child.append([0, 0])
        best = _LEAF
        if np.count_nonzero(counts[-1]) > 1:
            gains = np.zeros(bits.shape[1])
            gains[varying] = information_gains(ones[rows], examples[rows], counts[-1])
            best = _best_feature(gains, random)
        feature.append(best)
        if best != _LEAF:
            on = bits[rows, best] > 0
            pending += [(rows[on], node, 1), (rows[~on], node, 0)]
    return Tree(np.array(feature), np.array(child), np.array(counts))


def _best_feature(gains: Floats, random: np.random.Generator | None) -> int:
    if random is not None:
        chosen = random.random(len(gains)) < 0.5
        noisy = gains * (1.0 + _NOISE * random.random(len(gains)))
        gains = np.where(chosen, noisy, 0.0) if (gains[chosen] > _NO_GAIN).any() else noisy
    best = int(gains.argmax())
    return best if gains[best] > _NO_GAIN else _LEAF


def information_gains(ones: Floats, examples: Floats, counts: Floats) -> Floats:
    """Return, for each feature, how many nats the split saves over all examples of a node."""
    inside = examples.T @ ones
    outside = counts[:, None] - inside
    whole = _x_log_x(counts).sum() - _x_log_x(counts.sum())
    parts = sum(
        _x_log_x(side).sum(axis=0) - _x_log_x(side.sum(axis=0)) for side in (inside, outside)
    )
    # Rounded, so that the order in which examples are summed up decides nothing.
    gains: Floats = np.round(parts - whole, 9)
    return gains


def _x_log_x(x: Floats) -> Floats:
    product: Floats = x * np.log(np.maximum(x, 1e-300))
    return product


Committee = tuple[Tree, ...]
"""Trees that were grown on the same examples."""


def grow_committee(bits: Bits, labels: Integers, classes: int, size: int, seed: int) -> Committee:
    """Grow a committee; if one class is all there is, its members cannot differ."""
    first = grow(bits, labels, classes)
    if len(first.feature) == 1:
        return (first,)
    random = np.random.default_rng(seed)
    return (first, *(grow(bits, labels, classes, random) for _ in range(size - 1)))


def mean_shares(committee: Committee, bits: Bits, columns: Integers | None = None) -> Floats:
    """Return the mean belief in each class for each row; `columns` as for `Tree.leaves`."""
    total: Floats = np.mean([tree.shares(bits, columns) for tree in committee], axis=0)
    return total


_LIFTED = -10  # child of the model's seed
_COMMITTEE = 4
_MOST_EXAMPLES = 2_000  # of one group; more would cost time and teach little


@dataclass(eq=False)
class _Group:
    """Capabilities that ask the same about different objects."""

    members: list[int] = field(default_factory=list)
    types: list[frozenset[Effect]] = field(default_factory=list)
    """The outcome types seen, in terms of the first member."""
    committee: Committee | Callable[[], Committee] | None = None
    """The committee, or a function that grows it on first use."""


class Lifting:
    """One committee for each group of capabilities that differ in their objects only."""

    def __init__(self, vocabulary: Vocabulary, matrix: StateMatrix, types: OutcomeTypes) -> None:
        self._vocabulary = vocabulary
        self._matrix = matrix
        self._types = types
        self._groups: dict[object, _Group] = {}
        self._group_of: list[_Group] = []
        self._renaming: list[Integers] = []
        self._intents: list[Intent] = []
        self._numbers: dict[int, list[int]] = {}  # for each capability, the types of its group

    def add(self, intent: Intent) -> None:
        """Add the next capability."""
        group = self._groups.setdefault(Footprint(intent, self._vocabulary).form, _Group())
        first = self._intents[group.members[0]] if group.members else intent
        group.members.append(len(self._intents))
        self._intents.append(intent)
        self._group_of.append(group)
        self._renaming.append(self._atoms_renamed(first, intent))

    def _atoms_renamed(self, first: Intent, intent: Intent) -> Integers:
        """Return, for each atom, the one that it becomes if the first intent becomes this one."""
        renamed: dict[str, str] = {}
        for old, new in zip(first.objects, intent.objects, strict=True):
            # A swap with what the object has become so far keeps this a permutation.
            now = renamed.get(old, old)
            other = next((k for k, v in renamed.items() if v == new), new)
            renamed[old], renamed[other] = new, now
        place = {atom: i for i, atom in enumerate(self._vocabulary.atoms)}
        return np.array([
            place.get(
                Atom(atom.predicate, tuple(renamed.get(o, o) for o in atom.arguments)), i
            )
            for atom, i in place.items()
        ])  # fmt: skip

    def fit(self, labels: Sequence[Mapping[int, int]], seed: int) -> None:
        """Grow the committees; `labels` has the type of each row for each capability."""
        self._numbers.clear()
        for number, group in enumerate(self._groups.values()):
            group.committee = None
            if len(group.members) > 1:
                self._fit_group(group, labels, child_seed(seed, _LIFTED, number))

    def _fit_group(self, group: _Group, labels: Sequence[Mapping[int, int]], seed: int) -> None:
        states = self._matrix.states
        examples = sorted(
            (child_seed(states[row], capability), capability, row, number)
            for capability in group.members
            for row, number in labels[capability].items()
        )[:_MOST_EXAMPLES]
        if not examples:
            return
        known: dict[frozenset[Effect], int] = {}
        class_of: dict[tuple[int, int], int] = {}  # of a type of a capability
        for _, capability, _, number in examples:
            if (capability, number) not in class_of:
                back = np.argsort(self._renaming[capability])
                effects = _renamed(self._types.effects[number], back)
                class_of[capability, number] = known.setdefault(effects, len(known))
        group.types = list(known)

        def grown() -> Committee:
            rows = np.array([row for _, _, row, _ in examples])
            renamings = np.array([self._renaming[capability] for _, capability, _, _ in examples])
            bits = np.take_along_axis(self._matrix.bits[rows], renamings, axis=1)
            classes = np.array([class_of[member, number] for _, member, _, number in examples])
            return grow_committee(bits, classes, len(known), _COMMITTEE, seed)

        group.committee = grown

    def votes(self, capability: int, rows: Integers) -> tuple[list[int], Floats]:
        """Return types and how far each is believed in each row; none if nothing is known."""
        types = self.types_voted_for(capability)
        if not types:
            return [], np.zeros((len(rows), 0))
        group = self._group_of[capability]
        if callable(group.committee):
            group.committee = group.committee()
        assert group.committee is not None, "it has types"
        bits = self._matrix.part(rows)
        return types, mean_shares(group.committee, bits, self._renaming[capability])

    def types_voted_for(self, capability: int) -> list[int]:
        """Return the types that have votes; those that are new get their numbers."""
        group = self._group_of[capability] if capability < len(self._group_of) else None
        if group is None or group.committee is None:
            return []
        if capability not in self._numbers:
            renaming = self._renaming[capability]
            self._numbers[capability] = [
                self._types.number(_renamed(effects, renaming)) for effects in group.types
            ]
        return self._numbers[capability]


def _renamed(effects: Iterable[Effect], renaming: Integers) -> frozenset[Effect]:
    """Return effects with each atom replaced."""
    return frozenset(
        Effect(_moved(one.adds, renaming), _moved(one.deletes, renaming)) for one in effects
    )


def _moved(mask: int, renaming: Integers) -> int:
    """Return the atoms that some atoms become."""
    moved = 0
    for i in range(mask.bit_length()):
        if mask >> i & 1:
            moved |= 1 << int(renaming[i])
    return moved
