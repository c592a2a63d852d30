"""A Gymnasium environment as a simulator that can go back to any position it was in before.

Its actions are a list for random walks: discrete spaces and small products of them are listed; from
other spaces a few actions are sampled once. A policy may take any action that the space contains.
"""

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import Env, Space, Wrapper, spaces
from gymnasium.wrappers import TimeLimit

from capscope.adapters.gymnasium.episode import (
    Episode,
    GymnasiumObservation,
    Reseed,
    generator_states,
)
from capscope.adapters.gymnasium.object_walk import is_below, layers
from capscope.adapters.gymnasium.position_names import PositionNamer, observe
from capscope.adapters.gymnasium.restoring import Copy, Replay, Restoring, attributes, text_of
from capscope.errors import ProblemError
from capscope.logic import Atom, State, Vocabulary
from capscope.problem import Inspection, InvalidAction, Snapshot
from capscope.problem.positions import png

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


Make: TypeAlias = str | Callable[[], Env[Any, Any]]
"""The id of a registered environment, or a function that makes one."""
Label: TypeAlias = Callable[..., Iterable[Atom | str] | Mapping[str, Any]]
"""From an observation, the environment inside all wrappers and the last step, to the atoms."""
_PIXELS = "rgb_array"


@dataclass(frozen=True)
class Options:
    """Settings that are rarely needed.

    A time limit is removed unless `keep_time_limit`: attempts have their own limits, and with it
    two positions that look the same have different futures. `action_mask` is the key of `info` that
    holds the valid actions, like Taxi's `"action_mask"`. `samples` is how many actions represent an
    action space that cannot be listed. `reseed` receives the environment inside all wrappers and a
    seed; it seeds generators that are not found automatically.
    """

    keep_time_limit: bool = False
    action_mask: str | None = None
    samples: int = 16
    reseed: Reseed | None = None


