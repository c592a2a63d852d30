"""Look inside a simulator that allows it, compare, and name what is not as it was.

A check that finds a restore wanting can say so; what helps is to say which counter, attribute or
generator it was. A simulator that does not let itself be inspected tells nothing, and nothing is
compared.
"""

from __future__ import annotations

from collections.abc import Mapping

from capscope.world.contracts import InspectableSimulator, Inspection, Simulator

_MOST_NAMED = 3
_NOTHING = Inspection({}, {}, {})


def inspected(simulator: Simulator) -> Inspection:
    """Look inside; what the last step told is among the parts that a restore must put back."""
    if not isinstance(simulator, InspectableSimulator):
        return _NOTHING
    found = simulator.inspect()
    return found._replace(parts={**simulator.last_step(), **found.parts})


def told(simulator: Simulator) -> tuple[str, ...]:
    """Return what the last step told."""
    return (
        tuple(simulator.last_step().values()) if isinstance(simulator, InspectableSimulator) else ()
    )


def not_put_back(before: Inspection, now: Inspection) -> str:
    """Say which parts were something else; empty if all are as they were."""
    return ", ".join(
        f"{name} was {before.parts.get(name, 'not there')} and is {now.parts.get(name, 'gone')}"
        for name in _differing(before.parts, now.parts)
    )


def outlasting(before: Inspection, now: Inspection) -> str:
    """Say what else is not as it was, of which nothing is asked but which may be the reason."""
    return _told_as_reason(_differing(before.others, now.others))


def suspects(first: Inspection, second: Inspection) -> str:
    """Say what differs between two insides that should be alike in everything."""
    pairs = zip((first.generators, *first[:2]), (second.generators, *second[:2]), strict=True)
    return _told_as_reason([name for one, other in pairs for name in _differing(one, other)])


def _told_as_reason(names: list[str]) -> str:
    return f"; not as it was: {', '.join(names[:_MOST_NAMED])}" if names else ""


def remedy(simulator: Simulator, *, randomness: bool = False) -> str:
    """Say what to do about it, if the simulator knows."""
    if not isinstance(simulator, InspectableSimulator):
        return ""
    return f"; {simulator.remedy(randomness)}"


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    names = dict.fromkeys([*before, *now])
    return [name for name in names if before.get(name) != now.get(name)][:_MOST_NAMED]
