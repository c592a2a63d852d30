"""Which pairs are worth asking: doubt, novelty and relevance of every candidate.

The candidates are the pairs of the states seen. Their scores are kept in arrays, one row for each
capability and one column for each state; an answer changes one row. Beyond `_MOST_PAIRS` pairs a
random sample of the states stands for all of them, drawn anew whenever the model is fitted again,
the relevant states preferred. Novelty is high if the rarest literal of the state, or a pair of
atoms in it, is new for the capability.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from capscope.logic import Effect, State
from capscope.model import LearnedModel, PairStats, StateGraph
from capscope.model.transitions import DistancesFromStart, predicted_transitions
from capscope.seeds import child_seed
from capscope.stats.arrays import Bits, Floats, Integers, Mask

if TYPE_CHECKING:
    from capscope.strategy.hazard_search import HazardSearch

_MOST_PAIRS = 100_000
_MOST_ATOMS = 256  # beyond this many, pairs of atoms are not counted
_NOVELTY = 0.5
_UNDECIDED = 2.0  # what a pair is worth about which the extremes of the lattice differ
_FLOOR = 0.01  # a pair that nothing is unclear about is still worth this much
_MANY_NEW_PAIRS = 4  # of atoms; more make a state no more novel
_NEW_STATE_DOUBT = 0.5
_RELEVANCE = 0.25  # the power of relevance in a score
_LEAST_RELEVANCE = 0.02
_DISCOUNT = 0.9  # of visits in use, after each request
_STEPS = 40  # requests in a simulated use
_VISITS = (1 - _DISCOUNT ** (_STEPS + 1)) / (1 - _DISCOUNT)  # of all states, if none is lost
_ALIKE = 0.25  # what pairs like one in the batch are still worth
_HIDDEN = 0.5  # how likely a type that was seen once is believed to have another outcome
_CERTAIN = 0.01  # a type with one outcome is certain if it is believed to have others less often
_CHECKED_AGAIN = 0.05  # the share of draws that certain types get while others are uncertain
_OWN_DRAWS = 0.05  # the share that pairs with few draws of their own get when all were tried


class Candidate(NamedTuple):
    """A pair worth asking."""

    state: State
    capability: int
    score: float


class Expected(NamedTuple):
    """What is expected of a model."""

    surprises: float
    """The rate among executions as in use."""
    doubt: float
    """The mean doubt of all pairs of the states seen."""


class Candidates:
    """The scores of all candidates, updated as answers come in."""

    def __init__(
        self,
        model: LearnedModel,
        distances: DistancesFromStart,
        scope: int,
        seed: int,
        hazards: HazardSearch | None = None,
    ) -> None:
        self._model = model
        self._hazards = hazards
        self._graph: StateGraph = model.graph
        self._distances = distances
        self._scope = scope
        self._seed = seed
        self._refreshed = 0
        self._capabilities = 0  # at the last refresh
        self._rows: Integers = np.zeros(0, dtype=np.int64)
        self._place: dict[State, int] = {}
        self._draws: Integers = np.zeros((0, 0), dtype=np.int64)
        self._doubt: Floats = np.zeros((0, 0))
        self._undecided: Floats = np.zeros((0, 0))  # where the extremes of the lattice differ
        self._types: Integers = np.zeros((0, 0), dtype=np.int64)
        self._novelty: Floats = np.zeros((0, 0))
        self._relevance: Floats = np.zeros(0)
        self._visits: Floats = np.zeros(0)  # the share of each state; less than 1 in all
        self._errors: dict[bool, tuple[int, Floats]] = {}  # of the odds, with their revision
        self._ones: list[Integers] = []  # for each capability: states tried in which an atom held
        self._times: list[int] = []
        self._together: list[Mask] = []  # pairs of atoms that held together in one of them
        self._rated: list[Floats] = []  # novelty by row; NaN where it is not known
        self.refresh()

    def refresh(self) -> None:
        """Choose the candidate states, and compute everything again."""
        graph, model = self._graph, self._model
        self._refreshed += 1
        self._capabilities = len(graph.capabilities)
        states = self._choose_states()
        self._rows = np.array(model.matrix.rows(states), dtype=np.int64)
        self._place = {state: i for i, state in enumerate(states)}
        shape = len(graph.capabilities), len(states)
        self._draws = np.zeros(shape, dtype=np.int64)
        for place, state in enumerate(states):
            for capability, pair in enumerate(graph.nodes[state].pairs):
                self._count_draws(capability, place, pair)
        self._doubt = np.ones(shape)
        self._undecided = np.zeros(shape)
        self._types = np.zeros(shape, dtype=np.int64)
        self._novelty = np.ones(shape)
        for capability in range(shape[0]):
            self._predict(capability)
            self._count_literals(capability)
        visits = self._expected_visits()
        self._relevance = np.maximum(visits / max(visits.max(initial=0.0), 1e-12), _LEAST_RELEVANCE)
        self._visits = visits / _VISITS
        if self._hazards is not None:
            self._hazards.refresh(self._rows, self._types)

    def _expected_visits(self) -> Floats:
        """Return how often each state is met in use, later visits discounted.

        Use is modelled as random requests from the beginning. The newest states would be the wrong
        ones to prefer: in a world with irreversible steps, a run that follows them never comes back
        to the beginning.
        """
        model = self._model
        initial = [s for s, steps in self._distances.of.items() if not steps and s in self._place]
        start = np.zeros(len(self._rows))
        for state in initial:
            start[self._place[state]] += 1.0 / len(initial)
        flow = predicted_transitions(model.matrix, model.types, self._rows, self._types)
        return flow.visits(start, _STEPS, _DISCOUNT)

    @property
    def states(self) -> list[State]:
        """The states in which executions may start."""
        return list(self._place)

    @property
    def _tried(self) -> Mask:
        flags: Mask = self._draws > 0
        return flags

    def _count_draws(self, capability: int, place: int, pair: PairStats | None) -> None:
        if pair is not None and capability < len(self._draws):
            self._draws[capability, place] = pair.total

    def recount(self) -> None:
        """Count literals from the beginning: pairs were tried without a call of `observe`."""
        self._ones, self._times, self._together, self._rated = [], [], [], []

    @property
    def outdated(self) -> bool:
        """Whether capabilities were discovered that the scores lack."""
        return self._capabilities < len(self._graph.capabilities)

    def _choose_states(self) -> list[State]:
        states = [state for state in self._graph.nodes if self.in_scope(state)]
        most = max(_MOST_PAIRS // max(len(self._graph.capabilities), 1), 1)
        if len(states) <= most:
            return states
        random = np.random.default_rng(child_seed(self._seed, self._refreshed))
        known = np.array([self._place.get(state, -1) for state in states])
        weights = np.append(self._relevance, _LEAST_RELEVANCE)[known]
        chosen = random.choice(len(states), most, replace=False, p=weights / weights.sum())
        return [states[i] for i in sorted(chosen)]

    def in_scope(self, state: State) -> bool:
        """Return whether executions may start in a state."""
        return not self._scope or self._distances.of.get(state, self._scope) < self._scope

    def _predict(self, capability: int) -> None:
        if len(self._rows):
            types, doubt = self._model.types_of(capability, self._rows)
            self._types[capability] = types
            self._doubt[capability] = doubt
            self._undecided[capability] = self._model.undecided(capability, self._rows)

    def _count_literals(self, capability: int) -> None:
        """Rate novelty; count first which literals a capability was tried with, if it is new."""
        width = self._model.matrix.bits.shape[1]
        while len(self._ones) <= capability:
            self._ones.append(np.zeros(width, dtype=np.int64))
            self._times.append(0)
            size = width if width <= _MOST_ATOMS else 0
            self._together.append(np.zeros((size, size), dtype=bool))
            self._rated.append(np.zeros(0))
            for state, node in self._graph.nodes.items():
                if node.pairs[len(self._ones) - 1] is not None:
                    self._count(len(self._ones) - 1, state)
        self._rate_novelty(capability)

    def _count(self, capability: int, state: State) -> None:
        bits = self._model.matrix.bits[self._model.matrix.row[state]]
        self._ones[capability] += bits
        self._times[capability] += 1
        self._rated[capability] = np.zeros(0)
        if len(self._together[capability]):
            held = np.flatnonzero(bits)
            self._together[capability][np.ix_(held, held)] = True

    def _rate_novelty(self, capability: int) -> None:
        """Rate the rows that were not rated since the capability was tried last."""
        known = self._rated[capability]
        if len(known) < len(self._model.matrix):
            new = np.full(len(self._model.matrix) - len(known), np.nan)
            known = self._rated[capability] = np.concatenate([known, new])
        rows = self._rows[np.isnan(known[self._rows])]
        if len(rows):
            known[rows] = self._novelty_of(capability, rows)
        self._novelty[capability] = known[self._rows]

    def _novelty_of(self, capability: int, rows: Integers) -> Floats:
        bits = self._model.matrix.bits[rows]
        ones, times = self._ones[capability], self._times[capability]
        rarest = np.where(bits, ones, times - ones).min(axis=1, initial=times)
        novelty: Floats = 1.0 / (1.0 + rarest)
        together = self._together[capability]
        if len(together):
            # An atom that never held before is new together with each other one that holds.
            held, first = (x.sum(axis=1, dtype=np.int64) for x in (bits, bits[:, ones == 0]))
            new = first * (2 * held - first)
            few = np.flatnonzero(new < _MANY_NEW_PAIRS)
            new[few] = new_pairs(bits[few], together)
            novelty = 0.5 * novelty + 0.5 * np.minimum(new / _MANY_NEW_PAIRS, 1.0)
        return novelty

    def observe(
        self,
        pairs: Iterable[tuple[State, int]],
        first: Iterable[tuple[State, int]],
        changed: Iterable[int],
    ) -> None:
        """Take in which pairs were executed, which of them first, and whose predictions changed."""
        self._count_executed(dict.fromkeys(pairs), first)
        for capability in dict.fromkeys(changed):
            if capability < self._capabilities:
                self._predict(capability)

    def _count_executed(
        self, executed: Iterable[tuple[State, int]], first: Iterable[tuple[State, int]]
    ) -> None:
        self._add_states(executed)
        for state, capability in executed:
            if state in self._place:
                pair = self._graph.pair(state, capability)
                self._count_draws(capability, self._place[state], pair)
        for state, capability in first:
            if capability < len(self._ones):
                self._count(capability, state)
                self._rate_novelty(capability)

    def _add_states(self, pairs: Iterable[tuple[State, int]]) -> None:
        new: dict[State, float] = {}
        for state, capability in pairs:
            pair = self._graph.pair(state, capability)
            for node in () if pair is None else pair.successors:
                if node.state not in self._place and self.in_scope(node.state):
                    place = self._place.get(state)
                    from_here = 0.0 if place is None else self._relevance[place] / 2
                    new[node.state] = max(new.get(node.state, _LEAST_RELEVANCE), from_here)
        most = max(_MOST_PAIRS // max(len(self._graph.capabilities), 1), 1)
        fresh = list(new)[: max(most + most // 4 - len(self._place), 0)]
        if not fresh:
            return
        for state in fresh:
            self._place[state] = len(self._place)
        added = len(self._doubt), len(fresh)
        rows = self._model.matrix.rows(fresh)
        self._rows = np.append(self._rows, rows)
        self._draws = np.concatenate([self._draws, np.zeros(added, dtype=np.int64)], axis=1)
        for state in fresh:
            for capability, pair in enumerate(self._graph.nodes[state].pairs):
                self._count_draws(capability, self._place[state], pair)
        self._doubt = np.concatenate([self._doubt, np.full(added, _NEW_STATE_DOUBT)], axis=1)
        self._undecided = np.concatenate([self._undecided, np.zeros(added)], axis=1)
        self._types = np.concatenate([self._types, np.zeros(added, dtype=np.int64)], axis=1)
        self._novelty = np.concatenate([self._novelty, np.ones(added)], axis=1)
        self._relevance = np.append(self._relevance, [new[state] for state in fresh])
        self._visits = np.append(self._visits, np.zeros(len(fresh)))

    def explore(self, most: int, random: np.random.Generator) -> list[Candidate]:
        """Draw untried pairs with probability ∝ score²: the highest score alone would be greedy."""
        if not self._draws.size:
            return []
        scores = (
            self._doubt + _UNDECIDED * self._undecided + _NOVELTY * self._novelty + _FLOOR
        ) * self._relevance**_RELEVANCE
        scores[self._tried] = 0.0
        weights = scores.ravel() ** 2
        return self._drawn(weights, most, random)

    def hazardous(self, most: int, random: np.random.Generator) -> list[Candidate]:
        """Draw pairs that may lead into a hazard, tried or not; none if there are no hazards."""
        if self._hazards is None or not self._draws.size:
            return []
        worth = self._hazards.weights(self._rows, self._tried, self._doubt)
        return self._drawn(worth.ravel() ** 2, most, random)

    @property
    def hazards_unexplored(self) -> bool:
        """Whether something was never tried that the search for hazards is about."""
        search = self._hazards
        return search is not None and search.unfinished(self._rows, len(self._draws))

    def _drawn(self, weights: Floats, most: int, random: np.random.Generator) -> list[Candidate]:
        number = min(most, int(np.count_nonzero(weights)))
        if not number:
            return []
        chosen: list[int] = []
        worth, kinds = weights.copy(), self._types.ravel()
        while len(chosen) < number:
            steps = np.cumsum(worth)
            if not steps[-1] > 0:
                break
            k = int(np.searchsorted(steps, random.random() * steps[-1], side="right"))
            chosen.append(k)
            # The answer will say much about pairs of the same capability and type: a batch asks
            # about others as well.
            row = slice(k - k % len(self._rows), k - k % len(self._rows) + len(self._rows))
            worth[row] *= np.where(kinds[row] == kinds[k], _ALIKE, 1.0)
            worth[k] = 0.0
        return [self._candidate(*divmod(k, len(self._rows)), float(weights[k])) for k in chosen]

    def _candidate(self, capability: int, place: int, weight: float) -> Candidate:
        state = self._model.matrix.states[int(self._rows[place])]
        return Candidate(state, capability, float(np.sqrt(weight)))

    def near(self, most: int, farthest: int) -> list[Candidate]:
        """List untried pairs of the states nearest to the beginning."""
        found: list[Candidate] = []
        distance = self._distances.of
        states = [s for s in self._place if distance.get(s, farthest + 1) <= farthest]
        for state in sorted(states, key=lambda s: (distance[s], self._place[s])):
            node = self._graph.nodes[state]
            for capability, pair in enumerate(node.pairs if node.tried < len(node.pairs) else ()):
                if len(found) == most:
                    return found
                if pair is None:
                    found.append(Candidate(state, capability, _FLOOR))
        return found

    def uncertain_odds(self, most: int, random: np.random.Generator) -> list[Candidate]:
        """Draw pairs of the type whose odds gain most by another draw; untried ones first.

        The gain of a type that always did the same falls faster than that of one that varies, but
        such types are many: left to the gains, a budget without a claim to end it goes to them.
        Pairs of one type may differ: when everything was tried, some draws go to those that have
        few of their own.
        """
        if self._tried.all() and random.random() < _OWN_DRAWS:
            fewest = (self._relevance / (self._draws + 1.0)) ** 2
            return self._drawn(fewest.ravel(), most, random)
        errors = self._odds_errors()
        share = np.bincount(
            self._types.ravel(),
            np.broadcast_to(self._relevance, self._types.shape).ravel(),
            minlength=len(errors),
        )
        draws = np.array(self._model.types.draws)
        gains = np.round(share * errors / (draws + 1.0), 12)
        number = int(gains.argmax())
        certain = self._certain()
        if certain[number] and gains[~certain].any() and random.random() >= _CHECKED_AGAIN:
            number = int(np.where(certain, 0.0, gains).argmax())
        inside = (self._types == number) & self._shows_odds(number)
        if not inside.any():
            inside = self._types == number
        weights = np.where(inside, self._relevance, 0.0)
        if (inside & ~self._tried).any():
            weights[self._tried] = 0.0
        return self._drawn(weights.ravel(), most, random)

    def _shows_odds(self, number: int) -> Mask:
        """Return the states in which the outcomes of a type are distinguishable.

        A request that sometimes also escalates a ticket always does the same to one that was
        escalated before.
        """
        first, *others = self._model.types.odds[number]
        shown: Mask = np.zeros(len(self._rows), dtype=bool)
        for other in others:
            same = where_equal(first, other)
            shown |= same is None or ~self._model.matrix.holding(*same)[self._rows]
        return shown

    def _certain(self) -> Mask:
        """Return the types that always did the same, often enough to leave little doubt."""
        types = self._model.types
        return np.array(
            [
                len(odds) == 1 and _HIDDEN / (draws + 2.0) < _CERTAIN
                for odds, draws in zip(types.odds, types.draws, strict=True)
            ]
        )

    def _odds_errors(self, *, by_peers: bool = True) -> Floats:
        """Return, for each type, the expected error of its odds, hidden outcomes included.

        Half of the draws of its peers count as its own, if they are to count.
        """
        types = self._model.types
        revision, known = self._errors.get(by_peers, (-1, np.zeros(0)))
        if revision == types.revision:
            return known
        errors = []
        for odds, draws, peers in zip(types.odds, types.draws, types.peer_draws, strict=True):
            main = max(odds.values())
            number = max(draws, peers / 2 if by_peers else 0, 1)
            spread = np.sqrt(2 / np.pi * main * (1 - main) / number)
            errors.append(max(float(spread), _HIDDEN / (draws + 2.0)))
        # The type `NOTHING` is frequent, and its draws are not counted.
        errors[0] = 0.0
        self._errors[by_peers] = types.revision, np.array(errors)
        return self._errors[by_peers][1]

    def expected_errors(self) -> tuple[float, float]:
        """Return the expected errors of untried pairs and of probabilities, by relevance."""
        untried = float((np.where(self._tried, 0.0, self._doubt) * self._relevance).sum())
        odds = float((self._odds_errors()[self._types] * self._relevance).sum())
        return untried, odds

    def largest_odds_error(self) -> float:
        """Return the largest expected error of the odds of a type with several outcomes."""
        errors = self._odds_errors(by_peers=False)
        several = [len(odds) > 1 for odds in self._model.types.odds]
        met = np.bincount(self._types.ravel(), minlength=len(errors)) > 0
        return float(errors[several & met].max(initial=0.0))

    def expected(self, fitted: LearnedModel | None = None) -> Expected:
        """Return what is expected of the model that asks, or of one fitted to the same answers."""
        if not self._visits.sum():
            return Expected(1.0, 1.0)
        doubts = self._doubt * self._model.calibration
        if fitted is not None:
            rows = np.array(fitted.matrix.rows(self.states))
            doubts = np.array(
                [fitted.doubts(capability, rows) for capability in range(len(doubts))]
            )
        doubts = np.where(self._tried, 0.0, doubts)
        by_state = doubts.mean(axis=0)
        # Lost flow goes to states never seen: they are like those seen last.
        newest = by_state[-max(len(by_state) // 10, 10) :].mean()
        lost = max(1.0 - float(self._visits.sum()), 0.0)
        return Expected(float(by_state @ self._visits + lost * newest), float(doubts.mean()))


def new_pairs(bits: Bits, together: Mask) -> Integers:
    """Return, for each state, how many pairs of its atoms never held together.

    By words of bits; the threads of a product of matrices cost more than they save.

    >>> new_pairs(np.array([[1, 1, 0]], dtype=np.uint8), np.eye(3, dtype=bool)).tolist()
    [2]
    """
    found: Integers = np.zeros(len(bits), dtype=np.int64)
    for held, unknown in zip(_words(bits).T, _words(~together).T, strict=True):
        found += (np.bitwise_count(held[:, None] & unknown) * bits).sum(axis=1, dtype=np.int64)
    return found


def _words(bits: Bits | Mask) -> NDArray[np.uint64]:
    """Pack each row of bits into words."""
    padded = np.zeros((len(bits), -(-bits.shape[1] // 64) * 64), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    words: NDArray[np.uint64] = np.packbits(padded, axis=1).view(np.uint64)
    return words


def where_equal(one: Effect, other: Effect) -> tuple[State, State] | None:
    """Return the atoms that hold, and those that do not, where two effects lead to the same state.

    None if they never do.

    >>> where_equal(Effect(adds=0b11, deletes=0), Effect(adds=0b01, deletes=0))
    (2, 0)
    """
    cleared, other_cleared = one.deletes & ~one.adds, other.deletes & ~other.adds
    if one.adds & other_cleared or other.adds & cleared:
        return None
    return one.adds ^ other.adds, cleared ^ other_cleared