class LabelledState:
    """The abstraction: the simulator labels, because a label may depend on the environment."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def __call__(self, observation: GymnasiumObservation) -> State:
        """Return the atoms that hold."""
        return observation.state


class GymnasiumSimulator:
    """Steps an environment; observations are `GymnasiumObservation`s."""

    picture: Callable[[Snapshot], bytes]
    """Draws a position as a PNG; exists only if the environment renders to pixels."""

    def __init__(
        self,
        make: Make,
        vocabulary: Vocabulary,
        label: Label,
        restoring: Restoring,
        options: Options | None = None,
    ) -> None:
        self._make = make
        self._vocabulary = vocabulary
        self._label = label
        self._restoring = restoring
        self._options = options or Options()
        self._episode, self._removed_limit = self._begun()
        self._actions = Actions(self.env.action_space, self._options.samples)
        if self.env.render_mode == _PIXELS:
            self.picture = _renderer(lambda: self._begun()[0], restoring)

    @property
    def env(self) -> Env[Any, Any]:
        """The environment with its wrappers; another object after each restore of a copy."""
        return self._episode.env

    def _begun(self) -> tuple[Episode, int | None]:
        """Return a new environment in its first episode, and the time limit removed from it."""
        env, removed = make_environment(self._make), None
        if not self._options.keep_time_limit:
            env, removed = _without_time_limit(env)
        return Episode(env, self._options.action_mask, self._options.reseed), removed

    def reset(self, seed: int) -> GymnasiumObservation:
        """Start a new episode."""
        self._episode.reset(seed)
        return self._observation()

    def actions(self) -> Sequence[Any]:
        """List the valid actions; none after the end of the episode."""
        last = self._episode.last
        return () if last.over else self._actions.valid(last.mask)

    def step(self, action: Any) -> GymnasiumObservation:
        """Take an action; raise `InvalidAction` for one outside the action space or the mask."""
        last = self._episode.last
        if last.over:
            raise InvalidAction("the episode is over; no action is possible")
        self._episode.step(self._actions.admit(action, last.mask))
        return self._observation()

    def snapshot(self) -> Snapshot:
        """Record the position in the way that was declared to restore it."""
        return self._restoring.describe(self._episode)

    def position_name(self) -> bytes | None:
        """Identify the position, however it was reached; None if that is not possible."""
        description = self._position_namer.description(self._episode)
        return None if description is None else blake2b(description, digest_size=16).digest()

    def restore(self, snapshot: Snapshot, seed: int) -> GymnasiumObservation:
        """Go back to a position and reseed every generator."""
        self._restoring.restore(self._episode, snapshot)
        self._episode.reseed(seed)
        return self._observation()

    def _observation(self) -> GymnasiumObservation:
        last = self._episode.last
        atoms = self._label(last.observation, self._episode.base, last)
        return last._replace(state=self._vocabulary.state(atoms))

    def last_step(self) -> Mapping[str, str]:
        """Return what the last step returned, as text."""
        names = ("the observation", "the reward", "terminated", "truncated", "the action mask")
        observation, _, *rest = self._episode.last
        return dict(zip(names, map(text_of, [observation, *rest]), strict=True))

    def inspect(self) -> Inspection:
        """Return all attributes and generators; attributes set by a reset make up the position."""
        parts: dict[str, str] = {}
        others: dict[str, str] = {}
        for name, text in attributes(self.env).items():
            ignored = is_below(name.partition(".")[2], self._restoring.ignored)
            belongs = name in self._set_by_reset and not ignored
            (parts if belongs else others)[name] = text
        return Inspection(parts, others, generator_states(self.env))

    @cached_property
    def _set_by_reset(self) -> frozenset[str]:
        """Find the attributes that are the same after every reset with one seed."""
        before, _, after = observe(lambda: self._begun()[0], self._step_at_random, attributes)
        return frozenset(name for name, text in after.items() if before.get(name, text) == text)

    def _step_at_random(self, episode: Episode, rng: random.Random) -> bool:
        """Take a random step, and return whether there was one to take."""
        valid = () if episode.last.over else self._actions.valid(episode.last.mask)
        if valid:
            episode.step(self._actions.admit(rng.choice(valid)))
        return bool(valid)

    @cached_property
    def _position_namer(self) -> PositionNamer:
        # Made on first use, because it needs another environment.
        ignored = self._restoring.ignored
        return PositionNamer(lambda: self._begun()[0], self._step_at_random, ignored)

    def remedy(self, randomness: bool) -> str:
        """Return what to change if a restore does not restore, or does not reseed."""
        if not randomness:
            return self._restoring.remedy
        return (
            "draw all randomness from self.np_random, which is reseeded like every generator that "
            "exists after a reset, or reseed the others with Options(reseed=lambda env, seed: ...)"
        )

    def notes(self) -> Sequence[str]:
        """Return what was changed in the environment, and what positions lack."""
        notes = []
        if self._removed_limit is not None:
            notes.append(
                f"the time limit of {self._removed_limit} steps was removed; an attempt ends after "
                "limits.horizon steps. Options(keep_time_limit=True) keeps it"
            )
        if self._actions.sampled:
            notes.append(
                f"random walks use {len(self._actions.listed)} actions sampled from "
                f"{self._actions.space}; the policy may take any. Options(samples=...) sets the "
                "number"
            )
        if self._position_namer.unreadable:
            notes.append(
                f"{self._position_namer.unreadable} cannot be read, so positions have no names: "
                "`capscope diff` cannot match the positions of two runs. If it does not matter, "
                'exclude it with restore=Replay(ignore=["..."])'
            )
        return notes


def _renderer(begin: Callable[[], Episode], restoring: Restoring) -> Callable[[Snapshot], bytes]:
    """Draw positions in a separate environment: what rendering needs often cannot be copied."""
    way_back = Replay() if isinstance(restoring, Copy) else restoring
    episode = cache(begin)

    def picture(snapshot: Snapshot) -> bytes:
        way_back.restore(episode(), snapshot)
        pixels: Any = episode().env.render()
        return png(pixels)

    return picture


def make_environment(make: Make) -> Env[Any, Any]:
    """Make an environment; raise `ProblemError` if `make` cannot."""
    if isinstance(make, str):
        return gymnasium.make(make)
    if isinstance(make, Env) or not callable(make):
        raise ProblemError(
            "give a function that makes the environment, not the environment: "
            'make=lambda: gymnasium.make("FrozenLake-v1")'
        )
    env = make()
    if not isinstance(env, Env):
        raise ProblemError(
            f"make() returned a {type(env).__module__}.{type(env).__name__}, which is not a "
            "gymnasium.Env; vector environments and those of the old gym package are not supported"
        )
    return env


def _without_time_limit(env: Env[Any, Any]) -> tuple[Env[Any, Any], int | None]:
    """Remove the outermost time limit; return the environment and the steps of the limit."""
    around: Wrapper[Any, Any, Any, Any] | None = None
    for layer in layers(env):
        if isinstance(layer, TimeLimit):
            limit = int(layer._max_episode_steps)
            if around is None:
                return layer.env, limit
            around.env = layer.env
            return env, limit
        around = layer if isinstance(layer, Wrapper) else None
    return env, None
