"""Three experts that predict the outcome type of a pair, and their weights.

- *ground*: a committee of decision trees for each capability, over the atoms (`trees`);
- *lifted*: one committee for all capabilities that differ in their objects only (`trees.Lifting`);
- *pursuit*: the agent heads for its intent (`pursuit`); trees say when it does not.

The weight of an expert is the product of the probabilities it gave to what happened first in each
pair, as in Bayesian model averaging, with old predictions slowly forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from capscope.logic import Intent, Vocabulary
from capscope.model.outcome_types import OutcomeTypes
from capscope.model.pursuit import Pursuit
from capscope.model.shortest_paths import UNKNOWN
from capscope.model.state_graph import StateMatrix
from capscope.model.trees import Committee, Lifting, grow_committee, mean_shares
from capscope.seeds import child_seed
from capscope.stats.arrays import Floats, Integers, Mask

GROUND, LIFTED, PURSUIT = range(3)
COMMITTEE = 4
_LEAST_SHARE = 0.05  # what an expert is charged at most for a prediction that failed
_FORGET = 0.98  # old predictions of a capability count less with each new one
_FORGET_ALL = 0.999  # the same over all capabilities


_Trees = tuple[list[int], Committee, Committee | None]
"""The types among the labels of a capability, its ground trees, and those of pursuit if there are.

A class of a ground tree is an index of this list. For pursuit, class 0 is "as pursuit predicts",
and the others are shifted by one.
"""


class Experts:
    """The experts of a model, for all its capabilities."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        matrix: StateMatrix,
        types: OutcomeTypes,
        seed: int,
        *,
        pursuit: bool = True,
    ) -> None:
        self._vocabulary = vocabulary
        self._matrix = matrix
        self._types = types
        self._seed = seed
        self._lifting = Lifting(vocabulary, matrix, types)
        self.pursuit = Pursuit(vocabulary, matrix, types) if pursuit else None
        self._intents: list[Intent] = []
        self._trees: list[_Trees | Callable[[], _Trees] | None] = []  # None: nothing was tried
        self._scores: list[Floats] = []
        self._overall: Floats = np.zeros(3)

    def add(self, intent: Intent) -> None:
        """Add the next capability."""
        self._lifting.add(intent)
        self._intents.append(intent)
        self._trees.append(None)
        self._scores.append(np.zeros(3))

    def believe_as(self, other: Experts) -> None:
        """Believe each expert as far as others do of the same capabilities."""
        shared = min(len(self._scores), len(other._scores))
        self._scores[:shared] = [score.copy() for score in other._scores[:shared]]
        self._overall = other._overall.copy()

    def extend(self) -> None:
        """Take in the rows that were added to the matrix."""
        if self.pursuit is not None:
            self.pursuit.extend()

    def plan(self, labels: Sequence[Mapping[int, int]], seen: Sequence[int]) -> None:
        """Fit what all capabilities share; `seen` are the rows that were visited."""
        self._lifting.fit(labels, self._seed)
        if self.pursuit is not None:
            tests = [intent.tests(self._vocabulary) for intent in self._intents]
            self.pursuit.plan(tests, labels, seen)

    def grow(self, capability: int, labels: Mapping[int, int]) -> None:
        """Grow the trees of a capability, given the type of each row in which it was tried."""
        steps = None if self.pursuit is None else self.expected_steps(capability)
        # On the first request for votes: when a run is resumed, most are replaced before.
        self._trees[capability] = partial(self._grow, capability, dict(labels), steps)

    def _grow(self, capability: int, labels: Mapping[int, int], steps: Integers | None) -> _Trees:
        # In the order of states, so that the order in which they were seen decides nothing.
        order = sorted(labels, key=self._matrix.states.__getitem__)
        rows = np.array(order)
        types = np.array([labels[row] for row in order])
        found = sorted(set(types.tolist()), key=lambda t: sorted(self._types.effects[t]))
        place = {number: i for i, number in enumerate(found)}
        classes = np.array([place[number] for number in types.tolist()])
        bits, seed = self._matrix.bits[rows], child_seed(self._seed, capability)
        ground = grow_committee(bits, classes, len(found), COMMITTEE, seed)
        if steps is None:
            return found, ground, None
        classes = np.where(steps[rows] == types, 0, classes + 1)
        return found, ground, grow_committee(bits, classes, len(found) + 1, COMMITTEE, seed + 1)

    def knows(self, capability: int) -> bool:
        """Return whether trees were grown for a capability."""
        return self._trees[capability] is not None

    def expected_steps(self, capability: int) -> Integers:
        """Return, for each row, what the agent would do if it pursued its intent."""
        if self.pursuit is None or self.pursuit.step.shape[0] <= capability:
            return np.full(len(self._matrix), UNKNOWN)
        steps: Integers = self.pursuit.step[capability]
        return steps

    def votes(self, capability: int, rows: Integers) -> tuple[list[int], Floats]:
        """Return types, and how far each expert believes each of them in each row.

        The array is by expert, row and type. An expert that has nothing to say repeats the ground
        trees.
        """
        trees, bits = self._trees[capability], self._matrix.part(rows)
        assert trees is not None, "something was tried"
        if callable(trees):
            trees = self._trees[capability] = trees()
        classes, ground, pursuing = trees
        lifted_types, lifted = self._lifting.votes(capability, rows)
        steps = self.expected_steps(capability)[rows]
        types = list(dict.fromkeys([*classes, *lifted_types, *np.unique(steps).tolist()]))
        types = [number for number in types if number != UNKNOWN]
        place = {number: i for i, number in enumerate(types)}
        shares = np.zeros((3, len(rows), len(types)))
        known = len(classes)
        shares[GROUND, :, :known] = mean_shares(ground, bits)
        shares[LIFTED] = shares[GROUND]
        if lifted_types:
            shares[LIFTED] = 0.0
            shares[LIFTED][:, [place[number] for number in lifted_types]] = lifted
        if pursuing is None:
            shares[PURSUIT] = shares[GROUND]
        else:
            coded = mean_shares(pursuing, bits)
            shares[PURSUIT, :, :known] = coded[:, 1:]
            foreseen = np.flatnonzero(steps != UNKNOWN)
            column = [place[number] for number in steps[foreseen].tolist()]
            shares[PURSUIT, foreseen, column] += coded[foreseen, 0]
        return types, shares

    def weights(self, capability: int) -> Floats:
        """Return how far each expert is believed for a capability."""
        score = self._scores[capability] + self._overall / max(len(self._scores), 1)
        share = np.exp(np.maximum(score - score.max(), -30.0))
        weights: Floats = share / share.sum()
        return weights

    def believed(self, capability: int, rows: Integers) -> tuple[Integers, Floats]:
        """Return the most believed type of each row and how far it is believed."""
        if not self.knows(capability) or not len(rows):
            return np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows))
        types, shares = self.votes(capability, rows)
        total = np.tensordot(self.weights(capability), shares, axes=1)
        return np.array(types)[total.argmax(axis=1)], total.max(axis=1)

    def score(
        self, capability: int, rows: Integers, came_true: Callable[[Sequence[int]], Mask]
    ) -> None:
        """Charge the experts for outcomes; `came_true` has a row and a column for each type."""
        types, shares = self.votes(capability, rows)
        given = (shares * came_true(types)).sum(axis=2)
        charges = np.log(np.maximum(given, _LEAST_SHARE)).sum(axis=1)
        self._scores[capability] = self._scores[capability] * _FORGET ** len(rows) + charges
        self._overall = self._overall * _FORGET_ALL ** len(rows) + charges
