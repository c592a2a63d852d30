"""A committee of small decision trees: which class a state belongs to, and how sure that is.

A single tree is always sure. So several are grown: the first takes the feature with the highest
information gain at each node; the others see a random half of the features, with noise on the
gains. What they disagree on is in doubt. All features of a node are scored by one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capscope.stats.arrays import Bits, Floats, Integers

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

    def leaves(self, bits: Bits) -> Integers:
        """Return the leaf of each row."""
        rows = np.arange(len(bits))
        return _descended(self.feature, self.child, np.zeros_like(rows), rows, bits)

    def believed(self) -> Floats:
        """Return how much each class is believed in each node; a thin leaf leaves a rest."""
        believed: Floats = self.counts / (self.counts.sum(axis=1, keepdims=True) + _SMOOTHING)
        return believed


def _descended(
    feature: Integers, child: Integers, node: Integers, rows: Integers, bits: Bits
) -> Integers:
    """Return the leaves below some nodes, each for one of the rows of bits."""
    inner = np.flatnonzero(feature[node] != _LEAF)
    while len(inner):
        at = node[inner]
        node[inner] = child[at, bits[rows[inner], feature[at]]]
        inner = inner[feature[node[inner]] != _LEAF]
    return node


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
    sides = np.stack([inside, counts[:, None] - inside])
    kept = _x_log_x(sides).sum(axis=1) - _x_log_x(sides.sum(axis=1))
    whole = _x_log_x(counts).sum() - _x_log_x(counts.sum())
    # Rounded, so that the order in which examples are summed up decides nothing.
    gains: Floats = np.round(kept[0] + kept[1] - whole, 9)
    return gains


def _x_log_x(x: Floats) -> Floats:
    product: Floats = x * np.log(np.maximum(x, 1e-300))
    return product


class Committee:
    """Trees that were grown on the same examples; a row goes down all of them at once."""

    def __init__(self, *trees: Tree) -> None:
        self.trees = trees
        self._roots = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1]
        self._feature = np.concatenate([tree.feature for tree in trees])
        self._child = np.concatenate(
            [tree.child + root for tree, root in zip(trees, self._roots, strict=True)]
        )
        self._believed = np.concatenate([tree.believed() for tree in trees])

    def shares(self, bits: Bits) -> Floats:
        """Return the mean belief in each class for each row."""
        number = len(self.trees)
        nodes, rows = np.repeat(self._roots, len(bits)), np.tile(np.arange(len(bits)), number)
        leaves = _descended(self._feature, self._child, nodes, rows, bits)
        mean: Floats = self._believed[leaves.reshape(number, len(bits))].mean(axis=0)
        return mean


def grow_committee(bits: Bits, labels: Integers, classes: int, size: int, seed: int) -> Committee:
    """Grow a committee; if one class is all there is, its members cannot differ."""
    first = grow(bits, labels, classes)
    if len(first.feature) == 1:
        return Committee(first)
    random = np.random.default_rng(seed)
    return Committee(first, *(grow(bits, labels, classes, random) for _ in range(size - 1)))
