"""Divide the pairs that were tried into those that are known and those that are asked about.

To see how good predictions are, some pairs are held out and predicted from the others: halves of
the pairs to weigh the experts, and parts of the states to see how often predictions fail. The
latter is harder, and nearer to what a prediction is for: of a state that is new, no pair is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from capscope.logic import State
from capscope.seeds import child_seed

MOST_PAIRS = 1_200
"""Of each capability; beyond, a sample is enough."""
FOLDS = 5
"""Parts of the states, each held out once."""
_FOLD = -11  # the place that seeds the division of states
IsAsked = Callable[[State, int], bool]
"""Whether a pair of a state and a capability is held out."""
Labels = dict[int, int]
"""The outcome type of each row of the state matrix in which a capability was tried."""


def in_half(half: int) -> IsAsked:
    """Return a test for one half of the pairs, by a hash."""
    return lambda state, capability: (child_seed(state, capability) & 1) == half


def in_fold(fold: int) -> IsAsked:
    """Return a test for all pairs of one part of the states, by a hash."""
    return lambda state, _: child_seed(_FOLD, state) % FOLDS == fold


def divided(
    labels: Sequence[Mapping[int, int]], states: Sequence[State], is_asked: IsAsked
) -> tuple[list[Labels], list[Labels]]:
    """Return the labels of each capability that are known, and those that are held out."""
    known: list[Labels] = []
    asked: list[Labels] = []
    for capability, own in enumerate(labels):
        rows = list(own)
        if len(rows) > MOST_PAIRS:
            order = sorted(rows, key=lambda row: child_seed(states[row], capability))
            chosen = set(order[:MOST_PAIRS])
            rows = [row for row in rows if row in chosen]
        parts: tuple[Labels, Labels] = ({}, {})
        for row in rows:
            parts[is_asked(states[row], capability)][row] = own[row]
        known.append(parts[False])
        asked.append(parts[True])
    return known, asked
