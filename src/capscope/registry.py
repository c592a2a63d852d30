"""Registries: what is built in, and what the entry points of other packages add, by name."""

from collections.abc import Iterable
from functools import cached_property
from importlib import metadata
from typing import Generic, Protocol, TypeVar

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
        """Everything registered, in order: what is built in comes first."""
        known = dict(self.built_in)
        for entry in metadata.entry_points(group=self.group):
            found = self._load(entry)
            if found.name in known:
                raise self._unusable(entry, f"the name {found.name!r} is taken")
            known[found.name] = found
        return known

    def get(self, name: str) -> T | None:
        """Return what is registered by a name; None if nothing is."""
        return self.built_in.get(name) or self._added.get(name) or self.all.get(name)

    def find(self, name: str) -> T:
        """Return what is registered by a name, or raise with the names there are."""
        found = self.get(name)
        if found is None:
            raise CapscopeError(f"no {self.noun} {name!r}; choose one of {', '.join(self.all)}")
        return found

    def _load(self, entry: metadata.EntryPoint) -> T:
        try:
            found = entry.load()
        except Exception as error:
            reason = f"importing it raised {type(error).__name__}: {error}"
            raise self._unusable(entry, reason) from error
        if not isinstance(found, self.type):
            reason = f"it is of type {type(found).__name__}, not {self.type.__name__}"
            raise self._unusable(entry, reason)
        return found

    def _unusable(self, entry: metadata.EntryPoint, reason: str) -> CapscopeError:
        return CapscopeError(
            f"the {self.noun} {entry.value} of the entry points {self.group} cannot be used: "
            f"{reason}; fix or uninstall the package that declares it"
        )
