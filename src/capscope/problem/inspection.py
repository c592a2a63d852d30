"""Compare what symbolic states do not show: a simulator's internal state, and global generators.

To fix an incomplete restore, the user needs the name of the counter, attribute or generator. No
seed reaches the global generators of Python and NumPy; their states show whether code drew from
them.
"""

import random
from collections.abc import Mapping

import numpy as np

from capscope.problem.problem import InspectableSimulator, Inspection, Simulator

_MOST_NAMED = 3


def inspect(simulator: Simulator) -> Inspection:
    """Return the internal state; the last step is among the values that a restore must restore."""
    if not isinstance(simulator, InspectableSimulator):
        return Inspection({}, {}, {})
    found = simulator.inspect()
    return found._replace(parts={**simulator.last_step(), **found.parts})


def last_step(simulator: Simulator) -> tuple[str, ...]:
    """Return what the last step returned, as text."""
    if not isinstance(simulator, InspectableSimulator):
        return ()
    return tuple(simulator.last_step().values())


def not_restored(before: Inspection, now: Inspection) -> str:
    """Describe the values that a restore should have restored; empty if it did."""
    return ", ".join(
        f"{name} was {before.parts.get(name, 'missing')} and is {now.parts.get(name, 'missing')}"
        for name in _differing(before.parts, now.parts)
    )


def possible_reason(before: Inspection, now: Inspection) -> str:
    """Name what else differs: a restore need not restore it, but it may be the reason."""
    return _named(_differing(before.others, now.others))


def suspects(first: Inspection, second: Inspection) -> str:
    """Name what differs between two internal states that should be equal."""
    pairs = zip((first.generators, *first[:2]), (second.generators, *second[:2]), strict=True)
    return _named([name for one, other in pairs for name in _differing(one, other)])


def remedy(simulator: Simulator, *, randomness: bool = False) -> str:
    """Return what the simulator suggests to change, if it does."""
    if not isinstance(simulator, InspectableSimulator):
        return ""
    return f"; {simulator.remedy(randomness)}"


def _named(names: list[str]) -> str:
    return f"; changed: {', '.join(names[:_MOST_NAMED])}" if names else ""


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    names = dict.fromkeys([*before, *now])
    return [name for name in names if before.get(name) != now.get(name)][:_MOST_NAMED]


def global_generators() -> Mapping[str, object]:
    """Return the states of the random generators that the whole process shares."""
    _, words, *rest = np.random.get_state(legacy=True)
    return {
        "Python's global random": random.getstate(),
        "NumPy's global np.random": (np.asarray(words).tobytes(), rest),
    }


def drawn_since(before: Mapping[str, object]) -> list[str]:
    """Name the global generators that were drawn from since their states were taken."""
    return [name for name, state in global_generators().items() if state != before[name]]
