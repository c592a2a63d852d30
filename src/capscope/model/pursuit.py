"""The behavior of an agent that pursues its intents.

Behaviors seen under any capability are what the agent can do. If it heads for its intent, it does
the behavior with which a shortest path to the intent begins, over the states seen and a margin of
states that behaviors are expected to lead to. Of several shortest paths it takes the one it
preferred before. `LearnedModel` believes this expert as far as its predictions came true.

`behaviors` says when a behavior is possible, as believed and by the extremes of what is known.
Where optimist and pessimist expect different first steps, a question tells about a condition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from capscope.logic import ExactlyOne, State, Vocabulary
from capscope.model.behaviors import Alternatives, Behaviors, Extreme, Form, Labels
from capscope.model.lessons import Lessons
from capscope.model.outcome_types import NOTHING, OutcomeTypes
from capscope.model.shortest_paths import (
    FARTHEST,
    UNKNOWN,
    Edges,
    expected_executions,
    first_steps,
    ties_of,
)
from capscope.model.state_graph import Goals, StateMatrix
from capscope.model.terms import Binding
from capscope.stats.arrays import Floats, Integers, Mask

_IMAGINED = 4  # unseen states to plan with, for each state seen, and a few hundred besides
_IMAGINED_AT_LEAST = 500
_MOST_PAIRS = 200_000  # of states to plan with and capabilities
_IMAGINED_FAR, _MOST_PAIRS_FAR = 40, 2_000_000  # the same for states asked about together
_EXTREMES_AGAIN = 1.1  # they are compared when so many times the pairs were tried
_AT_ONCE = 2.0  # expected executions of a request that one behavior may serve
_LATER = 0.3  # what it tells that the extremes differ about a longer path
_MOST_PLAYERS = 400  # types whose preferences are compared
_NEWTON_STEPS = 20
_CONVERGED = 1e-8
_DIGITS = 5  # of log strengths that count
# Variances of log strengths: what the instances of a behavior share, those with the same object in
# the same place, and each by itself.
_OF_FORM, _OF_OBJECT, _OWN = 4.0, 2.0, 0.5


class Pursuit:
    """The first step of a shortest path to each intent, for each state."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        matrix: StateMatrix,
        types: OutcomeTypes,
        behaviors: Behaviors,
        lessons: Lessons | None = None,
    ) -> None:
        self._vocabulary = vocabulary
        self._matrix = matrix
        self._types = types
        self.behaviors = behaviors
        self._learned = () if lessons is None else lessons.games
        self.games = self._learned
        """Steps that were preferred to others, those of lessons included."""
        self._goals = Goals((), len(vocabulary.atoms))
        self._distance: Floats = np.zeros((0, 0))
        self._rank: Floats = np.zeros(0)
        self._groups: Sequence[int] = ()
        self.step: Integers = np.zeros((0, 0), dtype=np.int64)
        """For each capability and row the type of the first step; -1 if the row is new."""
        self.preferred: Floats = np.zeros((0, 0))
        """How likely this step is chosen among those that begin a shortest path."""
        self._planned: list[tuple[int, Edges]] = []  # with the first row that edges lead from
        self._margin_open = False  # whether rows may lead to states that were not imagined
        self._again: dict[int, Edges] = {}  # of rows that were planned from again by themselves
        self._open: set[int] = set()  # rows that lead to states that were not imagined then
        self._extremes_at = 0  # pairs tried when they were compared
        self.undecided: Floats = np.zeros((0, 0))
        """How much is learned where optimist and pessimist expect different first steps."""

    def plan(self, tests: Sequence[Alternatives], labels: Labels, seen: Sequence[int]) -> None:
        """Plan anew; `tests` are those of each intent, `seen` the rows that were visited."""
        self._goals = Goals(tests, len(self._vocabulary.atoms))
        self.behaviors.fit(tests, labels, np.array(seen, dtype=np.int64))
        # Instances that were never seen have the probabilities of their behavior.
        self._types.estimate_unseen(self.behaviors.instances)
        self._groups = ExactlyOne.seen_in(
            [self._matrix.states[row] for row in seen], self._vocabulary
        ).groups
        matrix = self._matrix
        most = (1 + _IMAGINED) * len(seen) + _IMAGINED_AT_LEAST
        most = min(most, _MOST_PAIRS // max(len(self._goals), 1))
        self._imagine(np.arange(len(matrix)), most)
        every = np.arange(len(matrix))
        edges = self._edges(every)
        holds = self._holds(every)
        self._distance = expected_executions(edges, np.where(holds, 0.0, FARTHEST))
        self._rank_preferences(edges, holds, labels)
        self.step, self.preferred = self._first_steps(edges, self._distance, holds, every)
        self._planned, self._margin_open = [(0, edges)], True
        self._again, self._open = {}, set(edges.open.tolist())
        tried = sum(map(len, labels))
        if tried >= _EXTREMES_AGAIN * self._extremes_at or not self.undecided.any():
            self._extremes_at = tried
            self.undecided = self._where_extremes_differ(
                holds, np.sort(np.array(seen, dtype=np.int64))
            )

    def _where_extremes_differ(self, holds: Mask, seen: Integers) -> Floats:
        """Return how much a pair tells about the conditions of behaviors.

        Most if the optimist expects the request to be served at once, and the pessimist something
        else: whatever happens, a condition is met or a refusal explained.
        """
        every = np.arange(len(self._matrix))
        told: Floats = np.zeros(holds.shape)
        if not len(seen):
            return told
        steps, distances = [], []
        for extreme in Extreme:
            edges = self._edges(every, extreme=extreme)
            distance = expected_executions(edges, np.where(holds, 0.0, FARTHEST))
            distances.append(distance[:, seen])
            steps.append(self._first_steps_of(edges, distance, holds, seen))
        at_once = distances[-1] < _AT_ONCE
        told[:, seen] = np.where(at_once, 1.0, _LATER) * (steps[0] != steps[1])
        return told

    def _first_steps_of(
        self, edges: Edges, distance: Floats, holds: Mask, rows: Integers
    ) -> Integers:
        """Return the type of the first step from some rows in ascending order."""
        edge, place = edges.from_rows(rows)
        own = Edges(place, edges.type[edge], edges.end[edge], edges.odds[edge])
        return self._first_steps(own, distance, holds[:, rows], np.arange(len(rows)))[0]

    def extend(self, *, far: bool = False) -> None:
        """Find the first steps from the rows that were added since the last plan.

        Args:
            far: Whether to imagine the states that lie beyond them, too; it takes longer.
        """
        known = self.step.shape[1]
        if not len(self._goals) or (known >= len(self._matrix) and not (far and self._margin_open)):
            return
        if far:
            self._extend_far(known)
            return
        new = np.arange(known, len(self._matrix))
        planned: int = self._distance.shape[1]
        margin = StateMatrix(len(self._vocabulary.atoms))

        def beyond(state: State) -> int:
            return planned + margin.add(state) if self._looks_like_those_seen(state) else UNKNOWN

        # Beyond the states that were planned for, only what is reached at once is near: whether
        # such a state was met or not makes no difference.
        edges = self._edges(new, planned=planned, beyond=beyond)
        reached = np.where(margin.holding_any(self._goals), 0.0, FARTHEST)
        distance = np.concatenate([self._distance, reached], axis=1)
        self._append(*self._first_steps(edges, distance, self._holds(new), new))

    def _extend_far(self, known: int) -> None:
        """Plan from new rows as far as behaviors lead; what was planned before stays.

        Except, for once, if it ends at a margin: what was not imagined may be nearer to a request.
        """
        every, margin = np.arange(known), np.zeros(0, dtype=np.int64)
        if self._margin_open:
            margin = np.array(sorted(self._open), dtype=np.int64)
        self._margin_open = False
        new = len(self._matrix) - known
        if len(margin) or new:
            more = _IMAGINED * len(margin) + _IMAGINED_FAR * new + _IMAGINED_AT_LEAST
            self._plan_beyond(margin, every if len(margin) else margin, more)

    def plan_on(self, row: int) -> bool:
        """Plan from a row again if its plan ends at a margin; return whether that was so."""
        if row not in self._open:
            return False
        alone = np.array([row])
        # As far as from a row that is new, so that it matters less what was asked about before.
        more = _IMAGINED_FAR + _IMAGINED_AT_LEAST
        self._again[row] = self._plan_beyond(alone, alone, more)
        self._open.discard(row)
        return True

    def _plan_beyond(self, margin: Integers, again: Integers, more: int) -> Edges:
        """Imagine what lies beyond a margin and new rows; plan from these, and others again."""
        matrix, known = self._matrix, self.step.shape[1]
        most = known + _MOST_PAIRS_FAR // len(self._goals)
        new = np.arange(known, len(matrix))
        self._imagine(np.append(margin, new), min(len(matrix) + more, most))
        rows = np.append(again, np.arange(known, len(matrix)))
        edges, holds = self._edges(rows), self._holds(rows)
        planned = self._distance[:, :known]
        # Rows that were met since the last plan without one have no distance.
        missing = np.full((len(planned), len(matrix) - planned.shape[1]), FARTHEST)
        begin = np.concatenate([planned, missing], axis=1)
        begin[:, rows] = np.where(holds, 0.0, begin[:, rows])
        self._distance = expected_executions(edges, begin)
        steps, shares = self._first_steps(edges, self._distance, holds, rows)
        self.step[:, again] = steps[:, : len(again)]
        self.preferred[:, again] = shares[:, : len(again)]
        self._append(steps[:, len(again) :], shares[:, len(again) :])
        self._planned.append((int(rows[0]) if len(again) in (0, known) else known, edges))
        self._open.difference_update(again.tolist())
        self._open.update(edges.open.tolist())
        return edges

    def _append(self, steps: Integers, shares: Floats) -> None:
        self.step = np.concatenate([self.step, steps], axis=1)
        self.preferred = np.concatenate([self.preferred, shares], axis=1)

    def _holds(self, rows: Integers) -> Mask:
        """Return for each intent whether it holds in each of some rows."""
        return self._matrix.holding_any(self._goals, rows)

    def _imagine(self, rows: Integers, most: int) -> None:
        """Add states that behaviors should lead to, as far as they look like those seen.

        Args:
            rows: The rows to start from.
            most: How many rows there may be in the end.
        """
        matrix = self._matrix
        while len(rows) and len(matrix) < most:
            begun = len(matrix)
            numbers, places = self.behaviors.where_possible(rows)
            order = np.lexsort((places, numbers))
            at = rows[places[order]]
            ends, shares, effect_of = matrix.ends(
                at, numbers[order], lambda n: dict.fromkeys(sorted(self._types.effects[n]), 1.0)
            )
            for edge, place in np.argwhere((shares > 0) & (ends == UNKNOWN)).tolist():
                if len(matrix) < most:
                    after = effect_of(edge, place).apply(matrix.states[at[edge]])
                    if self._looks_like_those_seen(after):
                        matrix.add(after)
            rows = np.arange(begun, len(matrix))

    def _looks_like_those_seen(self, state: State) -> bool:
        return all((state & group).bit_count() == 1 for group in self._groups)

    def _edges(
        self,
        rows: Integers,
        extreme: Extreme | None = None,
        planned: int | None = None,
        beyond: Callable[[State], int] = lambda _: UNKNOWN,
    ) -> Edges:
        """List which behaviors are possible in which rows, and the columns they lead to.

        `beyond` returns the columns of states that are none of the rows planned for. Edges that
        lead to unknown states only are left out: no path by them is short enough.
        """
        numbers, places = self.behaviors.where_possible(rows, extreme)
        at = rows[places]
        ends, shares, effect_of = self._matrix.ends(at, numbers, self._types.odds.__getitem__)
        if planned is not None:
            elsewhere = (shares > 0) & ((ends == UNKNOWN) | (ends >= planned))
            for edge, place in np.argwhere(elsewhere).tolist():
                state = self._matrix.states[at[edge]]
                ends[edge, place] = beyond(effect_of(edge, place).apply(state))
        known = ((ends != UNKNOWN) & (shares > 0)).any(axis=1)
        margin = np.unique(at[((ends == UNKNOWN) & (shares > 0)).any(axis=1)])
        return Edges(at[known], numbers[known], ends[known], shares[known], margin)

    def _rank_preferences(self, edges: Edges, holds: Mask, labels: Labels) -> None:
        """Learn which of several equally good behaviors comes first."""
        number = len(self._types)
        times_asked = np.array([len(types) for types in labels], dtype=np.int64)
        asked = np.repeat(np.arange(len(labels)), times_asked)
        rows = np.array([row for types in labels for row in types], dtype=np.int64)
        done = np.array([done for types in labels for done in types.values()], dtype=np.int64)
        chose = (done != NOTHING) & ~holds[asked, rows]
        asked, rows, done = asked[chose], rows[chose], done[chose]
        edge, place = ties_of(edges, self._distance, rows, asked)
        was_done = edges.type[edge] == done[place]
        compared = np.isin(place, place[was_done]) & ~was_done
        named = [self.behaviors.lifted(one) for one in range(number)]
        played, times = np.unique(
            np.stack([done[place[compared]], edges.type[edge[compared]]]),
            axis=1,
            return_counts=True,
        )
        own = tuple(
            (named[winner], named[loser], float(count))
            for (winner, loser), count in zip(played.T.tolist(), times.tolist(), strict=True)
        )
        self.games = (*self._learned, *own)
        players = {player: None for game in self.games for player in game[:2]}
        # Types come first, so that their numbers are theirs; then those of other instances.
        known = set(named)
        everyone = [*named, *(player for player in players if player not in known)]
        index = {player: i for i, player in reversed(list(enumerate(everyone)))}
        wins: dict[tuple[int, int], float] = defaultdict(float)
        for winner, loser, count in self.games:
            wins[index[winner], index[loser]] += count
        self._rank = strengths(len(everyone), wins, _similarity(everyone))[:number]

    def _first_steps(
        self, edges: Edges, distance: Floats, holds: Mask, rows: Integers
    ) -> tuple[Integers, Floats]:
        """Return the type of the first step from ascending rows, and how far it is preferred."""
        steps = np.full((len(self._goals), len(rows)), NOTHING)
        shares = np.ones(steps.shape)
        rank = np.append(self._rank, np.full(len(self._types) - len(self._rank), 1.0))
        if not len(edges):
            return steps, shares
        places = np.searchsorted(rows, edges.row[edges.begins])
        steps[:, places], shares[:, places] = first_steps(edges, distance, rank, NOTHING)
        steps[holds], shares[holds] = NOTHING, 1.0
        return steps, shares

    def options(self, capability: int, row: int) -> dict[int, float]:
        """Return the types that begin a shortest path, each with how likely it is chosen."""
        edges = self._again.get(row)
        if edges is None:
            edges = next((e for first, e in reversed(self._planned) if row >= first), None)
        if edges is None:
            return {}
        edge, _ = ties_of(edges, self._distance, np.array([row]), np.array([capability]))
        rank = {int(edges.type[e]): float(self._rank_of(int(edges.type[e]))) for e in edge}
        whole = sum(rank.values())
        return {number: share / whole for number, share in rank.items()}

    def _rank_of(self, number: int) -> float:
        return float(self._rank[number]) if number < len(self._rank) else 1.0


def _similarity(
    players: Sequence[tuple[Form, Binding]],
) -> Callable[[Integers, Integers], Floats]:
    """Return how much the strengths of instances have in common, as a covariance."""
    form_of = {form: i for i, form in enumerate(dict.fromkeys(form for form, _ in players))}
    name_of = {o: i for i, o in enumerate(dict.fromkeys(o for _, b in players for o in b))}
    forms = np.array([form_of[form] for form, _ in players])
    objects = np.full((len(players), max(len(b) for _, b in players)), UNKNOWN)
    for number, (_, binding) in enumerate(players):
        objects[number, : len(binding)] = [name_of[name] for name in binding]

    def covariance(some: Integers, others: Integers) -> Floats:
        same = forms[some][:, None] == forms[others][None, :]
        alike = objects[some][:, None, :] == objects[others][None, :, :]
        shared = (alike & (objects[some] != UNKNOWN)[:, None, :]).sum(axis=2)
        own = np.equal.outer(some, others)
        found: Floats = _OF_FORM * same + _OF_OBJECT * same * shared + _OWN * own
        return found

    return covariance


def strengths(
    number: int,
    wins: Mapping[tuple[int, int], float],
    similarity: Callable[[Integers, Integers], Floats],
) -> Floats:
    """Return how strong each player is, given how often it won against each other one.

    The odds of a win are the ratio of strengths (Bradley and Terry); their logarithms are drawn
    from a Gaussian process, so players that never met are as strong as those like them.

    Args:
        number: The number of players; most never met another one.
        wins: How often the first of two players won against the second.
        similarity: Returns the covariance between some players and others.

    Returns:
        The strength of each player that has the greatest posterior probability.

    >>> found = strengths(2, {(0, 1): 3.0}, lambda a, b: np.equal.outer(a, b) + 0)
    >>> bool(found[0] > 1 > found[1])
    True
    """
    met = np.zeros(number)
    for pair, count in wins.items():
        met[list(pair)] += count
    # Of too many players, the busiest are enough.
    busiest = np.argsort(-met, kind="stable")[:_MOST_PLAYERS]
    playing = np.sort(busiest[met[busiest] > 0])
    if not len(playing):
        return np.ones(number)
    place = {player: i for i, player in enumerate(playing.tolist())}
    won = np.zeros((len(playing), len(playing)))
    for (winner, loser), count in wins.items():
        if winner in place and loser in place:
            won[place[winner], place[loser]] = count
    games = won + won.T
    covariance = similarity(playing, playing)
    log_strength, weights = np.zeros(len(playing)), np.zeros(len(playing))
    for _ in range(_NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(log_strength[None, :] - log_strength[:, None]))
        gradient = (won - games * chance).sum(axis=1)
        spread = games * chance * (1.0 - chance)
        curvature = np.diag(spread.sum(axis=1)) - spread
        target = curvature @ log_strength + gradient
        system = np.eye(len(playing)) + curvature @ covariance
        step = np.linalg.solve(system, target) - weights
        weights = weights + step
        log_strength = covariance @ weights
        if np.abs(step).max() < _CONVERGED:
            break
    every = np.arange(number)
    logs = np.clip(similarity(every, playing) @ weights, -30.0, 30.0)
    # Equal strengths must be equal to the last digit, whatever the processor.
    found: Floats = np.exp(np.round(logs, _DIGITS))
    return found
