"""The shortest readable condition that fits the evidence.

A condition must be true in all states ON of a rule, false in all states OFF of the others, and is
free elsewhere. The textbook algorithms (Quine–McCluskey, espresso) are too slow: the complement of
ON ∪ OFF is nearly everything. So the cover is greedy. A term grows by the literal that excludes
most of OFF for the ON states it loses, until OFF is excluded; then unnecessary literals are
removed. Of literals that serve equally well, the one that separates all of ON from OFF best is
taken: in a small corner of the states, many literals fit by accident.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capscope.logic.condition import Condition, Term
from capscope.logic.vocabulary import Literal, State, Vocabulary

Bits = NDArray[np.bool_]
Floats = NDArray[np.float64]


def shortest_condition(
    on: Sequence[State], off: Sequence[State], vocabulary: Vocabulary
) -> Condition:
    """Return a short condition that holds in every state of `on` and in none of `off`.

    A state in both raises ValueError.
    """
    if set(on) & set(off):
        raise ValueError("a state cannot be both inside and outside a condition")
    return _shortest(_satisfied(on, vocabulary), _satisfied(off, vocabulary), vocabulary)


def conditions_apart(groups: Sequence[Sequence[State]], vocabulary: Vocabulary) -> list[Condition]:
    """Return for each group of states a short condition that holds in no other group.

    The same as `shortest_condition` for each group, but the states are unpacked only once.
    """
    if len(set().union(*groups)) < sum(len(set(group)) for group in groups):
        raise ValueError("a state cannot be both inside and outside a condition")
    satisfied = _satisfied([state for group in groups for state in group], vocabulary)
    number = np.repeat(np.arange(len(groups)), list(map(len, groups)))
    return [
        _shortest(satisfied[number == i], satisfied[number != i], vocabulary)
        for i in range(len(groups))
    ]


def _satisfied(states: Sequence[State], vocabulary: Vocabulary) -> Bits:
    """Return for each state which literals hold: atom i true, then atom i false."""
    bits = bit_matrix(states, len(vocabulary.atoms))
    return np.hstack([bits, ~bits])


def _shortest(on_sat: Bits, off_sat: Bits, vocabulary: Vocabulary) -> Condition:
    terms = _drop_redundant(_cover(on_sat, off_sat), on_sat) if len(on_sat) else []
    return Condition(tuple(_named(term, vocabulary) for term in terms))


def bit_matrix(states: Sequence[State], width: int) -> Bits:
    """Unpack states into one row of bits each."""
    size = (width + 7) // 8
    packed = b"".join(state.to_bytes(size, "little") for state in states)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(states), size)
    return np.unpackbits(rows, axis=1, bitorder="little", count=width).astype(bool)


def _cover(on_sat: Bits, off_sat: Bits) -> list[list[int]]:
    terms: list[list[int]] = []
    uncovered = np.ones(len(on_sat), dtype=bool)
    separates = on_sat.mean(axis=0) - off_sat.mean(axis=0) if len(off_sat) else np.zeros(1)
    while uncovered.any():
        term = _shorten(_grow(on_sat[uncovered], off_sat, separates), off_sat, separates)
        terms.append(term)
        uncovered &= ~on_sat[:, term].all(axis=1)
    return terms


def _grow(on_sat: Bits, off_sat: Bits, separates: Floats) -> list[int]:
    """Add literals until no OFF state is left, keeping as many ON states as possible."""
    term: list[int] = []
    # float32 sums are fast, and exact for any realistic number of states.
    on_left, off_left = on_sat.astype(np.float32), off_sat.astype(np.float32)
    while len(off_left):
        kept = on_left.sum(axis=0)
        excluded = len(off_left) - off_left.sum(axis=0)
        # Keeping ON counts as much as excluding OFF; a literal that keeps nothing is useless.
        score = np.where(kept > 0, (kept / len(on_left)) * excluded, -1.0)
        # float32 rounds equal scores differently.
        equal = score >= score.max() * (1 - 1e-5)
        best = int(np.where(equal, separates, -np.inf).argmax())
        if score[best] <= 0:
            # No literal scores: describe one ON state until OFF is excluded.
            row = on_left[0] > 0
            best = int(np.where(row, excluded, -1.0).argmax())
        term.append(best)
        on_left = on_left[on_left[:, best] > 0]
        off_left = off_left[off_left[:, best] > 0]
    return term


def _shorten(term: list[int], off_sat: Bits, separates: Floats) -> list[int]:
    """Remove literals without which the term still excludes every OFF state."""
    by_accident_first = sorted(term, key=lambda literal: float(separates[literal]))
    shortened = []
    for order in (by_accident_first, term):
        left = list(term)
        for literal in order:
            rest = [other for other in left if other != literal]
            if not off_sat[:, rest].all(axis=1).any():
                left = rest
        shortened.append(left)
    return min(shortened, key=len)


def _drop_redundant(terms: list[list[int]], on_sat: Bits) -> list[list[int]]:
    """Remove terms whose states the others also cover, narrowest first."""
    covers = [on_sat[:, term].all(axis=1) for term in terms]
    times = np.sum(covers, axis=0)
    kept = []
    for i in sorted(range(len(terms)), key=lambda i: int(covers[i].sum())):
        if (times[covers[i]] > 1).all():
            times = times - covers[i]
        else:
            kept.append(i)
    return [terms[i] for i in sorted(kept, key=lambda i: -int(covers[i].sum()))]


def _named(term: Sequence[int], vocabulary: Vocabulary) -> Term:
    width = len(vocabulary.atoms)
    return tuple(
        Literal(vocabulary.atoms[j % width], j < width)
        for j in sorted(term, key=lambda j: j % width)
    )
