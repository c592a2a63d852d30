"""What an agent would do if it pursued what it is asked for.

Behaviours seen under any capability are what the agent can do. If it heads for its intent, it does
the behaviour with which a shortest way to the intent begins. So its answer to a request that it was
never given can be computed: plan with the behaviours, over the states seen and a margin of states
that they are expected to lead to. Of several shortest ways it takes the one it preferred before.

This is an assumption about the agent. `LearnedModel` treats it as one expert among others and
believes it as far as its predictions came true.

**When a behaviour is possible.** It must make sense in a state: what it deletes holds, what it adds
does not. An atom that held whenever the behaviour was seen is taken for a precondition if it
concerns only objects of the behaviour and would hardly have held each time by chance. Where the
behaviour would have served at once and something else was done, it counts as impossible; a decision
tree generalizes from these cases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from capscope.model.decision_trees import Tree, grow
from capscope.model.outcome_types import NOTHING, OutcomeTypes
from capscope.model.state_matrix import StateMatrix
from capscope.statistics.arrays import Floats, Integers, Mask
from capscope.symbolic import ExactlyOne, LiteralTest, State, Vocabulary

UNKNOWN = -1
_FARTHEST = 60.0  # executions; what takes longer counts as out of reach
_SWEEPS = 60
_TIE = 0.1  # ways that differ by less than this many executions are equally short
_BY_CHANCE = 0.3  # an atom that would always have held with this probability is no precondition
_IMAGINED = 4  # unseen states to plan with, for each state seen, and a few hundred besides
_IMAGINED_AT_LEAST = 500
_MOST_PAIRS = 200_000  # of states to plan with and capabilities
_RANK_SWEEPS = 30
_RANK_PRIOR = 0.3  # comparisons won and lost against the average behaviour of the same kind

Labels = Sequence[Mapping[int, int]]
"""For each capability the type of each row in which it was tried."""
Alternatives = tuple[LiteralTest, ...]
"""An intent: one of these is to hold."""


class Pursuit:
    """The first step of a shortest way to each intent, for each state."""

    def __init__(self, vocabulary: Vocabulary, matrix: StateMatrix, types: OutcomeTypes) -> None:
        self._vocabulary = vocabulary
        self._matrix = matrix
        self._types = types
        self._tests: list[Alternatives] = []
        self._distance: Floats = np.zeros((0, 0))
        self._rank: Floats = np.zeros(0)
        self._possible: dict[int, _Conditions] = {}
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
        edges = self._edges(np.arange(len(matrix)), lambda state: matrix.row.get(state, UNKNOWN))
        holds = self._holds()
        self._distance = _distances(edges, holds)
        self._rank_preferences(edges, holds, labels)
        self.step = self._first_steps(edges, self._distance, holds, np.arange(len(matrix)))

    def extend(self) -> None:
        """Find the first steps from the rows that were added since the last plan."""
        known = self.step.shape[1]
        new = np.arange(known, len(self._matrix))
        if not len(new) or not self._tests:
            return
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
        beyond = np.where(reached, 0.0, _FARTHEST)
        distance = np.concatenate([self._distance, beyond], axis=1)
        steps = self._first_steps(edges, distance, self._holds(), new)
        self.step = np.concatenate([self.step, steps], axis=1)

    def _holds(self) -> Mask:
        tests = [self._matrix.holding_any(tests) for tests in self._tests]
        return np.array(tests).reshape(len(self._tests), len(self._matrix))

    def _conditions(
        self, number: int, rows: Sequence[int], labels: Labels, seen: Integers
    ) -> _Conditions:
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
        return _Conditions((deletes, adds & ~deletes), always, never, tree, frozenset(rows))

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
            for number, conditions in self._possible.items():
                effects = sorted(types.effects[number])
                for row in rows[conditions.hold(matrix, rows)].tolist():
                    for effect in effects:
                        after = effect.apply(matrix.states[row])
                        if len(matrix) < most and self._looks_like_those_seen(after):
                            matrix.add(after)

    def _looks_like_those_seen(self, state: State) -> bool:
        return all((state & group).bit_count() == 1 for group in self._groups)

    def _edges(self, rows: Integers, column: Callable[[State], int]) -> _PairEdges:
        """List which behaviours are possible in which rows, and the columns they lead to."""
        matrix, types = self._matrix, self._types
        found: list[tuple[int, int, list[tuple[int, float]]]] = []
        for number, conditions in self._possible.items():
            odds = types.odds[number].items()
            for row in rows[conditions.hold(matrix, rows)].tolist():
                state = matrix.states[row]
                ends = [(column(effect.apply(state)), p) for effect, p in odds]
                found.append((row, number, ends))
        found.sort(key=lambda edge: edge[:2])
        return _PairEdges.of(found)

    def _rank_preferences(self, edges: _PairEdges, holds: Mask, labels: Labels) -> None:
        """Learn which of several equally good behaviours comes first."""
        number = len(self._types)
        wins = np.zeros((number, number))
        best = edges.shortest(self._distance)
        for capability, types in enumerate(labels):
            for row, chosen in types.items():
                if chosen == NOTHING or holds[capability, row]:
                    continue
                span = edges.span(row)
                ties = edges.type[span][best[capability, span]]
                if chosen in ties:
                    wins[chosen, ties[ties != chosen]] += 1.0
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

    def _first_steps(
        self, edges: _PairEdges, distance: Floats, holds: Mask, rows: Integers
    ) -> Integers:
        """Return the type of the first step from each of some rows; nothing if there is none."""
        steps = np.full((len(self._tests), len(self._matrix)), NOTHING)
        if len(edges.row):
            best = edges.shortest(distance)
            rank = np.append(self._rank, np.full(len(self._types) - len(self._rank), 1.0))
            score = np.where(best, rank[edges.type], -1.0)
            top = np.maximum.reduceat(score, edges.begins, axis=1)
            chosen = best & (score == np.repeat(top, edges.lengths, axis=1))
            # Of equal ranks the first type counts: it is assigned last.
            capability, place = np.nonzero(chosen[:, ::-1])
            edge = len(edges.row) - 1 - place
            steps[capability, edges.row[edge]] = edges.type[edge]
        steps[holds] = NOTHING
        return steps[:, rows]


class _Conditions:
    """When a type of outcome is believed to be possible."""

    def __init__(
        self,
        sense: tuple[int, int],
        always: Mask,
        never: Mask,
        tree: Tree | None,
        shown: frozenset[int],
    ) -> None:
        self.sense = sense
        self.always = np.flatnonzero(always)
        self.never = np.flatnonzero(never)
        self.tree = tree
        self.shown = shown

    def hold(self, matrix: StateMatrix, rows: Integers) -> Mask:
        """Return in which of some rows it is possible."""
        bits = matrix.bits[rows]
        possible = matrix.holding(*self.sense)[rows]
        possible &= bits[:, self.always].all(axis=1) & ~bits[:, self.never].any(axis=1)
        if self.tree is not None and possible.any():
            counts = self.tree.counts[self.tree.leaves(bits)]
            possible &= counts[:, 1] > counts[:, 0]
        if len(self.shown):
            possible |= np.isin(rows, list(self.shown))
        return possible


class _PairEdges:
    """Behaviours that are possible in rows, sorted by row, with the rows they lead to."""

    def __init__(self, row: Integers, type: Integers, end: Integers, odds: Floats) -> None:
        self.row = row
        self.type = type
        self.end = end
        self.odds = odds
        self.begins = np.flatnonzero(np.diff(row, prepend=-1))
        self.lengths = np.diff(np.append(self.begins, len(row)))
        # Most edges have one or two ends, a few have many.
        self._ends = [
            (np.flatnonzero(share), end[share > 0, i], share[share > 0, None])
            for i, share in enumerate(odds.T)
        ]
        self._first = dict(zip(row[self.begins].tolist(), range(len(self.begins)), strict=True))

    @classmethod
    def of(cls, found: Sequence[tuple[int, int, list[tuple[int, float]]]]) -> _PairEdges:
        """Lay edges out as arrays; shorter lists of ends are filled up with odds of 0."""
        most = max((len(ends) for *_, ends in found), default=1)
        end = np.zeros((len(found), most), dtype=np.int64)
        odds = np.zeros((len(found), most))
        for i, (_, _, ends) in enumerate(found):
            end[i, : len(ends)] = [row for row, _ in ends]
            odds[i, : len(ends)] = [share for _, share in ends]
        rows = np.array([row for row, _, _ in found], dtype=np.int64)
        return cls(rows, np.array([t for _, t, _ in found], dtype=np.int64), end, odds)

    def span(self, row: int) -> slice:
        """Return the edges that begin in a row."""
        place = self._first.get(row)
        if place is None:
            return slice(0, 0)
        begin = int(self.begins[place])
        return slice(begin, begin + int(self.lengths[place]))

    def costs(self, known: Floats) -> Floats:
        """Return, for each edge and capability, the expected executions if it comes first.

        `known` has the distances from each row, and last, for the way out of the known states, as
        far as can be. With a row for each end, numbers of all capabilities are side by side in
        memory: that is several times as fast as a column for each.
        """
        cost: Floats = np.ones((len(self.row), known.shape[1]))
        for edges, ends, odds in self._ends:
            cost[edges] += known[ends] * odds
        return cost

    def shortest(self, distance: Floats) -> Mask:
        """Return which edges begin a shortest way, for each capability."""
        if not len(self.row):
            return np.zeros((len(distance), 0), dtype=bool)
        cost = self.costs(_by_row(distance))
        least = np.repeat(np.minimum.reduceat(cost, self.begins, axis=0), self.lengths, axis=0)
        best: Mask = (cost < least + _TIE) & (least < _FARTHEST - 1.0)
        return best.T


def _by_row(distance: Floats) -> Floats:
    """Return the distances of each row side by side, with a last row for unknown states."""
    return np.concatenate([distance.T, np.full((1, len(distance)), _FARTHEST)])


def _distances(edges: _PairEdges, holds: Mask) -> Floats:
    """Return the expected executions from each row to each intent (value iteration)."""
    distance = np.where(holds, 0.0, _FARTHEST)
    if not len(edges.row):
        return distance
    known = _by_row(distance)
    rows = edges.row[edges.begins]
    held = holds.T[rows]
    for _ in range(_SWEEPS):
        before = known[rows]
        after = np.minimum(np.minimum.reduceat(edges.costs(known), edges.begins, axis=0), before)
        after[held] = 0.0
        known[rows] = after
        if np.abs(after - before).max() < 1e-3:
            break
    return np.ascontiguousarray(known[:-1].T)


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
