"""Problems that can be asked for by name."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from capscope.errors import install_hint
from capscope.problem.problem import Problem


@dataclass(frozen=True)
class RegisteredProblem:
    """A problem that can be asked for by name."""

    name: str
    summary: str
    load: Callable[..., Problem]
    """Makes the problem; options are given by name."""
    extra: str | None = None
    """The extra to install, and the modules that show that it is."""
    modules: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    distribution: str = "capscope"
    """The distribution that has the extra."""
    files: Mapping[str, Callable[[], Container[str]]] = field(default_factory=dict)
    """The options that name a file, each with the values that are names and not paths."""

    @property
    def installed(self) -> bool:
        """Whether the packages it needs can be imported."""
        return all(importlib.util.find_spec(module) is not None for module in self.modules)

    @property
    def install_hint(self) -> str:
        """The command that installs what it needs."""
        return install_hint(self.extra or "all", self.distribution)
