"""Registries: built-in entries and those of other packages, by name."""

from collections.abc import Iterable
from functools import cached_property
from importlib import metadata
from typing import Any, Generic, Protocol, TypeVar

from capscope.errors import CapscopeError


class Named(Protocol):
    """Something that can be registered."""

    @property
    def name(self) -> str:
        """The name, unique in its registry."""


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """Objects of one type by name.

    Entry points are loaded only if a name is not built in, or if all names are needed: finding
    them takes longer than most commands take to start. One that cannot be used is an error; if it
    were skipped, users would not learn why theirs is missing.
    """

    def __init__(self, group: str, noun: str, type_: type[T], built_in: Iterable[T]) -> None:
        self.group = group
        self.noun = noun
        self.type = type_
        self.built_in = {registered.name: registered for registered in built_in}
        self._added: dict[str, T] = {}

    def add(self, registered: T) -> None:
        """Register something for this process; it is found by its name, but not listed."""
        self._added[registered.name] = registered

    @cached_property
    def all(self) -> dict[str, T]:
        """All entries in order; built-in ones come first."""
        known = dict(self.built_in)
        for entry in metadata.entry_points(group=self.group):
            found = load_entry_point(entry, self.noun, self.type)
            if found.name in known:
                raise unusable(entry, self.noun, f"the name {found.name!r} is taken")
            known[found.name] = found
        return known

    def get(self, name: str) -> T | None:
        """Return the entry of a name; None if there is none."""
        return self.built_in.get(name) or self._added.get(name) or self.all.get(name)

    def find(self, name: str) -> T:
        """Return the entry of a name; raise with the known names if there is none."""
        found = self.get(name)
        if found is None:
            raise CapscopeError(f"no {self.noun} {name!r}; choose one of {', '.join(self.all)}")
        return found


def load_entry_point(entry: metadata.EntryPoint, noun: str, type_: Any) -> Any:
    """Return the object of a type that an entry point names; raise if there is none."""
    try:
        found = entry.load()
    except Exception as error:
        reason = f"importing it raised {type(error).__name__}: {error}"
        raise unusable(entry, noun, reason) from error
    if not isinstance(found, type_):
        reason = f"it is of type {type(found).__name__}, not {type_.__name__}"
        raise unusable(entry, noun, reason)
    return found


def unusable(entry: metadata.EntryPoint, noun: str, reason: str) -> CapscopeError:
    """Return the error of an entry point that cannot be used."""
    return CapscopeError(
        f"the {noun} {entry.value} of the entry points {entry.group} cannot be used: {reason}; "
        "fix or uninstall the package that declares it"
    )
