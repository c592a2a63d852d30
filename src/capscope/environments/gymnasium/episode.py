"""An environment in the middle of an episode: what it told last, and how it came to be there.

The past of an episode is written down as it happens, as seeds and actions. The first seed went to
`reset`; each later one reseeded every generator at a restore. Carrying out the same again leads to
the same position, chance included, in any process: that is what a `Recipe` is. How the seed reaches
the generators matters. They are reseeded before a reset, for those from which a reset draws without
seeding them, and after it, for those that it does not touch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from gymnasium import Env

from capscope.environments.gymnasium.generators import Generators
from capscope.environments.gymnasium.layers import layers
from capscope.seeds import child_seed

Reseed: TypeAlias = Callable[[Env[Any, Any], int], object]
"""The user's own: seeds what is not found by itself."""


class Told(NamedTuple):
    """What a reset or a step told."""

    observation: Any
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    mask: Any = None
    """Which actions are valid, where the environment says so and this was asked for."""

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated


class Segment(NamedTuple):
    """A seed and the actions that were taken after it."""

    seed: int
    actions: tuple[Any, ...]


Recipe: TypeAlias = tuple[Segment, ...]
"""How a position came to be: a reset by the first seed, then actions, a reseeding, actions, …"""


class Episode:
    """An environment with its generators and its past."""

    def __init__(
        self, env: Env[Any, Any], mask: str | None = None, reseed: Reseed | None = None
    ) -> None:
        self.env = env
        self.base = layers(env)[-1]
        """The environment inside all wrappers."""
        self._mask = mask
        self._own_reseed = reseed
        env.reset(seed=0)  # much of an environment is only there after its first reset
        self._generators = Generators(env)
        self.told = Told(None)
        self._past: list[Segment] = []
        self._seed = 0
        self._actions: list[Any] = []
        self.reset(0)

    @property
    def recipe(self) -> Recipe:
        """How the present position came to be."""
        return (*self._past, Segment(self._seed, tuple(self._actions)))

    def reset(self, seed: int) -> None:
        """Begin an episode anew."""
        self.reseed_generators(seed)
        # Some environments hand their seed to libraries that take 31 bits.
        observation, info = self.env.reset(seed=seed % 2**31)
        self.reseed_generators(child_seed(seed, 1))
        self.told = Told(observation, mask=self._valid(info))
        self._past, self._seed, self._actions = [], seed, []

    def step(self, action: Any) -> None:
        """Take an action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        mask = self._valid(info) if self._mask else None
        self.told = Told(observation, float(reward), bool(terminated), bool(truncated), mask)
        self._actions.append(action)

    def reseed(self, seed: int) -> None:
        """Draw all later chance from a seed, and note that from here on it is."""
        self.reseed_generators(seed)
        # A seed after which nothing was done has no part in what came to be; a reset's has.
        if self._actions or not self._past:
            self._past = [*self._past, Segment(self._seed, tuple(self._actions))]
        self._seed, self._actions = seed, []

    def stand_at(self, env: Env[Any, Any], told: Told, recipe: Recipe) -> None:
        """Go on with another environment, or with the same one after it was put elsewhere."""
        self.env, self.base, self.told = env, layers(env)[-1], told
        *self._past, (self._seed, actions) = recipe
        self._actions = list(actions)

    def carry_out(self, recipe: Recipe) -> None:
        """Do what a recipe says from its reset on."""
        first, *later = recipe
        self.reset(first.seed)
        self._take(first.actions)
        self.go_on(tuple(later))

    def go_on(self, segments: Recipe) -> None:
        """Do what further segments of a recipe say."""
        for segment in segments:
            self.reseed(segment.seed)
            self._take(segment.actions)

    def _take(self, actions: tuple[Any, ...]) -> None:
        for action in actions:
            self.step(action)

    def reseed_generators(self, seed: int) -> None:
        """Draw all later chance from a seed."""
        self._generators.reseed(self.env, seed)
        if self._own_reseed is not None:
            self._own_reseed(self.base, seed)

    def _valid(self, info: dict[str, Any]) -> Any:
        return info.get(self._mask) if self._mask else None
