"""The multiset 𝒟 of transitions ⟨s, c, s′⟩, with counts per pair ⟨s, c⟩.

A capability is its position in the run's list of intents: intents are only ever appended, so the
position never changes its meaning. Repeats are facts and are counted, never collapsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from capscope.symbolic import State


class Transition(NamedTuple):
    """An execution of a capability: where it began and where it ended."""

    before: State
    capability: int
    after: State


class Dataset:
    """Transitions seen so far; recording costs the same however many there are.

    >>> seen = Dataset()
    >>> seen.record({Transition(0, 0, 1): 25})
    >>> seen.executions(0, 0), seen.departures(0), 1 in seen.states
    (25, 25, True)
    """

    def __init__(self) -> None:
        self._outcomes: dict[tuple[State, int], dict[State, int]] = {}
        self._departures: dict[State, int] = {}
        self.most_departures = 0
        self.size = 0
        self.distinct = 0

    def record(self, transitions: Mapping[Transition, int]) -> None:
        """Add transitions with their counts."""
        for (before, capability, after), count in transitions.items():
            outcomes = self._outcomes.setdefault((before, capability), {})
            if after not in outcomes:
                outcomes[after] = 0
                self.distinct += 1
            outcomes[after] += count
            departures = self._departures.get(before, 0) + count
            self._departures[before] = departures
            self._departures.setdefault(after, 0)
            self.most_departures = max(self.most_departures, departures)
            self.size += count

    @property
    def states(self) -> Mapping[State, int]:
        """Every state seen, in the order of first sight, with the transitions that left from it."""
        return self._departures

    @property
    def pairs(self) -> int:
        """How many distinct pairs of state and capability were tried."""
        return len(self._outcomes)

    def departures(self, state: State) -> int:
        """Count the transitions that began in a state: N(s; 𝒟)."""
        return self._departures.get(state, 0)

    def outcomes(self, state: State, capability: int) -> Mapping[State, int]:
        """Return the end states seen for a pair, with counts."""
        return self._outcomes.get((state, capability), {})

    def executions(self, state: State, capability: int) -> int:
        """Count the executions of a capability in a state."""
        return sum(self.outcomes(state, capability).values())

    def __iter__(self) -> Iterator[tuple[Transition, int]]:
        for (before, capability), outcomes in self._outcomes.items():
            for after, count in outcomes.items():
                yield Transition(before, capability, after), count
