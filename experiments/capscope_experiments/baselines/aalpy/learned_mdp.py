"""A learned MDP as a capability model.

The MDP may have several states with one label, since AALpy splits a state whenever samples seem to
differ. A query about a symbolic state does not say which of them is meant. It would be best to
weight them by how often each was visited, but AALpy provides probabilities and no counts. So they
have equal weights, like our own rules if several hold.

An input that was never sampled has no prediction. L*_MDP sends it to a state labeled `chaos`;
Alergia omits it; looking up a missing input leaves an empty list behind. Treating any of these as a
self-loop would be a lucky guess wherever a capability changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from capscope.logic import Intent, State
from capscope.model.extreme_models import Prediction

CHAOS = "chaos"


class MdpState(Protocol):
    """A state that AALpy learned: its label, and successors by input."""

    output: str
    transitions: dict[int, list[tuple[Any, float]]]


def label(state: State) -> str:
    """Return a symbolic state as an output; none is ever called `chaos`.

    >>> label(0b1010), state_of("a")
    ('a', 10)
    """
    return f"{state:x}"


def state_of(output: str) -> State:
    """Return the symbolic state of an output."""
    return int(output, 16)


class LearnedMdp:
    """The predictions of an MDP over labeled states."""

    def __init__(self, states: Iterable[MdpState], intents: Sequence[Intent]) -> None:
        self.capabilities = tuple(intents)
        known = [state for state in states if state.output != CHAOS]
        self.states = len(known)
        same_label: dict[tuple[State, Intent], list[dict[State, float]]] = {}
        for state in known:
            for capability, successors in state.transitions.items():
                if outcomes := _outcomes(successors):
                    pair = state_of(state.output), self.capabilities[capability]
                    same_label.setdefault(pair, []).append(outcomes)
        self._predictions = {pair: _average(spreads) for pair, spreads in same_label.items()}

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Average the learned states with this label; no prediction if there are none."""
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
