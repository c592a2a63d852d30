"""The exact capability model of an agent, enumerated, for problems that know their truth."""

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
        """Look the exact distribution up; empty for a state that cannot be reached."""
        return self.table.get((state, capability), {})

    @property
    def transitions(self) -> int:
        """The size of 𝒟★."""
        return sum(len(outcomes) for outcomes in self.table.values())


def enumerate_truth(truth: KnownTruth, intents: Sequence[Intent] | None = None) -> TrueModel:
    """Write the true model down, for all its intents or for a list of one's own."""
    chosen = tuple(truth.intents() if intents is None else intents)
    states = truth.reachable_states()
    table = {(s, intent): truth.outcomes(s, intent) for s in states for intent in chosen}
    return TrueModel(chosen, states, table)
