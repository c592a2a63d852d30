"""Three ways to go back to a position; the user declares one of them.

- **replay** repeats what led there: the reset with its seed, the actions, and the reseedings in
  between. It requires that all randomness can be reseeded, and takes as long as the episode did.
- **native** gets the environment's state and sets it later. It is the fastest, and the easiest to
  get wrong: whatever the user's two functions leave out stays as it was.
- **copy** is a replay from the nearest of the environments that are kept as deep copies. Its
  snapshots are recipes too, so another process replays them. It pays if steps cost more than
  copies.

After each of them all generators are reseeded; otherwise every draw would repeat the first one.
"""

from __future__ import annotations

import copy
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Env, Space
from gymnasium.wrappers import PassiveEnvChecker

from capscope.adapters.gymnasium import object_walk
from capscope.adapters.gymnasium.episode import Episode, GymnasiumObservation, Recipe
from capscope.adapters.gymnasium.object_walk import Found, layers
from capscope.errors import ProblemError
from capscope.problem import Snapshot, plain_values

_RECIPE, _STATE = b"recipe ", b"state "
# Spaces do not change, and their generators are reseeded.
_NOT_ENTERED = (*object_walk.CODE, *object_walk.DATA, *object_walk.GENERATORS, Space)
_MAX_OBJECTS = 2_000
_SHORT_ARRAY, _SHORT_TEXT = 6, 40


class Replay:
    """Go back by repeating what led there.

    `ignore` names attributes that do not matter: positions that differ only in them are equal.
    """

    remedy = (
        "replaying needs the same seed and actions to lead to the same position: draw all "
        "randomness from self.np_random and let reset() set everything that changes, or declare "
        'restore="native"'
    )

    def __init__(self, ignore: Sequence[str] = ()) -> None:
        self.ignored: Sequence[str] = tuple(ignore)

    def describe(self, episode: Episode) -> Snapshot:
        """Describe the position by the seeds and actions since the reset."""
        return _RECIPE + _bytes_of(episode.recipe)

    def restore(self, episode: Episode, snapshot: Snapshot) -> None:
        """Reset with the first seed and take the actions again."""
        episode.replay(_recipe(snapshot))


class Native:
    """Go back by the environment's own state: `get(env)`, and later `put(env, state)`.

    Both receive the environment inside all wrappers; what wrappers hold is restored automatically.
    The state consists of numbers, text, arrays, and containers of them. `ignore` names attributes
    that need not be restored: positions that differ only in them are equal.
    """

    remedy = (
        "get_state() and set_state(), or Native(get, put), must cover everything that changes in "
        'an episode; name what does not matter: Native(get, put, ignore=["..."])'
    )

    def __init__(
        self,
        get: Callable[[Any], Any] | None = None,
        put: Callable[[Any, Any], object] | None = None,
        ignore: Sequence[str] = (),
    ) -> None:
        if (get is None) is not (put is None):
            raise ProblemError("Native needs both get and put, or neither")
        self._get = get or (lambda env: _method(env, "get_state")())
        self._put = put or (lambda env, state: _method(env, "set_state")(state))
        self.ignored: Sequence[str] = tuple(ignore)

    @classmethod
    def of(cls, *attributes: str, ignore: Sequence[str] = ()) -> Native:
        """Go back by a few attributes that are the whole state of the environment."""

        def get(env: Any) -> dict[str, Any]:
            return {name: getattr(env, name) for name in attributes}

        def put(env: Any, state: dict[str, Any]) -> None:
            for name, value in state.items():
                setattr(env, name, value)

        return cls(get, put, ignore)

    def describe(self, episode: Episode) -> Snapshot:
        """Describe the position by the environment's state, its wrappers and its last step."""
        state = self._get(episode.base)
        held = [
            [(path, value) for path, _, value in held_values(wrapper)]
            for wrapper in layers(episode.env)[:-1]
        ]
        try:
            return _STATE + plain_values.to_bytes([state, held, *episode.last])
        except plain_values.NotPlain as error:
            raise ProblemError(
                f"the state or the observation holds a {error}, which cannot be saved; use "
                "numbers, text, arrays, and lists, tuples or dicts of them"
            ) from error

    def restore(self, episode: Episode, snapshot: Snapshot) -> None:
        """Set the environment's state and the values that the wrappers held."""
        state, held, *last = plain_values.from_bytes(_content(snapshot, _STATE))
        self._put(episode.base, state)
        for wrapper, values in zip(layers(episode.env)[:-1], held, strict=True):
            for path, value in values:
                object_walk.put(wrapper, path, value)
        # How such a position was reached is never needed.
        episode.continue_from(episode.env, GymnasiumObservation(*last), ((0, ()),))


