"""What tells one position of an environment from another.

A recipe tells how one came to a position, and every visit has another. Whether two visits were to
one position is told by what was observed last, by whether the episode has ended, and by all that
the attributes of the environment and its wrappers hold. Not by generators, which a restore reseeds;
not by what outlasts a reset, like the number of episodes so far; not by the last reward, which no
step depends on; and not by what its user declares not to matter.

Writing all of it down takes a millisecond, and a snapshot is taken after every execution. So once,
in an environment of its own, a few short random episodes are watched. What varies there is always
written down. Anything else is only if it is not as it was after the first reset: to compare a
number takes no time. A large table that did not vary is not looked at again.

**What this may miss**: a large table that changes later, but did not in the episodes watched; what
no attribute leads to, like the variables of a module or a closure. Two positions that differ in
such a thing alone have one name. An object that cannot be looked into could hold anything, so an
environment that has one gets no names. Restoring never rests on names; a comparison of two runs
does, and takes positions of one name for one.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Env, wrappers

from capscope.environments.gymnasium.episode import Episode
from capscope.environments.gymnasium.layers import FRAME, is_ignored, layers
from capscope.environments.gymnasium.leaves import (
    SIMPLE,
    Leaves,
    Unseen,
    leaves_of,
    weight,
)

TakeStep: TypeAlias = Callable[[Episode, random.Random], bool]
"""Takes a random step; says whether there was one to take."""

# They look on: nothing that happens depends on what they hold.
_ONLOOKERS = (
    wrappers.HumanRendering,
    wrappers.PassiveEnvChecker,
    wrappers.RecordEpisodeStatistics,
    wrappers.RecordVideo,
    wrappers.RenderCollection,
)
# What Gymnasium's own environments hold for drawing themselves.
_DRAWN = {
    "gymnasium.envs.toy_text.": (
        "lastaction",
        "taxi_orientation",
        "dealer_top_card_suit",
        "dealer_top_card_value_str",
    )
}
_EPISODES, _STEPS = 4, 20
_LARGE = 200
_BUILTIN = SIMPLE | {list, tuple, dict}
_GONE = ("gone",)


class Landmarks:
    """Describes positions of environments that are made alike."""

    def __init__(
        self, begin: Callable[[], Episode], take_step: TakeStep, ignored: Collection[str] = ()
    ) -> None:
        """Begin an episode in an environment of its own, and watch it."""
        self.unseen = ""
        """What cannot be looked into, if there is such a thing: then no position has a name."""
        self._layers: list[_Layer] = []
        try:
            episode = begin()
        except Exception as error:  # some programs run once only
            self.unseen = f"a second environment ({type(error).__name__}: {error})"
            return
        try:
            self._watch(episode, take_step, ignored)
        except Unseen as unseen:
            self.unseen = str(unseen)
        finally:
            episode.env.close()

    def description(self, episode: Episode) -> bytes | None:
        """Describe the present position in bytes; None if that cannot be done."""
        if self.unseen:
            return None
        told, around = episode.told, _layers(episode.env)
        try:
            found = [
                (number, path, leaf)
                for number, known in enumerate(self._layers)
                for path, leaf in known.unusual(around[number], around)
            ]
            seen = sorted(leaves_of([told.observation, told.mask], "seen").items())
        except Unseen:
            return None
        # Attributes may have come to be in any order.
        found.sort(key=lambda part: part[:2])
        return repr((told.terminated, told.truncated, seen, found)).encode()

    def _watch(self, episode: Episode, take_step: TakeStep, ignored: Collection[str]) -> None:
        episode.reset(0)
        around = _layers(episode.env)
        self._layers = [_Layer(layer, around, ignored) for layer in around]
        rng = random.Random(0)
        for seed in range(_EPISODES):
            episode.reset(seed)
            self._compare(around)
            for _ in range(_STEPS):
                if not _taken(take_step, episode, rng):
                    break
                self._compare(around)
            self._compare(around, large=True)
        episode.reset(0)
        for known, layer in zip(self._layers, around, strict=True):
            known.settle(layer, around)

    def _compare(self, around: Sequence[Env[Any, Any]], *, large: bool = False) -> None:
        for known, layer in zip(self._layers, around, strict=True):
            known.compare(layer, around, large)


def _layers(env: Env[Any, Any]) -> list[Env[Any, Any]]:
    """List the layers from the inside out, so that one more around them changes no number."""
    return layers(env)[::-1]


def _taken(take_step: TakeStep, episode: Episode, rng: random.Random) -> bool:
    try:
        return take_step(episode, rng)
    except Exception:  # if it matters, the run will come across it too
        return False


class _Layer:
    """What is known of the attributes of one layer."""

    def __init__(
        self, layer: Env[Any, Any], around: Sequence[Any], ignored: Collection[str]
    ) -> None:
        self._ignored = ignored
        self._skipped = {*FRAME, *_of_no_account(layer)}
        """Attributes that are never looked at."""
        self._outlasting: set[str] = set()
        self._varied: set[str] = set()
        """Paths; of what varies in an episode, too."""
        self._usual: dict[str, Leaves] = {}
        """What each attribute held after the first reset."""
        self._constants: dict[str, Any] = {}
        """The same of those that did not vary, for a quick look."""
        for name, value in vars(layer).items():
            if is_ignored(name, ignored):
                self._skipped.add(name)
            elif name not in self._skipped:
                self._usual[name] = self._leaves(name, value, around)
        self._large = {name for name, leaves in self._usual.items() if weight(leaves) > _LARGE}

    def _looked_at(self, layer: Env[Any, Any]) -> Iterator[tuple[str, Any]]:
        return (held for held in vars(layer).items() if held[0] not in self._skipped)

    def _leaves(self, name: str, value: Any, around: Sequence[Any]) -> Leaves:
        leaves = leaves_of(value, name, around)
        if not self._outlasting and not self._ignored:
            return leaves
        return {
            path: leaf
            for path, leaf in leaves.items()
            if path not in self._outlasting and not is_ignored(path, self._ignored)
        }

    def compare(self, layer: Env[Any, Any], around: Sequence[Any], large: bool) -> None:
        """Note what is not as it was: in the large attributes, or in the others."""
        for name, value in self._looked_at(layer):
            if (name in self._large) == large:
                now = self._leaves(name, value, around)
                self._varied |= _differing(now, self._usual.get(name, {}))

    def settle(self, layer: Env[Any, Any], around: Sequence[Any]) -> None:
        """Learn from a second reset by the first seed what a reset does not set."""
        varied = {path.partition(".")[0].partition("[")[0] for path in self._varied}
        self._skipped |= self._large - varied
        for name, value in self._looked_at(layer):
            usual = self._usual.setdefault(name, {})
            differing = _differing(self._leaves(name, value, around), usual)
            self._outlasting |= differing
            for path in differing & usual.keys():
                del usual[path]
            if name not in varied and not differing:
                self._constants[name] = _constant(value)
        self._usual = {n: leaves for n, leaves in self._usual.items() if n not in self._skipped}

    def unusual(self, layer: Env[Any, Any], around: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """Yield the leaves that vary, and those that are not as they were after the first reset."""
        skipped, constants = self._skipped, self._constants
        for name, value in vars(layer).items():
            # Nearly everything is passed over here.
            if name in skipped or (name in constants and _is(constants[name], value)):
                continue
            now, usual = self._leaves(name, value, around), self._usual.get(name, {})
            for path, leaf in now.items():
                if path in self._varied or usual.get(path, _GONE) != leaf:
                    yield path, leaf
            if usual.keys() != now.keys():
                yield from ((path, _GONE) for path in usual if path not in now)
        for name in self._usual.keys() - vars(layer).keys():
            yield from ((path, _GONE) for path in self._usual[name])


def _of_no_account(layer: Env[Any, Any]) -> Iterator[str]:
    """Yield the attributes of which it is known that nothing depends on them."""
    if isinstance(layer, _ONLOOKERS):
        yield from vars(layer)
    for home, drawn in _DRAWN.items():
        if type(layer).__module__.startswith(home):
            yield from drawn


def _constant(value: Any) -> Any:
    """Return what an attribute can be compared with at once, if there is such a thing."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype, value.shape, value.tobytes()
    return copy.deepcopy(value) if _is_builtin(value) else _GONE


def _is_builtin(value: Any) -> bool:
    if type(value) is dict:
        return all(map(_is_builtin, value)) and all(map(_is_builtin, value.values()))
    return type(value) in SIMPLE or (type(value) in (list, tuple) and all(map(_is_builtin, value)))


def _is(constant: Any, value: Any) -> bool:
    """Say whether a value is surely equal to a constant."""
    kind = type(value)
    if kind is np.ndarray:
        value = value.dtype, value.shape, value.tobytes()
    elif kind not in _BUILTIN:
        return False
    try:
        return bool(constant == value)
    except ValueError:  # an array among the items
        return False


def _differing(now: Leaves, usual: Leaves) -> set[str]:
    """Return the paths of the leaves that are not alike, or not there."""
    if now == usual:
        return set()
    return {path for path in now.keys() | usual if now.get(path, _GONE) != usual.get(path, _GONE)}
