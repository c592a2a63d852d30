"""Distributions over states as the two models predict them, and their distance.

A distribution is a sparse map from state to log-probability. Executing a capability moves the mass
of each state. If the capability was tried there, the mass follows the outcome group of the pair. If
not, the optimist spreads it over all effects that the capability ever had; the pessimist, who has
no rule, gives every successor probability 0, so its mass goes nowhere. A pessimist's distribution
may therefore sum to less than 1.

The paper contradicts itself here: by its definition of a model a state without a rule has no
successors, by its algorithm for distributions the mass stays where it is. If it stayed, an untried
pair on which the optimist predicts no change would show no disagreement and never be asked for.
"""

from collections.abc import Callable
from math import exp, log, log1p

from capscope.logic import Effect, State
from capscope.model import ExtremeModels

Distribution = dict[State, float]
"""State → log-probability; states without mass are absent."""
_Moves = tuple[tuple[State, float], ...]
"""Where the mass of a state goes: successors with log-probabilities."""


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


class _Mover:
    """Moves distributions as one model predicts; the moves of a pair are computed once."""

    def __init__(self, capabilities: int, predict: Callable[[State, int], Distribution]) -> None:
        self._predict = predict
        self._known: list[dict[State, _Moves]] = [{} for _ in range(capabilities)]

    def move(self, distribution: Distribution, capability: int) -> Distribution:
        known = self._known[capability]
        moved: Distribution = {}
        for state, mass in distribution.items():
            moves = known.get(state)
            if moves is None:
                moves = known[state] = tuple(self._predict(state, capability).items())
            for successor, share in moves:
                if successor in moved:
                    add_mass(moved, successor, mass + share)
                else:
                    moved[successor] = mass + share
        return moved


class Predictor:
    """Moves distributions as the two models predict, which must not change meanwhile."""

    def __init__(self, models: ExtremeModels) -> None:
        self._models = models
        self._graph = graph = models.graph
        capabilities = len(graph.capabilities)
        self.pessimist = _Mover(capabilities, self._seen).move
        """(distribution, capability) → the pessimist's distribution after the capability."""
        self.optimist = _Mover(capabilities, self._optimistic).move
        """(distribution, capability) → the optimist's distribution after the capability."""
        self._log_spreads: dict[int, tuple[tuple[Effect, float], ...]] = {}

    def both(
        self, pessimist: Distribution, optimist: Distribution, capability: int
    ) -> tuple[Distribution, Distribution]:
        """Return what each model predicts from its distribution; one object while they agree."""
        moved = self.pessimist(pessimist, capability)
        if pessimist is optimist:
            pair = self._graph.pair
            if all(pair(state, capability) is not None for state in pessimist):
                return moved, moved
        return moved, self.optimist(optimist, capability)

    def _seen(self, state: State, capability: int) -> Distribution:
        pair = self._graph.pair(state, capability)
        if pair is None:
            return {}
        shares = zip(pair.successors, pair.group.probabilities(), strict=True)
        return {node.state: log(probability) for node, probability in shares}

    def _optimistic(self, state: State, capability: int) -> Distribution:
        if self._graph.pair(state, capability) is not None:
            return self._seen(state, capability)
        spread = self._log_spreads.get(capability)
        if spread is None:
            shares = self._models.optimistic_distribution(capability)
            spread = tuple((effect, log(probability)) for effect, probability in shares)
            self._log_spreads[capability] = spread
        moved: Distribution = {}
        for effect, share in spread:
            add_mass(moved, effect.apply(state), share)
        return moved


def total_variation(one: Distribution, other: Distribution) -> float:
    """Return δ_TV = ½ Σ |ρ₁(s) − ρ₂(s)|, between 0 and 1; mass that went nowhere is a state."""
    # With that state both sum to 1, so the masses that only one of them has are equal; without it,
    # the larger one is the distance.
    more = less = 0.0
    for state, log_mass in one.items():
        there = other.get(state)
        apart = exp(log_mass) - (0.0 if there is None else exp(there))
        if apart > 0.0:
            more += apart
        else:
            less -= apart
    for state, log_mass in other.items():
        if state not in one:
            less += exp(log_mass)
    return min(max(more, less), 1.0)
