"""Distributions over states as the two models predict them, and how far they are apart.

A distribution is a sparse map from state to log-probability. Executing a capability moves the mass
of each state: by the state's own block where the capability was tried there; where it was not, the
pessimist, who has no rule, leaves the mass where it is, and the optimist spreads it over all
effects the capability ever had. Effects are bit masks, so a move is two operations on integers.
"""

from __future__ import annotations

from math import exp, log, log1p

from capscope.model import Models
from capscope.symbolic import State

Distribution = dict[State, float]
"""State → log-probability; states without mass are absent."""


def point(state: State) -> Distribution:
    """Put all mass on one state."""
    return {state: 0.0}


def add_mass(distribution: Distribution, state: State, log_mass: float) -> None:
    """Add mass to a state, in the log domain."""
    there = distribution.get(state)
    if there is None:
        distribution[state] = log_mass
    else:
        high, low = (there, log_mass) if there > log_mass else (log_mass, there)
        distribution[state] = high + log1p(exp(low - high))


Moves = tuple[tuple[State, float], ...]
"""Where the mass of a state goes: successors with log-probabilities."""


class Predictor:
    """Moves distributions as the two models predict; models must not change meanwhile.

    A search asks for the same pairs again and again, so the moves of a pair are worked out once.
    """

    def __init__(self, models: Models) -> None:
        self._models = models
        self._seen: list[dict[State, Moves]] = [{} for _ in models.capabilities]
        self._wished: list[dict[State, Moves]] = [{} for _ in models.capabilities]

    def pessimist(self, distribution: Distribution, capability: int) -> Distribution:
        """Return the pessimist's distribution after a capability."""
        known = self._seen[capability]
        if len(distribution) == 1:
            # One state that leads to different states: nothing can meet.
            ((state, log_mass),) = distribution.items()
            moves = known.get(state) or self._moves(state, capability, known, optimistic=False)
            return {successor: log_mass + share for successor, share in moves}
        moved: Distribution = {}
        for state, log_mass in distribution.items():
            moves = known.get(state) or self._moves(state, capability, known, optimistic=False)
            for successor, share in moves:
                add_mass(moved, successor, log_mass + share)
        return moved

    def optimist(self, distribution: Distribution, capability: int) -> Distribution:
        """Return the optimist's distribution after a capability."""
        known = self._wished[capability]
        moved: Distribution = {}
        for state, log_mass in distribution.items():
            moves = known.get(state) or self._moves(state, capability, known, optimistic=True)
            for successor, share in moves:
                mass = log_mass + share
                there = moved.get(successor)
                if there is None:
                    moved[successor] = mass
                else:
                    add_mass(moved, successor, mass)
        return moved

    def _moves(
        self, state: State, capability: int, known: dict[State, Moves], *, optimistic: bool
    ) -> Moves:
        pair = self._models.pair(state, capability)
        moved: Distribution = {}
        if pair is not None:
            shares = zip(pair.successors, pair.block.probabilities(), strict=True)
            moved = {place.state: log(probability) for place, probability in shares}
        elif optimistic:
            for effect, probability in self._models.optimistic_spread(capability):
                add_mass(moved, effect.apply(state), log(probability))
        else:
            moved = point(state)
        known[state] = moves = tuple(moved.items())
        return moves


def total_variation(one: Distribution, other: Distribution) -> float:
    """Return δ_TV = ½ Σ |ρ₁(s) − ρ₂(s)|, between 0 and 1."""
    apart = 0.0
    for state, log_mass in one.items():
        there = other.get(state)
        apart += exp(log_mass) if there is None else abs(exp(log_mass) - exp(there))
    for state, log_mass in other.items():
        if state not in one:
            apart += exp(log_mass)
    return min(apart / 2, 1.0)


def support_difference(one: Distribution, other: Distribution) -> float:
    """Return δ_SD: the mass, under the equal mixture, that only one of the two holds possible."""
    alone = sum(exp(mass) for state, mass in one.items() if state not in other)
    alone += sum(exp(mass) for state, mass in other.items() if state not in one)
    return alone / 2
