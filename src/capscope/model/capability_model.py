"""A capability model: anything that predicts what asking for an intent in a state leads to."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Protocol

from capscope.symbolic import Intent, State

Prediction = Mapping[State, float]
"""A distribution over successors; empty if the model says nothing."""


class CapabilityModel(Protocol):
    """Anything that predicts the outcome of asking for an intent in a state."""

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model covers."""

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Return the full distribution over the state after the execution."""


def sample(prediction: Prediction, rng: random.Random) -> State | None:
    """Draw a successor from a prediction; None if the model says nothing."""
    if not prediction:
        return None
    return rng.choices(list(prediction), list(prediction.values()))[0]
