"""Which events would be findings: changes beyond a request, and refusals.

Requests that differ only in their objects count together, and so do the changes, seen from the
request (`logic.footprint`). An event is a hypothesis from its first execution on. Executions in
which the request held already do not count. What the user expects, what exactly-one groups imply,
and a step on the way that was undone later are no hypotheses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from capscope.logic import Effect, ExactlyOne, Literal, State
from capscope.logic.footprint import RequestForm
from capscope.model import PairStats, StateGraph
from capscope.model.families import family_key
from capscope.stats.arrays import Integers

Pair = tuple[State, int]
Event = Literal | None
"""The form of a change; None if nothing changed."""
_NOTHING = Effect(0, 0)


@dataclass(eq=False)
class Hypothesis:
    """An event of the requests of one form."""

    event: Event
    requests: Requests
    hits: Counter[int] = field(default_factory=Counter)
    """How often each pair showed it, by its place."""
    failures: Counter[int] = field(default_factory=Counter)
    """In how many of these the request did not hold afterwards."""
    changed: Effect = _NOTHING
    """Everything that was changed in this form."""
    _possible: list[bool] = field(default_factory=list)

    @property
    def times(self) -> int:
        """The executions of the pairs that showed it."""
        return sum(self.requests.draws[place] for place in self.hits)

    @property
    def is_slip(self) -> bool:
        """Whether its pairs are as often achieved, and it is what was asked of other objects."""
        request = next(iter(self.requests.forms.values())).text
        if str(self.event).partition("(")[0] != request.partition("(")[0]:
            return False
        again = self.failures.total() - len(+self.failures)  # the first one chose the pair
        return sum(self.requests.achieved[place] for place in +self.failures) >= max(again, 1)

    def counts(self) -> tuple[Integers, Integers, Integers]:
        """Return the places of the pairs that could show it, their hits and their draws."""
        requests = self.requests
        for state, capability in requests.pairs[len(self._possible) :]:
            self._possible.append(requests.could(self.event, state, capability))
        places = np.flatnonzero(self._possible)
        hits = np.zeros(len(requests.pairs), dtype=np.int64)
        hits[list(self.hits)] = list(self.hits.values())
        return places, hits[places], np.array(requests.draws, dtype=np.int64)[places]


class Requests:
    """The requests of one form, and what their executions showed."""

    def __init__(self) -> None:
        self.forms: dict[int, RequestForm] = {}
        """By capability."""
        self.pairs: list[Pair] = []
        """In the order in which they were tried first."""
        self.draws: list[int] = []
        self.achieved: list[int] = []
        self.hypotheses: dict[Event, Hypothesis] = {}
        self._place: dict[Pair, int] = {}
        self._beyond: dict[tuple[int, Effect], dict[Event, Effect]] = {}

    def could(self, event: Event, state: State, capability: int) -> bool:
        """Return whether an event is possible and the request does not hold."""
        form = self.forms[capability]
        return not form.holds(state) and (event is None or form.may_change(event, state))

    def count(self, state: State, capability: int, pair: PairStats) -> None:
        """Take in everything that a pair has shown by now."""
        form = self.forms[capability]
        if form.holds(state):
            return
        place = self._place.setdefault((state, capability), len(self.pairs))
        if place == len(self.pairs):
            self.pairs.append((state, capability))
            self.draws.append(0)
            self.achieved.append(0)
        self.draws[place], self.achieved[place] = pair.total, 0
        shown, failed = Counter[Event](), Counter[Event]()
        for effect, number in pair.counts.items():
            achieved = form.holds(effect.apply(state))
            self.achieved[place] += number if achieved else 0
            for event, change in self._events(capability, effect).items():
                known = self.hypotheses.get(event)
                if known is None:
                    known = self.hypotheses[event] = Hypothesis(event, self)
                known.changed = known.changed.joined(change)
                shown[event] += number
                failed[event] += 0 if achieved else number
        for event, number in shown.items():
            self.hypotheses[event].hits[place] = number
            self.hypotheses[event].failures[place] = failed[event]

    def _events(self, capability: int, effect: Effect) -> dict[Event, Effect]:
        """Return the events that an effect is, each with its part of the effect."""
        if effect == _NOTHING:
            return {None: effect}
        known = self._beyond.get((capability, effect))
        if known is None:
            known = dict(self.forms[capability].beyond(effect).items())
            self._beyond[capability, effect] = known
        return known


class Hypotheses:
    """All hypotheses of a run."""

    def __init__(self, graph: StateGraph) -> None:
        self._graph = graph
        self._groups = ExactlyOne(expected=graph.expected)
        self._requests: dict[object, Requests] = {}
        self._of: list[Requests] = []  # by capability
        self._ever = _NOTHING

    def observe(self, pairs: Iterable[Pair]) -> None:
        """Take in which pairs were executed."""
        for intent in self._graph.capabilities[len(self._of) :]:
            own = self._requests.setdefault(family_key(intent), Requests())
            own.forms[len(self._of)] = RequestForm(intent, self._groups, self._graph.vocabulary)
            self._of.append(own)
        for state, capability in pairs:
            pair = self._graph.pair(state, capability)
            if pair is not None:
                self._ever = reduce(Effect.joined, pair.counts, self._ever)
                self._of[capability].count(state, capability, pair)

    def refresh(self) -> None:
        """Look for exactly-one groups, and count everything again if these changed."""
        groups = self._graph.exactly_one
        if groups == self._groups and groups.expected is self._groups.expected:
            return
        self._groups, self._requests, self._of = groups, {}, []
        self.observe(
            (state, capability)
            for state, node in self._graph.nodes.items()
            for capability, pair in enumerate(node.pairs)
            if pair is not None
        )

    def by_urgency(self) -> Iterator[list[Hypothesis]]:
        """Yield the changes that nothing undid, then other events; steps on the way are neither."""
        found = [one for own in self._requests.values() for one in own.hypotheses.values()]
        yield [one for one in found if one.event is not None and not self._undone(one)]
        yield [
            one
            for one in found
            if (one.event is None and one.hits.total() < sum(one.requests.draws))
            or (
                one.event is not None
                and self._undone(one)
                and (2 * one.failures.total() < one.hits.total() or one.is_slip)
            )
        ]

    def _undone(self, one: Hypothesis) -> bool:
        ever, own = self._ever, one.changed
        return bool(own.adds & ever.deletes or own.deletes & ever.adds)
