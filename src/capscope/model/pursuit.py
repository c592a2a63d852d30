"""The behaviour of an agent that pursues its intents.

Behaviours seen under any capability are what the agent can do. If it heads for its intent, it does
the behaviour with which a shortest path to the intent begins, over the states seen and a margin of
states that behaviours are expected to lead to. Of several shortest paths it takes the one it
preferred before. `LearnedModel` believes this expert as far as its predictions came true.

**When a behaviour is possible.** What it deletes holds, and what it adds does not. An atom that
held whenever the behaviour was seen is taken for a precondition if it concerns only objects of the
behaviour and would hardly have held each time by chance. Where the behaviour would have served at
once and something else was done, it counts as impossible; a decision tree generalizes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from capscope.logic import ExactlyOne, LiteralTest, State, Vocabulary
from capscope.model.outcome_types import NOTHING, OutcomeTypes
from capscope.model.shortest_paths import (
    FARTHEST,
    UNKNOWN,
    Edges,
    expected_executions,
    first_steps,
    ties_of,
)
from capscope.model.state_graph import StateMatrix
from capscope.model.trees import Tree, grow
from capscope.stats.arrays import Floats, Integers, Mask

_BY_CHANCE = 0.3  # an atom that would always have held with this probability is not a precondition
_IMAGINED = 4  # unseen states to plan with, for each state seen, and a few hundred besides
_IMAGINED_AT_LEAST = 500
_MOST_PAIRS = 200_000  # of states to plan with and capabilities
_RANK_SWEEPS = 30
_RANK_PRIOR = 0.3  # comparisons won and lost against the average behaviour of the same kind

Labels = Sequence[Mapping[int, int]]
"""For each capability the type of each row in which it was tried."""
Alternatives = tuple[LiteralTest, ...]
"""An intent: one of these is to hold."""
_Possible = Callable[[Integers], Mask]
"""In which of some rows a type of outcome is believed to be possible."""


class Pursuit:
    """The first step of a shortest path to each intent, for each state."""

    def __init__(self, vocabulary: Vocabulary, matrix: StateMatrix, types: OutcomeTypes) -> None:
        self._vocabulary = vocabulary
        self._matrix = matrix
        self._types = types
        self._tests: list[Alternatives] = []
        self._distance: Floats = np.zeros((0, 0))
        self._rank: Floats = np.zeros(0)
        self._possible: dict[int, _Possible] = {}
        self._groups: Sequence[int] = ()
        self.step: Integers = np.zeros((0, 0), dtype=np.int64)
        """For each capability and row the type of the first step; -1 if the row is new."""

    def plan(self, tests: Sequence[Alternatives], labels: Labels, seen: Sequence[int]) -> None:
        """Plan anew; `tests` are those of each intent, `seen` the rows that were visited."""
        self._tests = list(tests)
        tried = _rows_by_type(labels)
        self._possible = {
            number: self._conditions(number, tried[number], labels, np.array(seen))
            for number in sorted(tried)
            if number != NOTHING
        }
        self._imagine(seen)
        matrix = self._matrix
        every = np.arange(len(matrix))
        edges = self._edges(every, lambda state: matrix.row.get(state, UNKNOWN))
        holds = self._holds(every)
        self._distance = expected_executions(edges, holds)
        self._rank_preferences(edges, holds, labels)
        self.step = self._first_steps(edges, self._distance, holds, every)

    def extend(self) -> None:
        """Find the first steps from the rows that were added since the last plan."""
        known = self.step.shape[1]
        if known >= len(self._matrix) or not self._tests:
            return
        new = np.arange(known, len(self._matrix))
        planned: int = self._distance.shape[1]
        margin = StateMatrix(len(self._vocabulary.atoms))

        def column(state: State) -> int:
            row = self._matrix.row.get(state, planned)
            if row < planned:
                return row
            return planned + margin.add(state) if self._looks_like_those_seen(state) else UNKNOWN

        # Beyond the states that were planned for, only what is reached at once is near: whether
        # such a state was met or not makes no difference.
        edges = self._edges(new, column)
        reached = np.array([margin.holding_any(tests) for tests in self._tests])
        beyond = np.where(reached, 0.0, FARTHEST)
        distance = np.concatenate([self._distance, beyond], axis=1)
        steps = self._first_steps(edges, distance, self._holds(new), new)
        self.step = np.concatenate([self.step, steps], axis=1)

    def _holds(self, rows: Integers) -> Mask:
        """Return for each intent whether it holds in each of some rows."""
        tests = [self._matrix.holding_any(tests, rows) for tests in self._tests]
        return np.array(tests).reshape(len(self._tests), len(rows))

    def _conditions(
        self, number: int, rows: Sequence[int], labels: Labels, seen: Integers
    ) -> _Possible:
        """Find out when a type of outcome is possible."""
        matrix, types = self._matrix, self._types
        adds = deletes = 0
        for effect in types.effects[number]:
            adds |= effect.adds
            deletes |= effect.deletes
        sensible = matrix.holding(deletes, adds & ~deletes)
        where = np.array(sorted(set(rows)))
        shown = matrix.bits[where]
        comparable = matrix.bits[seen[sensible[seen]]]
        share = (comparable.sum(axis=0) + 1.0) / (len(comparable) + 2.0)
        concerned = self._concerned(adds | deletes)
        always = concerned & shown.all(axis=0) & (share ** len(where) < _BY_CHANCE)
        never = concerned & ~shown.any(axis=0) & ((1.0 - share) ** len(where) < _BY_CHANCE)
        refused = sorted(self._refused(number, sensible, labels) - set(rows))
        tree = None
        if refused:
            examples = np.concatenate([shown, matrix.bits[refused]])
            outcome = np.repeat([1, 0], [len(where), len(refused)])
            tree = grow(examples, outcome, 2)
        return _possible_in(matrix, (deletes, adds & ~deletes), always, never, tree, where)

    def _concerned(self, changed: int) -> Mask:
        """Return the atoms whose objects are all among those of the atoms that change."""
        atoms = self._vocabulary.atoms
        objects = {o for a in self._vocabulary.holding(changed) for o in a.arguments}
        return np.array([objects.issuperset(atom.arguments) for atom in atoms])

    def _refused(self, number: int, sensible: Mask, labels: Labels) -> set[int]:
        """Return the rows in which a type alone would have served at once, and was not chosen."""
        effect = self._types.main_effect(number)
        states, main_effect = self._matrix.states, self._types.main_effect
        refused = set()
        for tests, types in zip(self._tests, labels, strict=True):
            if not any(effect.adds & test[0] or effect.deletes & test[1] for test in tests):
                continue
            for row, other in types.items():
                if other != number and sensible[row]:
                    served, done = (
                        any(test(after) for test in tests)
                        for after in (
                            effect.apply(states[row]),
                            main_effect(other).apply(states[row]),
                        )
                    )
                    # If what was done served as well, it may just have been preferred.
                    if served and not done:
                        refused.add(row)
        return refused

    def _imagine(self, seen: Sequence[int]) -> None:
        """Add states that behaviours should lead to, as far as they look like those seen."""
        matrix, types = self._matrix, self._types
        most = min(
            (1 + _IMAGINED) * len(seen) + _IMAGINED_AT_LEAST,
            _MOST_PAIRS // max(len(self._tests), 1),
        )
        visited = [matrix.states[row] for row in seen]
        self._groups = ExactlyOne.seen_in(visited, self._vocabulary).groups
        begun = 0
        while begun < len(matrix) < most:
            rows = np.arange(begun, len(matrix))
            begun = len(matrix)
            for number, possible in self._possible.items():
                effects = sorted(types.effects[number])
                for row in rows[possible(rows)].tolist():
                    for effect in effects:
                        after = effect.apply(matrix.states[row])
                        if len(matrix) < most and self._looks_like_those_seen(after):
                            matrix.add(after)

    def _looks_like_those_seen(self, state: State) -> bool:
        return all((state & group).bit_count() == 1 for group in self._groups)

    def _edges(self, rows: Integers, column: Callable[[State], int]) -> Edges:
        """List which behaviours are possible in which rows, and the columns they lead to."""
        matrix, types = self._matrix, self._types
        parts = []
        for number, possible in self._possible.items():
            odds = types.odds[number]
            where = rows[possible(rows)]
            states = [matrix.states[row] for row in where.tolist()]
            ends = [[column(effect.apply(state)) for state in states] for effect in odds]
            parts.append((where, number, np.array(ends).T, np.array(list(odds.values()))))
        return Edges.joined([part for part in parts if len(part[0])])

    def _rank_preferences(self, edges: Edges, holds: Mask, labels: Labels) -> None:
        """Learn which of several equally good behaviours comes first."""
        number = len(self._types)
        asked = np.repeat(np.arange(len(labels)), [len(types) for types in labels])
        rows = np.array([row for types in labels for row in types], dtype=np.int64)
        done = np.array([done for types in labels for done in types.values()], dtype=np.int64)
        chose = (done != NOTHING) & ~holds[asked, rows]
        asked, rows, done = asked[chose], rows[chose], done[chose]
        edge, place = ties_of(edges, self._distance, rows, asked)
        was_done = edges.type[edge] == done[place]
        compared = np.isin(place, place[was_done]) & ~was_done
        wins = np.zeros((number, number))
        np.add.at(wins, (done[place[compared]], edges.type[edge[compared]]), 1.0)
        kinds = self._kinds()
        by_kind = np.zeros((kinds.max() + 1, kinds.max() + 1))
        np.add.at(by_kind, (kinds[:, None], kinds[None, :]), wins)
        np.fill_diagonal(by_kind, 0.0)
        general = bradley_terry(by_kind, np.ones(len(by_kind)))
        self._rank = bradley_terry(wins, general[kinds])

    def _kinds(self) -> Integers:
        """Number types by the predicates that they change: all drives are of one kind."""
        numbers: dict[object, int] = {}
        kinds = []
        for number in range(len(self._types)):
            kind = self._types.kind(self._types.main_effect(number))
            kinds.append(numbers.setdefault(kind, len(numbers)))
        return np.array(kinds)

    def _first_steps(self, edges: Edges, distance: Floats, holds: Mask, rows: Integers) -> Integers:
        """Return the type of the first step from consecutive rows; nothing if there is none."""
        steps = np.full((len(self._tests), len(rows)), NOTHING)
        rank = np.append(self._rank, np.full(len(self._types) - len(self._rank), 1.0))
        places = edges.row[edges.begins] - rows[0]
        steps[:, places] = first_steps(edges, distance, rank, NOTHING)
        steps[holds] = NOTHING
        return steps


def _possible_in(
    matrix: StateMatrix,
    sense: tuple[int, int],
    always: Mask,
    never: Mask,
    tree: Tree | None,
    shown: Integers,
) -> _Possible:
    """Return a function: in which of some rows a type of outcome is believed to be possible."""
    held, absent = np.flatnonzero(always), np.flatnonzero(never)

    def possible_in(rows: Integers) -> Mask:
        possible = matrix.holding(*sense, rows)
        sensible = np.flatnonzero(possible)
        if len(sensible):
            # In a large world a behaviour makes sense in few states.
            bits = matrix.bits[rows[sensible]]
            fits = bits[:, held].all(axis=1) & ~bits[:, absent].any(axis=1)
            if tree is not None:
                counts = tree.counts[tree.leaves(bits)]
                fits &= counts[:, 1] > counts[:, 0]
            possible[sensible] = fits
        possible |= np.isin(rows, shown)
        return possible

    return possible_in


def bradley_terry(wins: Floats, prior: Floats) -> Floats:
    """Return the strength of each player (MM algorithm), drawn towards a prior where wins are few.

    >>> strengths = bradley_terry(np.array([[0.0, 3.0], [0.0, 0.0]]), np.ones(2))
    >>> bool(strengths[0] > 1 > strengths[1])
    True
    """
    games = wins + wins.T
    won = wins.sum(axis=1) + _RANK_PRIOR
    # Most players never met another one.
    playing = np.flatnonzero(games.any(axis=1))
    games = games[np.ix_(playing, playing)]
    strength = prior.copy()
    met = np.zeros(len(wins))
    for _ in range(_RANK_SWEEPS):
        own = strength[playing]
        met[playing] = (games / (own[:, None] + own[None, :])).sum(axis=1)
        strength = won / (met + 2 * _RANK_PRIOR / (strength + prior))
    return strength


def _rows_by_type(labels: Labels) -> defaultdict[int, list[int]]:
    rows: defaultdict[int, list[int]] = defaultdict(list)
    for types in labels:
        for row, number in types.items():
            rows[number].append(row)
    return rows
