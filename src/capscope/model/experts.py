"""Three experts that predict the outcome type of a pair, and their weights.

- *ground*: a committee of decision trees for each capability, over the atoms (`trees`);
- *lifted*: one committee for all capabilities that differ in their objects only (`trees.Lifting`);
- *pursuit*: the agent heads for its intent (`pursuit`); trees say when it does not.

An expert is believed as far as its predictions came true: its weight is the product of the
probabilities it gave to what happened first in each pair, as in Bayesian model averaging, with old
predictions slowly forgotten. So a wrong assumption costs a few executions and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from capscope.logic import Intent, Vocabulary
from capscope.model.outcome_types import OutcomeTypes
from capscope.model.pursuit import Pursuit
from capscope.model.shortest_paths import UNKNOWN
from capscope.model.state_graph import StateMatrix
from capscope.model.trees import Committee, Lifting
from capscope.seeds import child_seed
from capscope.stats.arrays import Floats, Integers, Mask

GROUND, LIFTED, PURSUIT = range(3)
COMMITTEE = 4
_LEAST_SHARE = 0.05  # what an expert is charged at most for a prediction that failed
_FORGET = 0.98  # old predictions of a capability count less with each new one
_FORGET_ALL = 0.999  # the same over all capabilities


class Votes(NamedTuple):
    """How far each expert believes each type in each of some rows."""

    types: list[int]
    shares: Floats
    """By expert, row and type."""


@dataclass(frozen=True, eq=False)
class _Trees:
    """What was grown for one capability."""

    classes: list[int]
    """The types among the labels; a tree's class is an index of this list."""
    ground: Committee
    pursuing: Committee | None
    """Class 0 is "as pursuit predicts"; the others are shifted by one."""


@dataclass(frozen=True, eq=False)
class _Seedling:
    """The training data of the trees of one capability at the time when they were due.

    They are grown on the first request for their votes. While a resumed run replays its answers,
    most are replaced before.
    """

    labels: Mapping[int, int]
    """The type of each row that was tried."""
    steps: Integers | None
    """The type of the first step from each row, if the agent pursued its intent."""


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
        self._trees: list[_Trees | _Seedling | None] = []  # None before anything was tried
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
        """Grow the trees of a capability."""
        steps = None
        if self.pursuit is not None:
            steps = self._planned_steps(capability)
        self._trees[capability] = _Seedling(dict(labels), steps)

    def _grown(self, capability: int) -> _Trees:
        """Return the trees of a capability."""
        trees = self._trees[capability]
        assert trees is not None, "something was tried"
        if isinstance(trees, _Seedling):
            trees = self._trees[capability] = self._grow(capability, trees)
        return trees

    def _grow(self, capability: int, seedling: _Seedling) -> _Trees:
        labels = seedling.labels
        # In the order of states, so that the order in which they were seen decides nothing.
        order = sorted(labels, key=self._matrix.states.__getitem__)
        rows = np.array(order)
        types = np.array([labels[row] for row in order])
        found = sorted(set(types.tolist()), key=lambda t: sorted(self._types.effects[t]))
        place = {number: i for i, number in enumerate(found)}
        classes = np.array([place[number] for number in types.tolist()])
        bits, seed = self._matrix.bits[rows], child_seed(self._seed, capability)
        ground = Committee.grown(bits, classes, len(found), COMMITTEE, seed)
        if seedling.steps is None:
            return _Trees(found, ground, None)
        classes = np.where(seedling.steps[rows] == types, 0, classes + 1)
        pursuing = Committee.grown(bits, classes, len(found) + 1, COMMITTEE, seed + 1)
        return _Trees(found, ground, pursuing)

    def knows(self, capability: int) -> bool:
        """Return whether trees were grown for a capability."""
        return self._trees[capability] is not None

    def _planned_steps(self, capability: int) -> Integers:
        """Return the behaviour in each row of an agent that pursues its intent."""
        assert self.pursuit is not None, "there is such an expert"
        if self.pursuit.step.shape[0] <= capability:
            return np.full(len(self._matrix), UNKNOWN)
        steps: Integers = self.pursuit.step[capability]
        return steps

    def expected_step(self, capability: int, rows: Integers) -> Integers:
        """Return the behaviour in some rows of an agent that pursues its intent."""
        if self.pursuit is None:
            return np.full(len(rows), UNKNOWN)
        return self._planned_steps(capability)[rows]

    def votes(self, capability: int, rows: Integers) -> Votes:
        """Return the votes of the experts; one without a vote repeats the ground trees."""
        trees, bits = self._grown(capability), self._matrix.part(rows)
        lifted_types, lifted = self._lifting.votes(capability, rows)
        steps = self.expected_step(capability, rows)
        types = list(dict.fromkeys([*trees.classes, *lifted_types, *np.unique(steps).tolist()]))
        types = [number for number in types if number != UNKNOWN]
        place = {number: i for i, number in enumerate(types)}
        shares = np.zeros((3, len(rows), len(types)))
        known = len(trees.classes)
        shares[GROUND, :, :known] = trees.ground.shares(bits)
        shares[LIFTED] = shares[GROUND]
        if lifted_types:
            shares[LIFTED] = 0.0
            shares[LIFTED][:, [place[number] for number in lifted_types]] = lifted
        if trees.pursuing is None:
            shares[PURSUIT] = shares[GROUND]
        else:
            coded = trees.pursuing.shares(bits)
            shares[PURSUIT, :, :known] = coded[:, 1:]
            foreseen = np.flatnonzero(steps != UNKNOWN)
            column = [place[number] for number in steps[foreseen].tolist()]
            shares[PURSUIT, foreseen, column] += coded[foreseen, 0]
        return Votes(types, shares)

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
