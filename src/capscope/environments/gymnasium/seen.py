"""What an agent in a Gymnasium environment sees, with the words for it.

The contract of an abstraction is to look at an observation alone. A labelling may look into the
environment as well, since what people want to say about a position is often not in the observation.
So the simulator asks the labelling, while the environment is still there, and hands on the answer
with the observation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from capscope.symbolic import State, Vocabulary


class Seen(NamedTuple):
    """An observation, its symbolic state, and what else the last step told."""

    observation: Any
    state: State
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    mask: Any = None


class SeenState:
    """The abstraction: the state that came with the observation."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def __call__(self, observation: Seen) -> State:
        """Return the atoms that hold."""
        return observation.state
