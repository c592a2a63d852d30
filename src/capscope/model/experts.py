"""Three experts that predict the outcome type of a pair, and their weights.

- *ground*: a committee of decision trees for each capability, over the atoms (`trees`);
- *lifted*: a committee for each family of capabilities, over their roles (`families`);
- *pursuit*: the agent heads for its intent (`pursuit`); a committee for each family says when not.

The weight of an expert is the product of the probabilities it gave to what happened first in each
pair, as in Bayesian model averaging, with old predictions slowly forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from capscope.logic import Intent, Vocabulary
from capscope.model.behaviors import Behaviors
from capscope.model.families import CapabilityFamily, Families
from capscope.model.lessons import Lessons
from capscope.model.outcome_types import NOTHING, OutcomeTypes
from capscope.model.pursuit import Pursuit
from capscope.model.shortest_paths import UNKNOWN
from capscope.model.state_graph import StateMatrix
from capscope.model.trees import Committee, Tree, grow_committee
from capscope.seeds import child_seed
from capscope.stats.arrays import Floats, Integers, Mask

GROUND, LIFTED, PURSUIT = range(3)
PURSUING = PURSUIT - LIFTED
"""The committees of a family that say where the agent does not pursue."""
COMMITTEE = 4
_LEAST_SHARE = 0.05  # what an expert is charged at most for a prediction that failed
_FORGET = 0.98  # old predictions of a capability count less with each new one
_FORGET_ALL = 0.999  # the same over all capabilities


_Trees = tuple[list[int], Committee]
"""The types among the labels of a capability, and its trees; a class is an index of the list."""
_TIED = 1.0  # what it is worth to learn a preference, relative to a condition of a behavior
_UNHEARD = 0.01  # an expert of less weight is not asked, which saves time
_DIGITS = 9  # of beliefs that count: which processor computes them must not matter
_UNTRIED = 0.4  # how far pursuit is believed before anything of a family was tried


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
        lessons: Lessons | None = None,
    ) -> None:
        self._vocabulary = vocabulary
        self._matrix = matrix
        self._types = types
        self._seed = seed
        self.behaviors = Behaviors(vocabulary, matrix, types, lessons)
        self.families = Families(vocabulary, matrix, types, self.behaviors, lessons)
        self.pursuit = (
            Pursuit(vocabulary, matrix, types, self.behaviors, lessons) if pursuit else None
        )
        self._lessons = lessons or Lessons()
        types.learned = self._lessons.counts
        self._intents: list[Intent] = []
        self._trees: list[_Trees | Callable[[], _Trees] | None] = []  # None: nothing was tried
        self._grown_on: dict[int, Mapping[int, int]] = {}  # the labels
        self._scores: dict[object, Floats] = {}
        self._overall: Floats = np.zeros(3)
        self._weights: dict[object, Floats] = {}  # until anything is scored

    def add(self, intent: Intent) -> None:
        """Add the next capability."""
        self.families.add(intent)
        self._intents.append(intent)
        self._trees.append(None)
        key = self.families.of[-1].key
        self._weights = {}
        self._scores.setdefault(key, self._lessons.scores.get(key, np.zeros(3)))

    def believe_as(self, other: Experts) -> None:
        """Believe each expert as far as others do of the same capabilities."""
        self._scores = {key: score.copy() for key, score in other._scores.items()}
        self._overall = other._overall.copy()
        self._weights = {}

    def extend(self, *, far: bool = False) -> None:
        """Take in the rows that were added to the matrix; `far` as for `Pursuit.extend`."""
        if self.pursuit is not None:
            self.pursuit.extend(far=far)

    def plan_on(self, row: int) -> bool:
        """Plan from a row if what it leads to was not imagined; return whether that was so."""
        return self.pursuit is not None and self.pursuit.plan_on(row)

    def plan(self, labels: Sequence[Mapping[int, int]], seen: Sequence[int]) -> None:
        """Fit what all capabilities share; `seen` are the rows that were visited."""
        if self.pursuit is not None:
            tests = [intent.tests(self._vocabulary) for intent in self._intents]
            self.pursuit.plan(tests, labels, seen)

        self.families.fit(labels, self.expected_steps, self._seed)

    def grow(self, capability: int, labels: Mapping[int, int]) -> None:
        """Grow the trees of a capability, given the type of each row in which it was tried."""
        # On the first request for votes: when a run is resumed, most are replaced before.
        if self._grown_on.get(capability) != labels:
            own = self._grown_on[capability] = dict(labels)
            self._trees[capability] = partial(self._grow, capability, own)

    def grow_family(self, capability: int, labels: Sequence[Mapping[int, int]]) -> None:
        """Grow the committees of the family of a capability."""
        family = self.families.of[capability]
        seed = child_seed(self._seed, capability)
        self.families.fit_family(family, labels, self.expected_steps, seed)

    def _grow(self, capability: int, labels: Mapping[int, int]) -> _Trees:
        # In the order of states, so that the order in which they were seen decides nothing.
        order = sorted(labels, key=self._matrix.states.__getitem__)
        rows = np.array(order)
        types = [labels[row] for row in order]
        found = sorted(set(types), key=lambda t: sorted(self._types.effects[t]))
        place = {number: i for i, number in enumerate(found)}
        classes = np.array([place[number] for number in types])
        bits, seed = self._matrix.bits[rows], child_seed(self._seed, capability)
        return found, grow_committee(bits, classes, len(found), COMMITTEE, seed)

    def expected_steps(self, capability: int) -> Integers:
        """Return, for each row, what the agent would do if it pursued its intent."""
        if self.pursuit is None or self.pursuit.step.shape[0] <= capability:
            return np.full(len(self._matrix), UNKNOWN)
        steps: Integers = self.pursuit.step[capability]
        return steps

    def lessons(self) -> Lessons:
        """Return what carries over to another instance."""
        families = {}
        for family in self.families.all:
            self.families.tree(family, PURSUING)  # grows it
            if family.evidence is not None:
                families[family.key] = family.evidence
        return Lessons(
            {b.form: b.evidence for b in self.behaviors.all if b.evidence is not None},
            families,
            dict(self._scores),
            self._types.counts,
            () if self.pursuit is None else self.pursuit.games,
        )

    def undecided(self, capability: int, rows: Integers) -> Floats:
        """Return how far the extremes of the lattice matter for a capability in some rows."""
        found = np.zeros(len(rows))
        if self.pursuit is not None and capability < len(self.pursuit.undecided):
            own = self.pursuit.undecided[capability]
            planned = np.flatnonzero(rows < len(own))
            found[planned] = own[rows[planned]]
            tied = _TIED * (1.0 - self.pursuit.preferred[capability][rows])
            found = np.maximum(found, tied) * self.weights(capability)[PURSUIT]
        return found

    def votes(
        self, capability: int, rows: Integers, asked: Sequence[int] = (GROUND, LIFTED, PURSUIT)
    ) -> tuple[list[int], Floats]:
        """Return types, and how far each expert believes each of them in each row.

        The array is by expert, row and type. An expert that has nothing to say repeats another;
        those that are not asked believe nothing.
        """
        steps = self.expected_steps(capability)[rows]
        kinds = [kind for kind in (LIFTED, PURSUIT) if kind in asked]
        if self._trees[capability] is None and GROUND in asked and LIFTED not in asked:
            kinds.insert(0, LIFTED)
        known = self.families.votes(capability, rows, steps, [kind - LIFTED for kind in kinds])
        if known is None:
            types = [n for n in np.unique(steps).tolist() if n != UNKNOWN] or [NOTHING]
            shares = np.zeros((3, len(rows), len(types)))
            for column, number in enumerate(types):
                shares[:, steps == number, column] = _UNTRIED
            return types, shares
        lifted_types, lifted = known
        trees = self._trees[capability] if GROUND in asked else None
        if callable(trees):
            trees = self._trees[capability] = trees()
        classes = [] if trees is None else trees[0]
        types = list(dict.fromkeys([*classes, *lifted_types]))
        place = {number: i for i, number in enumerate(types)}
        shares = np.zeros((3, len(rows), len(types)))
        columns = [place[number] for number in lifted_types]
        for kind in kinds:
            shares[kind][:, columns] = lifted[kind - LIFTED]
        if trees is None:
            shares[GROUND] = shares[LIFTED]
        else:
            shares[GROUND][:, : len(classes)] = trees[1].shares(self._matrix.part(rows))
        return types, shares

    def weights(self, capability: int) -> Floats:
        """Return how far each expert is believed for a capability."""
        key = self.families.of[capability].key
        known = self._weights.get(key)
        if known is None:
            score = self._scores[key] + self._overall / max(len(self._scores), 1)
            share = np.exp(np.maximum(score - score.max(), -30.0))
            known = self._weights[key] = np.round(share / share.sum(), _DIGITS)
        return known

    def believed(
        self, capability: int, rows: Integers, *, by_rules: bool = False
    ) -> tuple[Integers, Floats]:
        """Return the most believed type of each row and how far it is believed.

        With `by_rules`, the type is what the rules say, however far the committees believe it.
        """
        if not len(rows):
            return np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows))
        weights = self.weights(capability)
        heard = np.flatnonzero(weights > _UNHEARD).tolist()
        types, shares = self.votes(capability, rows, heard)
        weights = np.where(weights > _UNHEARD, weights, 0.0)
        total = np.round(np.tensordot(weights / weights.sum(), shares, axes=1), _DIGITS)
        if by_rules:
            chosen = self.by_rules(capability, rows)
            if chosen is None:  # there is no rule
                return np.array(types)[total.argmax(axis=1)], np.zeros(len(rows))
            place = {number: i for i, number in enumerate(types)}
            column = np.array([place.get(number, -1) for number in chosen.tolist()])
            found = np.where(column < 0, 0.0, total[np.arange(len(rows)), column])
            return np.maximum(chosen, NOTHING), found
        return np.array(types)[total.argmax(axis=1)], total.max(axis=1)

    def rules_of(self, family: CapabilityFamily) -> int | None:
        """Return whose rules stand for a family: its committees by number, None for ground ones."""
        weights = self.weights(family.members[0])
        if weights.argmax() != GROUND:
            return int(weights.argmax()) - LIFTED
        tried_here = any(self._trees[member] is not None for member in family.members)
        return None if tried_here else int(weights[LIFTED:].argmax())

    def ground_tree(self, capability: int) -> tuple[list[int], Tree] | None:
        """Return the types that a capability showed, and the tree of its ground rules."""
        trees = self._trees[capability]
        if callable(trees):
            trees = self._trees[capability] = trees()
        return None if trees is None else (trees[0], trees[1].trees[0])

    def leaves(
        self, capability: int, rows: Sequence[int], tree: Tree, *, lifted: bool
    ) -> list[int]:
        """Return the leaf of a tree of rules for each row."""
        at = np.array(rows, dtype=np.int64)
        bits = self.families.known_features(capability, at) if lifted else self._matrix.part(at)
        leaves: list[int] = tree.leaves(bits).tolist()
        return leaves

    def by_rules_at(self, capability: int, rows: Sequence[int]) -> list[int]:
        """Return the type that the rules mean in each row, as if nothing had been tried there."""
        found = self.by_rules(capability, np.array(rows, dtype=np.int64))
        return [NOTHING] * len(rows) if found is None else found.tolist()

    def by_rules(self, capability: int, rows: Integers) -> Integers | None:
        """Return the type that the rules of a capability mean in each row; -1 if none."""
        kind = self.rules_of(self.families.of[capability])
        if kind is None:
            known = self.ground_tree(capability)
            if known is not None:
                classes, tree = known
                leaves = tree.leaves(self._matrix.part(rows))
                chosen: Integers = np.array(classes)[tree.counts[leaves].argmax(axis=1)]
                return chosen
            return None
        steps = self.expected_steps(capability)[rows]
        return self.families.by_rules(capability, rows, steps, kind)

    def score(
        self, capability: int, rows: Integers, came_true: Callable[[Sequence[int]], Mask]
    ) -> None:
        """Charge the experts for outcomes; `came_true` has a row and a column for each type."""
        types, shares = self.votes(capability, rows)
        given = (shares * came_true(types)).sum(axis=2)
        charges = np.log(np.maximum(given, _LEAST_SHARE)).sum(axis=1)
        key = self.families.of[capability].key
        self._scores[key] = self._scores[key] * _FORGET ** len(rows) + charges
        self._overall = self._overall * _FORGET_ALL ** len(rows) + charges
        self._weights = {}
