"""A capability model: rules of every capability, and what they predict.

Rules may overlap, above all in an optimistic model. Where several hold in a state they count
alike: the prediction is the uniform average of their distributions. Where none holds, the model
says nothing: every successor has probability zero.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from capscope.model.rules import Outcome
from capscope.symbolic import Intent, State
from capscope.symbolic.condition import Condition

Prediction = Mapping[State, float]
"""A distribution over successors; empty where the model says nothing."""


class CapabilityModel(Protocol):
    """Anything that predicts the outcome of asking for an intent in a state."""

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model speaks of."""

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Return the full distribution over the state after the execution."""


@dataclass(frozen=True)
class ConditionalRule:
    """A symbolic condition and the distribution over effects that it leads to."""

    condition: Condition
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class RuleModel:
    """A capability model written out as rules with symbolic conditions."""

    rules: Mapping[Intent, tuple[ConditionalRule, ...]]

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model speaks of."""
        return tuple(self.rules)

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Average the rules that hold in the state."""
        holding = [rule for rule in self.rules[capability] if rule.condition.holds(state)]
        prediction: dict[State, float] = {}
        for rule in holding:
            for outcome in rule.outcomes:
                after = outcome.effect.apply(state)
                share = outcome.probability / len(holding)
                prediction[after] = prediction.get(after, 0.0) + share
        return prediction


def sample(prediction: Prediction, rng: random.Random) -> State | None:
    """Draw a successor from a prediction; None where the model says nothing."""
    if not prediction:
        return None
    return rng.choices(list(prediction), list(prediction.values()))[0]
