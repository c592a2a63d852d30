"""On which atoms do the outcomes of states depend? Splits that the evidence supports.

States are split by an atom or a conjunction of two literals if a betting score excludes that all
draws come from one distribution (`stats/betting.py`), and if the split explains more than that
states differ without a reason (`stats/partial_pooling.py`). All splits share one error rate. Leaves
without a difference are united again: a tree writes "unless a and b" as two leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from capscope.logic import State
from capscope.logic.shortest_condition import bit_matrix
from capscope.model.trees import grow
from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.betting import evidence_of_splits
from capscope.stats.partial_pooling import explained_beyond_accident

LEAST_DRAWS = 2
"""On each side of a split: a single draw is never a reason."""
_MOST_CANDIDATES = 8
"""Splits that are examined for whether they explain more than an accident."""


def classify(states: Sequence[State], classes: Sequence[Sequence[State]], width: int) -> list[int]:
    """Return for each state the class that a decision tree over the atoms puts it into."""
    examples = [state for members in classes for state in members]
    if not examples:
        return [0] * len(states)
    label = np.repeat(np.arange(len(classes)), [len(members) for members in classes])
    tree = grow(bit_matrix(examples, width).astype(np.uint8), label, len(classes))
    at = tree.leaves(bit_matrix(states, width).astype(np.uint8))
    answer: list[int] = tree.counts[at].argmax(axis=1).tolist()
    return answer


def leaves(bits: Mask, counts: Integers, rate: float) -> list[Integers]:
    """Split states, given by atoms and counts of outcomes, where the outcomes differ.

    Returns the rows of each part. `rate` is the probability of any split if nothing differs.
    """
    parts: list[Integers] = []
    open_nodes = [(np.arange(len(bits)), 0)]
    while open_nodes:
        rows, depth = open_nodes.pop()
        # Nodes of depth d share the rate / 2^(d + 1), and there are at most 2^d of them.
        price = math.log(2 / rate) + depth * math.log(4)
        side = best_split(bits[rows], counts[rows], price)
        if side is None:
            parts.append(rows)
        else:
            open_nodes += [(rows[side], depth + 1), (rows[~side], depth + 1)]
    return _merged(parts, counts, math.log(1 / rate))


def _merged(parts: list[Integers], counts: Integers, threshold: float) -> list[Integers]:
    """Unite parts, the most similar first, until all of them differ."""
    parts = sorted(parts, key=lambda part: int(part[0]))
    while len(parts) > 1:
        totals = np.array([counts[part].sum(axis=0) for part in parts])
        i, j = np.array(list(combinations(range(len(parts)), 2))).T
        scores = evidence_of_splits(totals[i], totals[j])
        least = int(scores.argmin())
        if scores[least] >= threshold:
            break
        one, other = parts[i[least]], parts[j[least]]
        rest = [part for part in parts if part is not one and part is not other]
        parts = [*rest, np.sort(np.concatenate([one, other]))]
    return parts


def best_split(bits: Mask, counts: Integers, price: float) -> Mask | None:
    """Return the states on one side of the split that the evidence supports best, or None.

    A split is by an atom or by a conjunction of two literals. `price` is what both log scores must
    reach, beyond the logarithm of how many splits of its kind there are.
    """
    atoms = _distinct_splits(bits)
    if not len(atoms):
        return None
    scores = _scores(atoms, counts)
    splits, prices = _with_conjunctions(atoms, scores)
    scores = np.append(scores, _scores(splits[len(atoms) :], counts)) - prices
    chosen = np.flatnonzero(scores >= price)
    chosen = chosen[np.argsort(-scores[chosen], kind="stable")][:_MOST_CANDIDATES]
    if not len(chosen):
        return None
    gains = np.array(explained_beyond_accident(counts, splits[chosen])) - prices[chosen]
    best = int(gains.argmax())
    return splits[chosen[best]] if gains[best] >= price else None


def _scores(splits: Mask, counts: Integers) -> Floats:
    """Return for each split the log score against equal distributions on both sides."""
    inside = (splits.astype(np.float64) @ counts).astype(np.int64)
    outside = counts.sum(axis=0) - inside
    drawn = np.minimum(inside.sum(axis=1), outside.sum(axis=1))
    return np.where(drawn >= LEAST_DRAWS, evidence_of_splits(inside, outside), -np.inf)


def _with_conjunctions(atoms: Mask, scores: Floats) -> tuple[Mask, Floats]:
    """Add conjunctions of the best atoms with all others; return also the price of each split."""
    number = len(atoms)
    first = np.argsort(-scores, kind="stable")[:_MOST_CANDIDATES]
    literals = np.concatenate([atoms, ~atoms])
    best = np.concatenate([atoms[first], ~atoms[first]])
    both = (best[:, None, :] & literals[None, :, :]).reshape(-1, atoms.shape[1])
    # Of two atoms and their signs; those that are not tried are paid for too.
    prices = [math.log(number)] * number + [math.log(max(2 * number * (number - 1), 1))] * len(both)
    return np.concatenate([atoms, both]), np.array(prices)


def _distinct_splits(bits: Mask) -> Mask:
    """Return a row for each different division of the states by an atom, in the order of atoms."""
    # An atom and its opposite make the same split: all are false in the first state.
    columns = np.ascontiguousarray((bits ^ bits[0]).T)
    first = {column.tobytes(): i for i, column in reversed(list(enumerate(columns)))}
    first.pop(bytes(len(bits)), None)
    return columns[sorted(first.values())]
