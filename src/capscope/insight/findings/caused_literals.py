"""What the executions of a capability changed beyond its intent."""

from dataclasses import dataclass, field

import numpy as np

from capscope.logic import Effect, Literal, State


@dataclass
class CausedLiterals:
    """What the executions of a capability changed beyond its intent."""

    states: np.ndarray
    """The states in which it was tried and did not hold, by index."""
    draws: np.ndarray
    hits: dict[Literal, dict[int, int]] = field(default_factory=dict)
    """For each literal the rows in which it was caused, and how often."""
    achieving: dict[Effect, tuple[State, State]] = field(default_factory=dict)
    """Effects that achieved the intent: atoms that held before, and that did not, in some state."""
