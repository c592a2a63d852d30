"""Three ways back to a position, one of which a user declares.

- **replay** does again what led there: a reset by its seed, the actions, and the reseedings in
  between. It asks nothing of an environment but that its chance comes from generators that can be
  reseeded, and it takes as long as the way there was.
- **native** asks the environment for its state and hands it back, by its `get_state` and
  `set_state` or by two functions of the user's. It is the fastest, and the one that forgets things:
  whatever the two leave out stays as it was. Wrappers are taken care of.
- **copy** is a replay that remembers: environments that were restored once are kept as deep copies,
  and what leads on from one of them is replayed from there. A copy lives in the memory of one
  process and a snapshot must not, so the snapshot is the same recipe as for replay; another process
  carries it out from its beginning. It pays where a step costs more than a copy.

After each of them everything random is reseeded, or every draw would be a copy of the first.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from gymnasium import Env

from capscope.environments.gymnasium.episode import Episode, Recipe, Segment, Told
from capscope.environments.gymnasium.layers import give_back, kept_by_wrappers
from capscope.errors import ProblemError
from capscope.world import Snapshot, plain

_RECIPE, _STATE = b"recipe ", b"state "


class Restoring(Protocol):
    """A way to write a position down and to go back to it."""

    unimportant: Sequence[str]
    """Attributes that need not be as they were and that no position is told by."""
    remedy: str
    """What to do if it does not lead back."""

    def written(self, episode: Episode) -> Snapshot:
        """Describe the present position."""

    def restore(self, episode: Episode, snapshot: Snapshot) -> None:
        """Go back to a position, with whatever chance it had."""


class Replay:
    """Go back by doing again what led there.

    `ignore` names attributes that do not matter: positions that differ in them alone are one.
    """

    remedy = (
        "replaying needs the same seed and actions to lead to the same position: let all chance "
        "come from self.np_random and let reset() set everything that changes, or declare "
        'restore="native"'
    )

    def __init__(self, ignore: Sequence[str] = ()) -> None:
        self.unimportant: Sequence[str] = tuple(ignore)

    def written(self, episode: Episode) -> Snapshot:
        """Write down the seeds and actions since the reset."""
        return _RECIPE + plain.to_bytes([[s.seed, *s.actions] for s in episode.recipe])

    def restore(self, episode: Episode, snapshot: Snapshot) -> None:
        """Reset by the first seed and take the actions again."""
        episode.carry_out(_recipe(snapshot))


class Native:
    """Go back by what the environment itself hands out: `get(env)`, and `put(env, state)` later.

    Both are given the environment inside all wrappers. The state is plain: numbers, text, arrays,
    and containers of them. `ignore` names attributes that need not be as they were, like one that
    is there for drawing only; positions that differ in them alone are one.
    """

    remedy = (
        "get_state() and set_state(), or Native(get, put), must cover everything that changes in "
        'an episode; what does not matter can be named: Native(get, put, ignore=["..."])'
    )

    def __init__(
        self,
        get: Callable[[Any], Any] | None = None,
        put: Callable[[Any, Any], object] | None = None,
        ignore: Sequence[str] = (),
    ) -> None:
        if (get is None) is not (put is None):
            raise ProblemError("Native needs both get and put, or neither for the environment's")
        self._get = get or (lambda env: _method(env, "get_state")())
        self._put = put or (lambda env, state: _method(env, "set_state")(state))
        self.unimportant: Sequence[str] = tuple(ignore)

    @classmethod
    def of(cls, *attributes: str, ignore: Sequence[str] = ()) -> Native:
        """Go back by a few attributes of the environment that are its whole state."""

        def get(env: Any) -> dict[str, Any]:
            return {name: getattr(env, name) for name in attributes}

        def put(env: Any, state: dict[str, Any]) -> None:
            for name, value in state.items():
                setattr(env, name, value)

        return cls(get, put, ignore)

    def written(self, episode: Episode) -> Snapshot:
        """Write down the environment's state, what its wrappers hold, and what was told last."""
        state = self._get(episode.base)
        try:
            kept = [
                [([tuple(step) for step in path], value) for path, value in values]
                for values in kept_by_wrappers(episode.env)
            ]
            return _STATE + plain.to_bytes([state, kept, *episode.told])
        except plain.NotPlain as error:
            raise ProblemError(
                f"the state or the observation holds a {error}, which cannot be written as bytes; "
                "a state is made of numbers, text, arrays, and lists, tuples or dicts of them"
            ) from error

    def restore(self, episode: Episode, snapshot: Snapshot) -> None:
        """Hand the state back to the environment, and to the wrappers what they held."""
        state, kept, *told = plain.from_bytes(_content(snapshot, _STATE))
        self._put(episode.base, state)
        give_back(episode.env, kept)
        # The past of such a position is of no use to anybody.
        episode.stand_at(episode.env, Told(*told), (Segment(0, ()),))


class Copy(Replay):
    """Replay, with deep copies of up to `keep` restored environments to start from."""

    remedy = (
        "what is copied was replayed once, so reset() must set everything that changes; and "
        "copy.deepcopy must reach all of it, generators included. Or declare "
        'restore="native"'
    )

    def __init__(self, keep: int = 256, ignore: Sequence[str] = ()) -> None:
        super().__init__(ignore)
        self._keep = keep
        self._copies: OrderedDict[Snapshot, tuple[Env[Any, Any], Told]] = OrderedDict()

    def restore(self, episode: Episode, snapshot: Snapshot) -> None:
        """Go on from the copy nearest to the position, and keep a copy of that too."""
        recipe = _recipe(snapshot)
        known = next((k for k in range(len(recipe), 0, -1) if _key(recipe[:k]) in self._copies), 0)
        if known:
            key = _key(recipe[:known])
            env, told = self._copies[key]
            self._copies.move_to_end(key)
            episode.stand_at(_copied(env), copy.deepcopy(told), recipe[:known])
            episode.go_on(recipe[known:])
        else:
            episode.carry_out(recipe)
        if known < len(recipe):
            self._copies[_key(recipe)] = _copied(episode.env), copy.deepcopy(episode.told)
            if len(self._copies) > self._keep:
                self._copies.popitem(last=False)


def _key(recipe: Recipe) -> bytes:
    return plain.to_bytes([[segment.seed, *segment.actions] for segment in recipe])


def _recipe(snapshot: Snapshot) -> Recipe:
    parts = plain.from_bytes(_content(snapshot, _RECIPE))
    return tuple(Segment(seed, tuple(actions)) for seed, *actions in parts)


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