class Copy(Replay):
    """Replay, with deep copies of up to `keep` restored environments to start from."""

    remedy = (
        "a position is replayed before it is copied, so reset() must set everything that changes; "
        "and copy.deepcopy must copy all of it, generators included. Or declare "
        'restore="native"'
    )

    def __init__(self, keep: int = 256, ignore: Sequence[str] = ()) -> None:
        super().__init__(ignore)
        self._keep = keep
        self._copies: OrderedDict[bytes, tuple[Env[Any, Any], GymnasiumObservation]] = OrderedDict()

    def restore(self, episode: Episode, snapshot: Snapshot) -> None:
        """Replay from the nearest copy, and keep a copy of the position."""
        recipe = _recipe(snapshot)
        lengths = range(len(recipe), 0, -1)
        known = next((k for k in lengths if _bytes_of(recipe[:k]) in self._copies), 0)
        if known:
            key = _bytes_of(recipe[:known])
            env, last = self._copies[key]
            self._copies.move_to_end(key)
            episode.continue_from(_copied(env), copy.deepcopy(last), recipe[:known])
            episode.extend(recipe[known:])
        else:
            episode.replay(recipe)
        if known < len(recipe):
            self._copies[_bytes_of(recipe)] = _copied(episode.env), copy.deepcopy(episode.last)
            if len(self._copies) > self._keep:
                self._copies.popitem(last=False)


Restoring: TypeAlias = Replay | Native


def held_values(layer: Env[Any, Any]) -> list[Found]:
    """Find the plain values below a wrapper or environment, except large tables.

    A container that is plain as a whole is one value, so that its length can be restored too.
    """
    if isinstance(layer, PassiveEnvChecker):
        return []  # it only records which checks were made

    def parts(thing: Any) -> object_walk.Parts:
        own = object_walk.children(thing)
        if thing is not layer:
            return own
        return (part for part in own if part[0][1] not in object_walk.LAYER_FRAME)

    name = type(layer).__name__
    found = object_walk.walk(layer, name, _collect_plain, parts=parts, max_objects=_MAX_OBJECTS)
    return [part for part in found if not isinstance(part[2], type | object_walk.Again)]


def _collect_plain(value: Any) -> Any:
    if object_walk.is_table(value):
        return object_walk.SKIP
    try:
        plain_values.to_bytes(value)
    except plain_values.NotPlain:
        return object_walk.SKIP if isinstance(value, _NOT_ENTERED) else object_walk.ENTER
    return value


def attributes(env: Env[Any, Any]) -> Mapping[str, str]:
    """Return the plain values in all layers as text, by names like `TimeLimit._elapsed_steps`."""
    return {text: text_of(value) for layer in layers(env) for _, text, value in held_values(layer)}


def text_of(value: Any) -> str:
    """Return a short value as it is, and a long one shortened, with a digest."""
    if isinstance(value, np.ndarray) and value.size > _SHORT_ARRAY:
        return f"an array {value.shape} ({_digest(plain_values.to_bytes(value))})"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _SHORT_TEXT else f"{text[:30]}… ({_digest(text.encode())})"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:8]


def _bytes_of(recipe: Recipe) -> bytes:
    return plain_values.to_bytes([[seed, *actions] for seed, actions in recipe])


def _recipe(snapshot: Snapshot) -> Recipe:
    parts = plain_values.from_bytes(_content(snapshot, _RECIPE))
    return tuple((seed, tuple(actions)) for seed, *actions in parts)


def _content(snapshot: Snapshot, kind: bytes) -> bytes:
    if not snapshot.startswith(kind):
        raise ProblemError(
            f"a snapshot does not hold a {kind.decode().strip()}; was `restore` changed since it "
            "was taken? Start a new run"
        )
    return snapshot[len(kind) :]


def _copied(env: Env[Any, Any]) -> Env[Any, Any]:
    try:
        return copy.deepcopy(env)
    except Exception as error:
        raise ProblemError(
            f"the environment cannot be copied ({type(error).__name__}: {error}); declare "
            'restore="replay" or restore="native" instead'
        ) from error


def _method(env: Any, name: str) -> Callable[..., Any]:
    method: Callable[..., Any] | None = getattr(env, name, None)
    if method is None:
        raise ProblemError(
            f'restore="native" needs {type(env).__name__} to have get_state() and set_state(); '
            "without them give two functions, restore=Native(get, put), or name the attributes "
            'that are its state, restore=Native.of("..."); or declare restore="replay"'
        )
    return method
