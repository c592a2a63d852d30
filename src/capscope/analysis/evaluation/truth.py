"""The exact capability model of an agent, for problems whose truth can be enumerated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from capscope.symbolic import Intent, State
from capscope.world import KnownTruth


@dataclass(frozen=True)
class TrueModel:
    """h★: the outcome distribution of every intent in every reachable state."""

    capabilities: Sequence[Intent]
    states: Sequence[State]
    table: Mapping[tuple[State, Intent], Mapping[State, float]]

    def predict(self, state: State, capability: Intent) -> Mapping[State, float]:
        """Return the exact distribution; empty for a state that cannot be reached."""
        return self.table.get((state, capability), {})


def enumerate_truth(truth: KnownTruth, intents: Sequence[Intent] | None = None) -> TrueModel:
    """Enumerate the true model, for all its intents or for the given ones."""
    chosen = tuple(truth.intents() if intents is None else intents)
    states = truth.reachable_states()
    table = {(s, intent): truth.outcomes(s, intent) for s in states for intent in chosen}
    return TrueModel(chosen, states, table)
