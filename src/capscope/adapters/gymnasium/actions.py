"""The actions of an environment: a list for random walks, and validation for policies.

Discrete spaces and small products of them are listed; from other spaces a few actions are sampled
once. A policy may take any action that the space contains.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from capscope.errors import ProblemError
from capscope.problem import InvalidAction

_MAX_LISTED = 256


class Actions:
    """The actions of a space."""

    def __init__(self, space: Space[Any], samples: int) -> None:
        self.space = space
        listed = _listed(space)
        self.sampled = listed is None
        """Whether the list is a sample."""
        if listed is None:
            space.seed(0)
            listed = [space.sample() for _ in range(samples)]
        self.listed = listed
        self._as_action = _converter(space)
        # `contains` of a discrete space takes as long as a step.
        self._contains = (
            set(self.listed).__contains__ if isinstance(space, spaces.Discrete) else space.contains
        )

    def valid(self, mask: Any) -> Sequence[Any]:
        """List the actions that a mask allows; all without a mask."""
        if mask is None:
            return self.listed
        if not isinstance(self.space, spaces.Discrete) or len(mask) != len(self.listed):
            raise ProblemError(
                "an action mask needs a discrete action space and has a number for each action, "
                f"not {mask!r} for {self.space}; remove action_mask from Options"
            )
        return [action for action, allowed in zip(self.listed, mask, strict=True) if allowed]

    def admit(self, action: Any, mask: Any = None) -> Any:
        """Return an action in the form that the environment expects, or raise `InvalidAction`."""
        try:
            admitted = self._as_action(action)
            fits = self._contains(admitted)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidAction(f"{action!r} is not an action of {self.space}: {error}") from error
        if not fits:
            raise InvalidAction(f"{action!r} is not an action of {self.space}")
        if mask is not None and admitted not in self.valid(mask):
            raise InvalidAction(f"{action!r} is not valid here; the mask allows {self.valid(mask)}")
        return admitted


def _listed(space: Space[Any]) -> list[Any] | None:
    """List a small discrete space; None for any other."""
    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        return list(range(first, first + int(space.n)))
    if isinstance(space, spaces.MultiBinary):
        sizes = np.full(space.shape, 2)
        starts = np.zeros(space.shape, int)
    elif isinstance(space, spaces.MultiDiscrete):
        sizes, starts = np.asarray(space.nvec), np.asarray(space.start)
    else:
        return None
    if np.prod(sizes, dtype=float) > _MAX_LISTED:
        return None
    choices = itertools.product(*(range(size) for size in sizes.ravel()))
    return [
        (np.reshape(chosen, sizes.shape) + starts).astype(space.dtype or int) for chosen in choices
    ]


def _converter(space: Space[Any]) -> Callable[[Any], Any]:
    """Convert what policies return: arrays without dimension, of length one, or of doubles."""
    if isinstance(space, spaces.Discrete):
        return _as_integer
    if isinstance(space, spaces.Box):
        return lambda action: np.array(action, dtype=space.dtype).reshape(space.shape)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return lambda action: np.array(action).astype(space.dtype or int, casting="same_kind")
    return lambda action: action


def _as_integer(action: Any) -> int:
    if isinstance(action, np.ndarray | np.generic):
        action = action.item()  # raises if there are several
    if not isinstance(action, int):
        raise TypeError("it is not an integer")
    return int(action)
