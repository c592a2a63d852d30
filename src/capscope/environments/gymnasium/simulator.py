"""A Gymnasium environment as a world that can be put back into any position it was in before."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeAlias

import gymnasium
from gymnasium import Env

from capscope.environments.gymnasium.actions import Actions
from capscope.environments.gymnasium.episode import Episode, Reseed
from capscope.environments.gymnasium.generators import generator_states
from capscope.environments.gymnasium.landmarks import Landmarks
from capscope.environments.gymnasium.layers import (
    attributes,
    is_ignored,
    text_of,
    without_time_limit,
)
from capscope.environments.gymnasium.restoring import Copy, Replay, Restoring
from capscope.environments.gymnasium.seen import Seen
from capscope.environments.picture import png
from capscope.errors import ProblemError
from capscope.symbolic import Atom, Vocabulary
from capscope.world import Inspection, InvalidAction, Snapshot

Make: TypeAlias = str | Callable[[], Env[Any, Any]]
"""The id of a registered environment, or a function that makes one."""
Label: TypeAlias = Callable[..., Iterable[Atom | str] | Mapping[str, Any]]
"""From an observation, the environment inside all wrappers and what a step told, to the atoms."""
_PIXELS = "rgb_array"
_EPISODE_STEPS = 50


@dataclass(frozen=True)
class Options:
    """What is seldom needed.

    A time limit is lifted unless `keep_time_limit`: it belongs to training, attempts have limits of
    their own, and with it two positions that look alike have different futures. `action_mask` names
    the entry of `info` that says which actions are valid, as Taxi's `"action_mask"` does; by
    default all are. `samples` actions stand for a space that cannot be listed. `reseed` is given
    the environment inside all wrappers and a seed, and seeds what is not found by itself.
    """

    keep_time_limit: bool = False
    action_mask: str | None = None
    samples: int = 16
    reseed: Reseed | None = None


class GymnasiumSimulator:
    """Steps an environment; what is seen is a `Seen`, actions are those of its action space."""

    picture: Callable[[Snapshot], bytes]
    """Draws a position as a PNG; only there for an environment that was made to draw itself."""

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
        self._episode, self._lifted = self._begun()
        self._actions = Actions(self.env.action_space, self._options.samples)
        self._set_by_reset: frozenset[str] | None = None
        if self.env.render_mode == _PIXELS:
            self.picture = Sketchbook(lambda: self._begun()[0], restoring).picture

    @property
    def env(self) -> Env[Any, Any]:
        """The environment with its wrappers; another one after each restore of a copy."""
        return self._episode.env

    def _begun(self) -> tuple[Episode, int | None]:
        """Return a new environment in its first episode, and the time limit lifted from it."""
        env, lifted = made(self._make), None
        if not self._options.keep_time_limit:
            env, lifted = without_time_limit(env)
        return Episode(env, self._options.action_mask, self._options.reseed), lifted

    def reset(self, seed: int) -> Seen:
        """Begin a new episode."""
        self._episode.reset(seed)
        return self._seen()

    def actions(self) -> Sequence[Any]:
        """List the actions; none after the end of the episode."""
        told = self._episode.told
        return () if told.over else self._actions.valid(told.mask)

    def step(self, action: Any) -> Seen:
        """Take an action; one that the space does not contain, or the mask forbids, is refused."""
        told = self._episode.told
        if told.over:
            raise InvalidAction("the episode is over; nothing can be done any more")
        self._episode.step(self._actions.admit(action, told.mask))
        return self._seen()

    def snapshot(self) -> Snapshot:
        """Record the position in the way that was declared to restore it."""
        return self._restoring.written(self._episode)

    def position_name(self) -> bytes | None:
        """Identify the position, however it was reached; None if that is not possible."""
        description = self._landmarks.description(self._episode)
        return None if description is None else blake2b(description, digest_size=16).digest()

    def restore(self, snapshot: Snapshot, seed: int) -> Seen:
        """Go back to a position and reseed every generator."""
        self._restoring.restore(self._episode, snapshot)
        self._episode.reseed(seed)
        return self._seen()

    def _seen(self) -> Seen:
        told = self._episode.told
        atoms = self._label(told.observation, self._episode.base, told)
        return Seen(told.observation, self._vocabulary.state(atoms), *told[1:])

    def told(self) -> Mapping[str, str]:
        """Say what the last step told."""
        names = ("the observation", "the reward", "terminated", "truncated", "the action mask")
        return dict(zip(names, map(text_of, self._episode.told), strict=True))

    def inspect(self) -> Inspection:
        """Name the attributes of all layers and the states of all generators.

        Those attributes that a reset sets belong to the position. Others outlast episodes, like
        the number of episodes so far, or are no affair of anybody's, like the time of day.
        """
        if self._set_by_reset is None:
            self._set_by_reset = self._attributes_set_by_reset()
        found = attributes(self.env)
        important = self._set_by_reset.difference(
            name
            for name in found
            if is_ignored(name.partition(".")[2], self._restoring.unimportant)
        )
        return Inspection(
            {name: text for name, text in found.items() if name in important},
            {name: text for name, text in found.items() if name not in important},
            generator_states(self.env),
        )

    def _attributes_set_by_reset(self) -> frozenset[str]:
        """Find the attributes that are the same after each reset by one seed, whatever was."""
        episode, _ = self._begun()
        episode.reset(0)
        before = attributes(episode.env)
        rng = random.Random(0)
        for _ in range(_EPISODE_STEPS):
            if not self._step_at_random(episode, rng):
                break
        episode.reset(0)
        after = attributes(episode.env)
        episode.env.close()
        return frozenset(name for name, text in after.items() if before.get(name, text) == text)

    def _step_at_random(self, episode: Episode, rng: random.Random) -> bool:
        """Take a random step, and say whether there was one to take."""
        valid = () if episode.told.over else self._actions.valid(episode.told.mask)
        if valid:
            episode.step(self._actions.admit(rng.choice(valid)))
        return bool(valid)

    @cached_property
    def _landmarks(self) -> Landmarks:
        """What positions are told by; finding it out takes another environment."""
        ignored = self._restoring.unimportant
        return Landmarks(lambda: self._begun()[0], self._step_at_random, ignored)

    def remedy(self, of_chance: bool) -> str:
        """Say what to change if a restore does not restore, or does not reseed."""
        if not of_chance:
            return self._restoring.remedy
        return (
            "draw all chance from self.np_random, which is reseeded as are all generators that are "
            "there after a reset, or reseed what is left with "
            "Options(reseed=lambda env, seed: ...)"
        )

    def notes(self) -> Sequence[str]:
        """Say what was done to the environment without being asked."""
        notes = []
        if self._lifted is not None:
            notes.append(
                f"the time limit of {self._lifted} steps was lifted; an attempt ends after "
                "limits.horizon steps. Options(keep_time_limit=True) keeps it"
            )
        if self._actions.sampled:
            notes.append(
                f"random walks take one of {len(self._actions.listed)} actions drawn from "
                f"{self._actions.space}; the policy may take any. Options(samples=...) sets "
                "how many"
            )
        if self._landmarks.unseen:
            notes.append(
                f"{self._landmarks.unseen} cannot be looked into, so positions have no names: "
                "`capscope diff` cannot tell whether two runs asked in the same one. If it does "
                'not matter, restore=Replay(ignore=["..."]) leaves it out'
            )
        return notes


class Sketchbook:
    """Draws positions by an environment of its own.

    What is needed for drawing can often not be copied, and so the run is not disturbed.
    """

    def __init__(self, begun: Callable[[], Episode], restoring: Restoring) -> None:
        self._begun = begun
        self._restoring = Replay() if isinstance(restoring, Copy) else restoring
        self._episode: Episode | None = None

    def picture(self, snapshot: Snapshot) -> bytes:
        """Draw a position and return the PNG."""
        if self._episode is None:
            self._episode = self._begun()
        self._restoring.restore(self._episode, snapshot)
        pixels: Any = self._episode.env.render()
        return png(pixels)


def made(make: Make) -> Env[Any, Any]:
    """Make an environment, or say what was given instead of a way to make one."""
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
            f"make() returned a {type(env).__module__}.{type(env).__name__}, which is no "
            "gymnasium.Env; vector environments and those of the old gym package are not taken"
        )
    return env
