"""How long a language model may think and act in one attempt, and how its answers are drawn.

The settings of a problem that is named on the command line are written behind its name, so that
they are part of the run: `minigrid-react:structured=yes,max-actions=20,temperature=0.7`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from capscope.errors import ProblemError

_YES, _NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


@dataclass(frozen=True)
class ReactSettings:
    """The settings of an agent; those of the sampling are passed on to the server."""

    structured: bool = False
    """Answers are asked for as JSON by a schema, for models that cannot keep to a format."""
    max_actions: int = 50
    """After so many the agent stops."""
    max_plan: int = 20
    """Most actions of one answer; then the model is shown what came of them."""
    max_tokens: int = 2048
    """Most tokens of one answer, those that a model thinks in silence included."""
    max_thought: int = 0
    """Most characters of a structured answer's thought; 0 is no limit, and some servers allow none.
    """
    temperature: float = 1.0

    def __post_init__(self) -> None:
        for name in ("max_actions", "max_plan", "max_tokens"):
            if getattr(self, name) < 1:
                raise ProblemError(f"{_shown(name)} must be at least 1, not {getattr(self, name)}")
        if self.max_thought < 0 or not 0 <= self.temperature <= 10:
            raise ProblemError("max-thought is 0 or more, and temperature from 0 to 10")

    def changed(self, options: Mapping[str, str]) -> ReactSettings:
        """Return the settings with some of them replaced by what was typed."""
        return replace(self, **{name: self._read(name, text) for name, text in options.items()})

    def _read(self, name: str, text: str) -> Any:
        kind = type(getattr(self, name))
        word = text.strip().lower()
        if kind is bool:
            if word not in _YES + _NO:
                raise ProblemError(f"{_shown(name)} is yes or no, not {text!r}")
            return word in _YES
        try:
            return kind(word)
        except ValueError:
            raise ProblemError(f"{_shown(name)} is a number, not {text!r}") from None


SMALL_MODEL_SETTINGS = ReactSettings(structured=True, max_plan=10, max_tokens=200, max_thought=200)
"""For models that fit a laptop: they lose the format, and the thread, after a few sentences."""


def _shown(name: str) -> str:
    return name.replace("_", "-")
