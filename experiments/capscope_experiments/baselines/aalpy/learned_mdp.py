"""A learned MDP read as a capability model.

The MDP may have several states with one label, since AALpy splits a state whenever samples seem to
differ. Who asks about a symbolic state does not know in which of them the world is. Weighing them
by how often each was met would be best, but AALpy hands out probabilities and no counts. So they
count alike, as our own rules do where several hold.

What was never sampled is no prediction. L*_MDP sends such an input to a state it labels `chaos`;
Alergia leaves it out; merely looking at a missing input leaves an empty list behind. Taking any of
them for a self-loop would guess right wherever a capability changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from capscope.model.capability_model import Prediction
from capscope.symbolic import Intent, State

CHAOS = "chaos"


class MdpState(Protocol):
    """What is read of a state that AALpy learned: its label, and successors by input."""

    output: str
    transitions: dict[int, list[tuple[Any, float]]]


def label(state: State) -> str:
    """Write a symbolic state as an output; none is ever called `chaos`.

    >>> label(0b1010), state_of("a")
    ('a', 10)
    """
    return f"{state:x}"


def state_of(output: str) -> State:
    """Read a symbolic state back from an output."""
    return int(output, 16)


class LearnedMdp:
    """What an MDP over labelled states predicts of each capability."""

    def __init__(self, states: Iterable[MdpState], intents: Sequence[Intent]) -> None:
        self.capabilities = tuple(intents)
        known = [state for state in states if state.output != CHAOS]
        self.states = len(known)
        alike: dict[tuple[State, Intent], list[dict[State, float]]] = {}
        for state in known:
            for capability, successors in state.transitions.items():
                if outcomes := _outcomes(successors):
                    pair = state_of(state.output), self.capabilities[capability]
                    alike.setdefault(pair, []).append(outcomes)
        self._predictions = {pair: _average(spreads) for pair, spreads in alike.items()}

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Average the learned states that have this label; say nothing where there is none."""
        return self._predictions.get((state, capability), {})


def _outcomes(successors: Iterable[tuple[MdpState, float]]) -> dict[State, float]:
    outcomes: dict[State, float] = {}
    for successor, probability in successors:
        if successor.output != CHAOS:
            after = state_of(successor.output)
            outcomes[after] = outcomes.get(after, 0.0) + probability
    return outcomes


def _average(spreads: Sequence[dict[State, float]]) -> dict[State, float]:
    mean: dict[State, float] = {}
    for spread in spreads:
        for after, probability in spread.items():
            mean[after] = mean.get(after, 0.0) + probability / len(spreads)
    return mean
