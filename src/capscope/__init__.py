"""Find out what an AI agent can do, when, and with what side effects.

A name is imported when it is first used: a program that only defines a problem loads no strategy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from capscope.version import __version__ as __version__

if TYPE_CHECKING:
    from capscope.assessment import Event
    from capscope.assessment.workers import WorkerSettings
    from capscope.errors import CapscopeError
    from capscope.journal.run_meta import Budget, Usage
    from capscope.journal.settings import Settings
    from capscope.logic import Atom, Effect, Intent, Literal, Predicate, State, Vocabulary
    from capscope.problem import Limits, Problem
    from capscope.problem.checks import check_problem
    from capscope.run import Run, assess, load, resume

__all__ = [
    "Atom",
    "Budget",
    "CapscopeError",
    "Effect",
    "Event",
    "Intent",
    "Limits",
    "Literal",
    "Predicate",
    "Problem",
    "Run",
    "Settings",
    "State",
    "Usage",
    "Vocabulary",
    "WorkerSettings",
    "assess",
    "check_problem",
    "load",
    "resume",
]
_HOMES = {
    "capscope.assessment": ("Event",),
    "capscope.assessment.workers": ("WorkerSettings",),
    "capscope.errors": ("CapscopeError",),
    "capscope.journal.settings": ("Settings",),
    "capscope.journal.run_meta": ("Budget", "Usage"),
    "capscope.run": ("Run", "assess", "load", "resume"),
    "capscope.logic": (
        *("Atom", "Effect", "Intent", "Literal", "Predicate", "State", "Vocabulary"),
    ),
    "capscope.problem": ("Limits", "Problem"),
    "capscope.problem.checks": ("check_problem",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name from the module that defines it."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    """List the public names, those not imported yet included."""
    return sorted({*globals(), *__all__})
