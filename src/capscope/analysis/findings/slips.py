"""Count slips: the agent did what it was asked for, but with another object.

Asked for `on(yellow,red)`, a robot may cause `on(green,red)`. To count this for each pair of
objects and compare the counts would be wrong. How often it happens also depends on where the
objects are: a robot that lifts a tower by its lowest block moves that one, whichever blocks they
are, and the strategy may have built one tower more often than another.

So slips are counted only where the two objects can be told apart by nothing but themselves: the
request mentions neither, and to exchange them leaves the state as it is. An agent that does not
tell the two apart takes one as often as the other there. Each slip is the toss of a fair coin,
however many draws were made, and however the strategy chose where to make them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.object_swap import MOST_STATES, ObjectSwap
from capscope.model.state_graph import PairStats
from capscope.symbolic import State


class ObjectPair(NamedTuple):
    """The object of a request, and another of its type."""

    asked: str
    taken: str

    @property
    def reverse(self) -> ObjectPair:
        """The same objects with the roles exchanged."""
        return ObjectPair(self.taken, self.asked)


@dataclass(frozen=True)
class SlipCounts:
    """The draws of a capability in a state in which other objects are situated as the taken one."""

    capability: int
    state: State
    draws: int
    hits: int
    """Draws that did what was asked for with the taken object instead."""
    others: int
    """Draws that did it with one of the objects in the same situation."""
    wins: int
    """Draws that did it with the taken object and with no other."""
    losses: int
    """Draws that did it with others and not with the taken object."""


class SlipTable:
    """The slips of a run, by the object of the request and the one that was taken."""

    def __init__(self, context: FindingContext, swaps: Iterable[ObjectSwap]) -> None:
        self._context = context
        self._swaps = {
            pair: swap
            for swap in swaps
            for pair in ((swap.one, swap.other), (swap.other, swap.one))
        }
        self._peers: dict[str, list[str]] = {}
        for one, other in self._swaps:
            self._peers.setdefault(one, []).append(other)
        self._every = max(len(context.nodes) // MOST_STATES, 1)
        self._classes: dict[State, dict[str, str]] = {}
        self.rows: dict[ObjectPair, list[SlipCounts]] = {}
        for capability, intent in enumerate(context.intents):
            for asked in intent.objects:
                for pair, counts in self._slips(capability, asked):
                    self.rows.setdefault(pair, []).append(counts)

    def _slips(self, capability: int, asked: str) -> Iterator[tuple[ObjectPair, SlipCounts]]:
        intent, vocabulary = self._context.intents[capability], self._context.vocabulary
        free = [o for o in self._peers.get(asked, ()) if o not in intent.objects]
        if len(free) < 2:
            return
        images = {o: self._swaps[asked, o].intent(intent).test(vocabulary) for o in free}
        for node, pair in self._context.tried[capability]:
            if self._context.index[node.state] % self._every:
                continue
            for group in self._alike(node.state, free):
                if images[group[0]](node.state):
                    continue  # then so it is for the others
                slips = [
                    (number, {o for o in group if images[o](after)})
                    for number, after in self._failures(capability, node.state, pair)
                ]
                for taken in group:
                    counts = _counts(capability, node.state, pair.total, taken, slips)
                    yield ObjectPair(asked, taken), counts

    def _failures(
        self, capability: int, state: State, pair: PairStats
    ) -> Iterator[tuple[int, State]]:
        """Yield where executions ended that did not achieve the intent, and how many."""
        for effect, number in pair.counts.items():
            after = effect.apply(state)
            if not self._context.holds(capability, after):
                yield number, after

    def _alike(self, state: State, objects: Sequence[str]) -> list[list[str]]:
        """Return the groups of two or more objects whose exchange leaves a state as it is."""
        if state not in self._classes:
            self._classes[state] = self._partition(state)
        first = self._classes[state]
        groups: dict[str, list[str]] = {}
        for name in objects:
            groups.setdefault(first[name], []).append(name)
        return [group for group in groups.values() if len(group) > 1]

    def _partition(self, state: State) -> dict[str, str]:
        """Return for each object the first one that it can be exchanged with."""
        first: dict[str, str] = {}
        for name in self._peers:
            swaps = ((o, self._swaps.get((o, name))) for o in dict.fromkeys(first.values()))
            same = (o for o, swap in swaps if swap is not None and swap.state(state) == state)
            first[name] = next(same, name)
        return first


def _counts(
    capability: int, state: State, draws: int, taken: str, slips: Sequence[tuple[int, set[str]]]
) -> SlipCounts:
    return SlipCounts(
        capability,
        state,
        draws,
        hits=sum(number for number, done in slips if taken in done),
        others=sum(number for number, done in slips if done - {taken}),
        wins=sum(number for number, done in slips if done == {taken}),
        losses=sum(number for number, done in slips if done and taken not in done),
    )
