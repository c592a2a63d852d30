"""A committee of small decision trees: which class a state belongs to, and how sure that is.

A single tree is always sure. So several are grown: the first takes the feature with the highest
information gain at each node; the others see a random half of the features, with noise on the
gains. What they disagree on is in doubt. All features of a node are scored by one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capscope.model.state_graph import Bits
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

    def leaves(self, bits: Bits) -> Integers:
        """Return the leaf of each row."""
        node = np.zeros(len(bits), dtype=np.int64)
        inner = np.flatnonzero(self.feature[node] != _LEAF)
        while len(inner):
            at = node[inner]
            node[inner] = self.child[at, bits[inner, self.feature[at]]]
            inner = inner[self.feature[node[inner]] != _LEAF]
        return node

    def shares(self, bits: Bits) -> Floats:
        """Return how much each class is believed for each row; a thin leaf leaves a rest."""
        believed = self.counts / (self.counts.sum(axis=1, keepdims=True) + _SMOOTHING)
        shares: Floats = believed[self.leaves(bits)]
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


def mean_shares(committee: Committee, bits: Bits) -> Floats:
    """Return the mean belief in each class for each row."""
    total: Floats = np.mean([tree.shares(bits) for tree in committee], axis=0)
    return total
