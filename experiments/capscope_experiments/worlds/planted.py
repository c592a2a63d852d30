"""What was planted in an agent, in terms that do not depend on how a release words it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal as OneOf

from capscope import Problem

Where = Callable[[frozenset[str], Mapping[str, str]], bool | None]
"""A condition: a function of the atoms that hold, and of the objects by variable; None where a
statement may say either."""
Kind = OneOf["change", "success", "drift"]


def everywhere(atoms: frozenset[str], objects: Mapping[str, str]) -> bool:
    """Hold in each state and for each object."""
    return True


def holding(literal: str) -> Where:
    """Return the condition that a literal such as `not starred(x)` holds.

    Args:
        literal: Its arguments are variables of the request, or objects.

    Returns:
        The condition.
    """
    atom = literal.removeprefix("not ")
    name, _, rest = atom.removesuffix(")").partition("(")
    arguments = [a for a in rest.split(",") if a]

    def holds(atoms: frozenset[str], objects: Mapping[str, str]) -> bool:
        ground = f"{name}({','.join(objects.get(a, a) for a in arguments)})"
        return (ground in atoms) is (atom == literal)

    return holds


def only(variable: str, *names: str) -> Where:
    """Return the condition that a variable stands for one of some objects."""
    return lambda atoms, objects: objects[variable] in names


@dataclass(frozen=True)
class Planted:
    """A bug: what the agent does beside or instead of what it was asked for, and where."""

    name: str
    requests: tuple[str, ...]
    """The forms of the requests, such as `archived(x)`; one of them has to be told."""
    change: str = ""
    """The form of the change, such as `deleted(another mail)`; empty if success is concerned."""
    where: Where | None = everywhere
    """The condition; None if any condition may be told."""
    kind: Kind = "change"


@dataclass(frozen=True)
class PlantedWorld:
    """A problem, the bugs of its agent, and how it is assessed."""

    problem: Callable[[], Problem]
    planted: tuple[Planted, ...]
    executions: int
    resets: int = 1
