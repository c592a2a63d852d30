"""Draw a suspicion again at once: a request that sometimes also changes other objects.

One draw shows neither how often that happens nor when, and drawing pairs by doubt alone spreads the
draws over hundreds of pairs. So a change of objects that the request does not mention is a
suspicion, if in the same condition of the request's own objects it was achieved without. The pair
is drawn a few times more. If it then does both, it is drawn again in rounds of about a dozen draws,
and as often the same request about objects in another condition in which it can succeed. A few
rounds show a rate of 0.2 and a condition of one literal. A pair that always does the same raises no
suspicion: that is how the world works, or a condition, which the model finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from capscope.logic import Effect, State
from capscope.logic.footprint import Footprint, Shape
from capscope.model import StateGraph

_PROBES = 3  # draws that show whether a pair always does it
_FRUITLESS = 2  # probed pairs that always do it; then requests of this form are probed no more
_AGAIN = 6  # draws of the pair itself,
_LIKE = 6  # of the same request about objects in the same condition,
_CONTRASTS = 10  # and about objects in another one
_MOST_ROUNDS = 5  # for all requests that differ in objects only
_Pair = tuple[State, int]


class Suspicions:
    """Which pairs to draw again because they sometimes change other objects."""

    def __init__(self, graph: StateGraph) -> None:
        self._graph = graph
        self._footprints: list[Footprint] = []
        self._always: dict[object, frozenset[Shape]] = {}
        """For a form and a condition of its objects, what every success changed besides."""
        self._met: dict[tuple[object, object], dict[_Pair, None]] = {}
        """For a form and a condition of its objects, the pairs that succeeded."""
        self._failed: set[object] = set()
        """Forms and conditions of their objects in which a pair did not succeed."""
        self._rounds: Counter[tuple[object, Shape]] = Counter()
        self._probed: set[_Pair] = set()
        self._fruitless: Counter[object] = Counter()
        self._current: _Pair | None = None  # the pair whose rounds are under way
        self._left = 0  # draws of the round
        self._known: dict[_Pair, tuple[int, list[frozenset[Shape]]]] = {}
        """How many effects a pair had shown, and what its successes had changed."""
        self._conditions: dict[_Pair, tuple[object, object]] = {}

    def observe(self, pairs: Iterable[_Pair]) -> list[_Pair]:
        """Take in which pairs were executed; return the pairs to draw next."""
        executed = list(pairs)
        self._left -= len(executed)
        again: list[_Pair] = []
        if self._current is not None and self._left <= 0:
            executed.append(self._current)  # for another round, if it is due
            self._current = None
        for pair in self._affected(executed):
            again += self._examined(pair)
        self._left = max(self._left, 0) + len(again)
        return again

    def _affected(self, executed: list[_Pair]) -> list[_Pair]:
        """Note what successes changed; return the pairs to look at, earlier ones included."""
        found = dict.fromkeys(executed)
        for state, capability in executed:
            shapes = self._shapes(state, capability)
            condition = self._condition(state, capability)
            if not shapes:
                self._failed.add(condition)
                continue
            self._met.setdefault(condition, {})[state, capability] = None
            before = self._always.get(condition)
            always = frozenset.intersection(*shapes)
            self._always[condition] = always if before is None else before & always
            if self._always[condition] != before:
                # A change that seemed inevitable was just avoided.
                found.update(self._met[condition])
        return list(found)

    def _examined(self, pair: _Pair) -> list[_Pair]:
        """Return the draws that a pair calls for."""
        shapes = self._shapes(*pair)
        if not shapes:
            return []
        form = self._footprint(pair[1]).form
        suspicious = frozenset().union(*shapes) - self._always[self._condition(*pair)]
        if all(self._rounds[form, shape] >= _MOST_ROUNDS for shape in suspicious):
            return []
        if suspicious - frozenset.intersection(*shapes):
            if pair in self._probed:
                self._fruitless[form] = 0
            if self._current is not None:
                return []
            self._rounds.update((form, shape) for shape in suspicious)
            self._current = pair
            return self._round(*pair)
        if pair in self._probed or self._fruitless[form] >= _FRUITLESS:
            return []
        self._probed.add(pair)
        self._fruitless[form] += 1  # unless it turns out to do both
        return [pair] * _PROBES

    def _condition(self, state: State, capability: int) -> tuple[object, object]:
        known = self._conditions.get((state, capability))
        if known is None:
            footprint = self._footprint(capability)
            known = footprint.form, footprint.own_state(state)
            self._conditions[state, capability] = known
        return known

    def _footprint(self, capability: int) -> Footprint:
        known = self._graph.capabilities
        for intent in known[len(self._footprints) :]:
            self._footprints.append(Footprint(intent, self._graph.vocabulary))
        return self._footprints[capability]

    def _shapes(self, state: State, capability: int) -> list[frozenset[Shape]]:
        """Return what each kind of success of a pair changed about other objects."""
        pair = self._graph.pair(state, capability)
        shown = 0 if pair is None else len(pair.counts)
        known = self._known.get((state, capability))
        if known is None or known[0] != shown:
            found = [] if pair is None else self._changed_elsewhere(state, capability, pair.counts)
            known = self._known[state, capability] = shown, found
        return known[1]

    def _changed_elsewhere(
        self, state: State, capability: int, effects: Iterable[Effect]
    ) -> list[frozenset[Shape]]:
        intent = self._graph.capabilities[capability]
        holds = intent.test(self._graph.vocabulary)
        if holds(state):
            return []
        footprint, expected = self._footprint(capability), self._graph.expected
        found = []
        for effect in effects:
            if holds(effect.apply(state)):
                beyond = effect if expected is None else effect.without(expected.of(intent))
                found.append(footprint.shapes(beyond))
        return found

    def _round(self, state: State, capability: int) -> list[_Pair]:
        own = self._footprint(capability)
        now = self._condition(state, capability)
        others = [
            (state, other)
            for other, intent in enumerate(self._graph.capabilities)
            if other != capability
            and self._footprint(other).form == own.form
            and not intent.holds(state, self._graph.vocabulary)
        ]
        like = [pair for pair in others if self._condition(*pair) == now]
        unlike = [pair for pair in others if self._condition(*pair) != now]
        again = [(state, capability)] * _AGAIN
        return (
            again
            + _in_turn(self._contrasts(unlike, now), _CONTRASTS)
            + _in_turn(like or self._first_met(now, capability), _LIKE)
        )

    def _contrasts(self, unlike: list[_Pair], now: tuple[object, object]) -> list[_Pair]:
        """Choose pairs whose objects are in another condition, in which the request can succeed.

        In this state, else in any; else pairs in conditions not tried yet.
        """
        return (
            [pair for pair in unlike if self._condition(*pair) in self._met]
            or [
                pair
                for condition in self._met
                if condition[0] == now[0] and condition != now
                for pair in self._first_met(condition)
            ]
            or [pair for pair in unlike if self._condition(*pair) not in self._failed]
        )

    def _first_met(self, condition: tuple[object, object], but: int | None = None) -> list[_Pair]:
        """Return the first pairs that succeeded in a condition, nearest to the beginning."""
        return [pair for pair in self._met.get(condition, ()) if pair[1] != but][:_LIKE]


def _in_turn(pairs: list[_Pair], draws: int) -> list[_Pair]:
    return [pairs[i % len(pairs)] for i in range(draws)] if pairs else []
