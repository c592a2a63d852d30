"""What a language model is told about a world, as data.

Everything that depends on the world is here, so that the agent itself can act in any world that is
shown as text and acted on by words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from capscope.symbolic import Intent


@dataclass(frozen=True)
class Example:
    """A situation and a good answer to it."""

    observation: str
    goal: str
    thought: str
    actions: tuple[str, ...]


@dataclass(frozen=True)
class Guide:
    """How to read a world, what can be done in it, and how its goals are said."""

    introduction: str
    """Legend, actions, rules and hints."""
    actions: tuple[str, ...]
    """What the world can be asked to do; to stop is not among them."""
    examples: tuple[Example, ...]
    goal: Callable[[Intent, Any, int], str]
    """Says an intent in a sentence, given the first observation and a seed for what is left open.
    """
    sentences: str
    """All wording that `goal` uses, for the fingerprint of the agent."""
