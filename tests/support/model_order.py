"""The order of models: what each holds possible.

A model stands for the set of transitions it is consistent with. One model is below another when
its set is contained in the other's; two are equivalent when the sets are equal. Over all 2^n
states neither could be decided by looking, so both take the states to look at.
"""

from collections.abc import Iterable

from capscope.logic import Intent, State
from capscope.model.extreme_models import CapabilityModel


def consistent(model: CapabilityModel, before: State, capability: Intent, after: State) -> bool:
    """Say whether a model holds a transition possible: h ⊨ ⟨s, c, s′⟩."""
    return after in model.predict(before, capability)


def at_most(
    lower: CapabilityModel,
    upper: CapabilityModel,
    states: Iterable[State],
    capabilities: Iterable[Intent],
) -> bool:
    """Say whether all that `lower` holds possible from the states, `upper` holds possible too."""
    chosen = list(capabilities)
    return all(
        lower.predict(state, capability).keys() <= upper.predict(state, capability).keys()
        for state in states
        for capability in chosen
    )


def equivalent(
    one: CapabilityModel,
    other: CapabilityModel,
    states: Iterable[State],
    capabilities: Iterable[Intent],
) -> bool:
    """Say whether two models hold the same transitions possible from the states."""
    chosen, places = list(capabilities), list(states)
    return at_most(one, other, places, chosen) and at_most(other, one, places, chosen)
