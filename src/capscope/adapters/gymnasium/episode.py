"""An environment during an episode: its last step, its random generators and its history.

The history is recorded as seeds and actions: repeating them leads to the same position in any
process.

Gymnasium has one official generator, `env.np_random`, and seeds it in `reset` only. That is not
enough: a restored position needs new randomness without a reset, environments keep other generators
(in their parts too), and spaces create theirs from entropy. So all generators below an environment
are found once, after the first reset, and reseeded in place: before a reset, which may draw from a
generator that it does not seed, and after it. A generator that no attribute leads to, or that is
created later, is not found; `capscope check` reports it.
"""

import hashlib
import pickle
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium import Env

from capscope.adapters.gymnasium import object_walk
from capscope.adapters.gymnasium.object_walk import Found, Path, follow, layers
from capscope.logic import State
from capscope.seeds import child_seed

Generator: TypeAlias = np.random.Generator | np.random.RandomState | random.Random
Reseed: TypeAlias = Callable[[Env[Any, Any], int], object]
"""A user's function that seeds generators which are not found."""
_MAX_OBJECTS = 10_000


class GymnasiumObservation(NamedTuple):
    """An observation, its symbolic state, and the rest of what the last step returned."""

    observation: Any
    state: State = 0
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    mask: Any = None
    """The valid actions, if the environment reports them and `Options.action_mask` is set."""

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated


Recipe: TypeAlias = tuple[tuple[int, tuple[Any, ...]], ...]
"""How a position was reached: a reset with the first seed, actions, a reseeding, actions, …"""


class Episode:
    """An environment with its generators and its history."""

    def __init__(
        self, env: Env[Any, Any], mask: str | None = None, reseed: Reseed | None = None
    ) -> None:
        self.env = env
        self.base = layers(env)[-1]
        """The environment inside all wrappers."""
        self._mask = mask
        self._user_reseed = reseed
        env.reset(seed=0)  # much of an environment exists only after its first reset
        _create_generators(env)
        self._generator_paths = [path for path, _, _ in _generators(env)]
        self.reset(0)

    @property
    def recipe(self) -> Recipe:
        """How the current position was reached."""
        return (*self._past, (self._seed, tuple(self._actions)))

    def reset(self, seed: int) -> None:
        """Start a new episode."""
        self.reseed_generators(seed)
        # Some environments hand their seed to libraries that take 31 bits.
        observation, info = self.env.reset(seed=seed % 2**31)
        self.reseed_generators(child_seed(seed, 1))
        self.last = GymnasiumObservation(observation, mask=self._valid(info))
        self._past: Recipe = ()
        self._seed, self._actions = seed, list[Any]()

    def step(self, action: Any) -> None:
        """Take an action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        rest = float(reward), bool(terminated), bool(truncated), self._valid(info)
        self.last = GymnasiumObservation(observation, 0, *rest)
        self._actions.append(action)

    def reseed(self, seed: int) -> None:
        """Seed all later randomness, and record the seed in the history."""
        self.reseed_generators(seed)
        # A seed that no action followed has not affected anything, except the seed of a reset.
        if self._actions or not self._past:
            self._past = self.recipe
        self._seed, self._actions = seed, []

    def continue_from(self, env: Env[Any, Any], last: GymnasiumObservation, recipe: Recipe) -> None:
        """Continue with another environment, or with this one after its position was set."""
        self.env, self.base, self.last = env, layers(env)[-1], last
        *past, (self._seed, actions) = recipe
        self._past, self._actions = tuple(past), list(actions)

    def replay(self, recipe: Recipe) -> None:
        """Repeat a recipe from its reset on."""
        (seed, actions), *later = recipe
        self.reset(seed)
        for action in actions:
            self.step(action)
        self.extend(later)

    def extend(self, later: Iterable[tuple[int, tuple[Any, ...]]]) -> None:
        """Repeat the rest of a recipe."""
        for seed, actions in later:
            self.reseed(seed)
            for action in actions:
                self.step(action)

    def reseed_generators(self, seed: int) -> None:
        """Give each generator a stream of its own, derived from the seed."""
        for number, path in enumerate(self._generator_paths):
            generator = follow(self.env, path)
            if isinstance(generator, object_walk.GENERATORS):
                _reseed(generator, child_seed(seed, number))
        if self._user_reseed is not None:
            self._user_reseed(self.base, seed)

    def _valid(self, info: dict[str, Any]) -> Any:
        return info.get(self._mask) if self._mask else None


def generator_states(env: Env[Any, Any]) -> Mapping[str, str]:
    """Return a digest of each generator's state, by the generator's path; searches again."""
    return {
        _name_in_layer(env, path, text): _digest(generator)
        for path, text, generator in _generators(env)
    }


def _create_generators(env: Env[Any, Any]) -> None:
    """Make the environment and its spaces create the generators they create on first use."""
    _ = env.unwrapped.np_random
    for layer in layers(env):
        for space in (layer.action_space, layer.observation_space):
            space.seed(0)


def _generators(env: Env[Any, Any]) -> list[Found]:
    """Find each generator below an environment once."""
    found: dict[int, Found] = {}
    for part in object_walk.walk(env, "", _collect_generator, max_objects=_MAX_OBJECTS):
        if isinstance(part[2], object_walk.GENERATORS):
            found.setdefault(id(part[2]), part)
    return list(found.values())


def _collect_generator(value: Any) -> Any:
    if isinstance(value, object_walk.GENERATORS):
        return value
    is_leaf = isinstance(value, (*object_walk.CODE, *object_walk.DATA))
    return object_walk.SKIP if is_leaf or object_walk.is_table(value) else object_walk.ENTER


def _name_in_layer(env: Env[Any, Any], path: Path, text: str) -> str:
    depth = 0
    while path[depth] == (False, "env"):
        depth += 1
    return type(follow(env, path[:depth])).__name__ + text.removeprefix(".env" * depth)


def _reseed(generator: Generator, seed: int) -> None:
    if isinstance(generator, random.Random):
        generator.seed(seed)
    elif isinstance(generator, np.random.RandomState):
        generator.seed(seed % 2**32)
    elif isinstance(generator.bit_generator, np.random.PCG64):
        # Gymnasium's own kind, reseeded for every draw. This is twenty times as fast as a
        # SeedSequence: any 128 bits are a valid state, and any odd ones a valid stream.
        words = [child_seed(seed, number) for number in range(4)]
        generator.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": words[0] << 64 | words[1], "inc": words[2] << 64 | words[3] | 1},
            "has_uint32": 0,
            "uinteger": 0,
        }
    else:
        bits: Any = generator.bit_generator
        bits.state = type(bits)(seed).state


def _digest(generator: Generator) -> str:
    if isinstance(generator, random.Random):
        state: Any = generator.getstate()
    elif isinstance(generator, np.random.RandomState):
        state = generator.get_state(legacy=False)
    else:
        state = generator.bit_generator.state
    return hashlib.sha256(pickle.dumps(state)).hexdigest()[:8]
