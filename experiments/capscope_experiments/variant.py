"""Variants of a strategy: the strategy, what is changed about its settings, and a label.

A label is the name of the strategy, followed by the options that change it: `mcqs-s, --paper` or
`random, --draws 1`. Tables, figures and CSV files name runs by it, and so does `--strategies`
(without the comma). `random` has the paper's 25 draws, unless its options or those of the bench say
otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from capscope.errors import CapscopeError
from capscope.journal.settings import PAPER, Settings
from capscope.strategy.registry import RANDOM, STRATEGIES
from capscope_experiments.baselines.uniform_pair import UNIFORM_PAIR

_SEPARATOR = ","
_PAPER = "--paper"
STRATEGIES.add(UNIFORM_PAIR)


@dataclass(frozen=True)
class Variant:
    """A strategy, and the options that change its settings."""

    strategy: str
    options: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Variant:
        """Read a label, with or without its comma.

        >>> Variant.parse("mcqs-s --paper --xi 0").label
        'mcqs-s, --paper, --xi 0'
        """
        strategy, *options = text.replace(_SEPARATOR, " ").split()
        return cls(strategy, tuple(options))

    @property
    def label(self) -> str:
        """The name of the variant in tables."""
        words = (f"{_SEPARATOR} {w}" if w.startswith("--") else f" {w}" for w in self.options)
        return self.strategy + "".join(words)

    @property
    def as_printed(self) -> bool:
        """Whether it runs without any departure from the paper."""
        return _PAPER in self.options

    def check(self) -> Variant:
        """Raise if there is no such strategy or option; return the variant."""
        STRATEGIES.find(self.strategy)
        self.applied(Settings())
        return self

    def possible_with(self, settings: Settings) -> bool:
        """Return whether settings leave it to the variant to depart from the paper."""
        return not (self.as_printed and "starts" in settings.changed())

    def applied(self, settings: Settings) -> Settings:
        """Return settings with the changes of the variant."""
        words = iter(self.options)
        changes: dict[str, Any] = {}
        if self.strategy == RANDOM and "draws" not in settings.changed():
            changes["draws"] = PAPER["draws"]
        for word in words:
            if word == _PAPER:
                settings = settings.as_in_paper()
            else:
                name, value = _setting(word, next(words, ""))
                changes[name] = value
        return replace(settings, **changes)


def _setting(option: str, text: str) -> tuple[str, Any]:
    """Read the value of a setting from text."""
    name = option.removeprefix("--").replace("-", "_")
    default = {field.name: field.default for field in fields(Settings)}.get(name)
    if not option.startswith("--") or not isinstance(default, int | float):
        raise CapscopeError(f"a variant cannot have {option!r}; give --paper, or --draws 1")
    try:
        return name, type(default)(float(text)) if isinstance(default, int) else float(text)
    except ValueError:
        raise CapscopeError(f"{option} needs a number, not {text!r}") from None


def strategy_of(label: str) -> str:
    """Return the strategy of a label.

    >>> strategy_of("mcqs-s, --paper")
    'mcqs-s'
    """
    return label.partition(_SEPARATOR)[0]
