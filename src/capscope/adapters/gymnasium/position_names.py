"""Describe a position of an environment, so that equal positions have equal descriptions.

Two visits were to the same position if the last observation, whether the episode has ended, and all
values that the environment and its wrappers hold are equal. Excluded are generators, which a
restore reseeds; values that survive a reset; the last reward; attributes that the user declares
irrelevant; and tables of more than 200 values that did not change in a few random episodes of
another environment. Values that no attribute leads to are missed. An environment with an object
that cannot be examined gets no descriptions.

Values are compared by content, across processes: containers and objects are walked down to numbers,
text and arrays. Equal numbers are equal whatever their type.
"""

import copyreg
import hashlib
import random
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from gymnasium import Env, Space, wrappers
from gymnasium.envs.registration import EnvSpec

from capscope.adapters.gymnasium import object_walk
from capscope.adapters.gymnasium.episode import Episode
from capscope.adapters.gymnasium.object_walk import Step, UnreadableValueError, is_below, layers

Leaves: TypeAlias = dict[str, Any]
"""Parts of a value in a canonical form, by paths like `wind.blows` and `dice[0]`."""
LayerLeaves: TypeAlias = dict[tuple[int, str], Any]
"""The same for all layers; the innermost is number 0, so that a wrapper changes no number."""
TakeStep: TypeAlias = Callable[[Episode, random.Random], bool]
"""Takes a random step and returns whether there was one to take."""
T = TypeVar("T")

_SIMPLE = frozenset({int, float, bool, str, bytes, type(None)})
_ARRAYS = (np.ndarray, np.generic)
_RANDOMNESS = (*object_walk.GENERATORS, np.random.BitGenerator, np.random.SeedSequence)
_FIXED = (Space, EnvSpec, *object_walk.CODE)
# They are there for rendering, for threads and for logging.
_IRRELEVANT_PACKAGES = ("pygame", "_thread", "threading", "logging")
_PICKLE_METHODS = ("__reduce_ex__", "__reduce__", "__getstate__")
_MAX_LEAVES = 200_000
_MAX_DEPTH = 300

# Wrappers that only observe: nothing that happens depends on what they hold.
_OBSERVING_WRAPPERS = (
    wrappers.HumanRendering,
    wrappers.PassiveEnvChecker,
    wrappers.RecordEpisodeStatistics,
    wrappers.RecordVideo,
    wrappers.RenderCollection,
)
# Attributes that Gymnasium's own environments use for rendering only.
_RENDERING_MODULES = "gymnasium.envs.toy_text."
_RENDERING = ["lastaction", "taxi_orientation", "dealer_top_card_suit", "dealer_top_card_value_str"]
_EPISODES, _STEPS = 4, 20
_LARGE = 200


def observe(
    begin: Callable[[], Episode], take_step: TakeStep, look: Callable[[Env[Any, Any]], T]
) -> tuple[T, list[T], T]:
    """Look at another environment after a reset, after random episodes, and the same reset."""
    episode = begin()
    try:
        episode.reset(0)
        first, later, rng = look(episode.env), [], random.Random(0)
        for seed in range(_EPISODES):
            episode.reset(seed)
            with suppress(Exception):  # if it matters, the run will meet it too
                any(not take_step(episode, rng) for _ in range(_STEPS))
            later.append(look(episode.env))
        episode.reset(0)
        return first, later, look(episode.env)
    finally:
        episode.env.close()


class PositionNamer:
    """Describes positions of environments that are made the same way."""

    def __init__(
        self, begin: Callable[[], Episode], take_step: TakeStep, ignored: Collection[str] = ()
    ) -> None:
        """Observe in a separate environment which values vary."""
        self._ignored = ignored
        self._constant: set[tuple[int, str]] = set()
        self._surviving: set[tuple[int, str]] = set()
        self.unreadable = ""
        """What cannot be examined, if anything: then no position is described."""
        try:
            first, later, again = observe(begin, take_step, self._leaves)
        except UnreadableValueError as error:
            self.unreadable = str(error)
        except Exception as error:  # some programs can run only once
            self.unreadable = f"a second environment ({type(error).__name__}: {error})"
        else:
            self._surviving = _differing(first, again)
            varying = {_attribute(at) for seen in later for at in _differing(first, seen)}
            sizes: Counter[tuple[int, str]] = Counter()
            for at, leaf in first.items():
                sizes[_attribute(at)] += len(leaf) if isinstance(leaf, tuple) else 1
            self._constant = {at for at, size in sizes.items() if size > _LARGE} - varying

    def description(self, episode: Episode) -> bytes | None:
        """Describe the current position in bytes; None if that is not possible."""
        if self.unreadable:
            return None
        last = episode.last
        try:
            seen = leaves_of([last.observation, last.mask], "seen")
            held = self._leaves(episode.env)
        except UnreadableValueError:
            return None
        # Sorted, because attributes may have been created in any order.
        parts = last.terminated, last.truncated, sorted(seen.items()), sorted(held.items())
        return repr(parts).encode()

    def _leaves(self, env: Env[Any, Any]) -> LayerLeaves:
        """Return the values of all layers that distinguish positions."""
        around = layers(env)[::-1]
        return {
            (number, path): leaf
            for number, layer in enumerate(around)
            for name, value in vars(layer).items()
            if (number, name) not in self._constant and not is_below(name, self._ignored)
            if not _is_irrelevant(layer.__class__, name)
            for path, leaf in leaves_of(value, name, around).items()
            if (number, path) not in self._surviving and not is_below(path, self._ignored)
        }


def _differing(first: LayerLeaves, now: LayerLeaves) -> set[tuple[int, str]]:
    return {at for at in now.keys() | first if now.get(at) != first.get(at)}


def _attribute(at: tuple[int, str]) -> tuple[int, str]:
    return at[0], at[1].partition(".")[0].partition("[")[0]


def _is_irrelevant(layer: type, name: str) -> bool:
    if name in object_walk.LAYER_FRAME or issubclass(layer, _OBSERVING_WRAPPERS):
        return True
    return name in _RENDERING and layer.__module__.startswith(_RENDERING_MODULES)


def leaves_of(value: Any, path: str, around: Sequence[Any] = ()) -> Leaves:
    """Return the leaves of a value: equal values have equal leaves.

    Objects `around` the value are not entered. Raises `UnreadableValueError` for an object that
    does not show its content, and for a value that is too large or too deep.

    >>> leaves_of({"a": [1, 2.0], "b": ()}, "bag")
    {'bag': 'dict', "bag['a']": ('list', 1, 2), "bag['b']": ('tuple',)}
    """
    if type(value) in _SIMPLE:
        return {path: _simple(value)}
    leaves: Leaves = {}
    for steps, text, leaf in object_walk.walk(value, path, _canonical, parts=_parts, known=around):
        if len(leaves) > _MAX_LEAVES or len(steps) > _MAX_DEPTH:
            raise UnreadableValueError(text)
        leaves[text] = leaf.__qualname__ if isinstance(leaf, type) else leaf
    return leaves


def _canonical(value: Any) -> Any:
    """Return the canonical form of a value that is a leaf, `SKIP`, or `ENTER`."""
    kind = type(value)
    if kind in _SIMPLE:
        return _simple(value)
    if isinstance(value, list | tuple | deque):
        plain = all(type(item) in _SIMPLE for item in value)
        return (kind.__name__, *map(_simple, value)) if plain else object_walk.ENTER
    if isinstance(value, set | frozenset):  # sets have no order
        return (kind.__name__, *sorted(repr(leaves_of(item, "")) for item in value))
    if isinstance(value, dict):
        return object_walk.ENTER
    if isinstance(value, _RANDOMNESS):
        return object_walk.SKIP
    if isinstance(value, _FIXED) or kind.__module__.partition(".")[0] in _IRRELEVANT_PACKAGES:
        named = value if isinstance(value, (type, *object_walk.FUNCTIONS)) else kind
        return f"{named.__module__}.{named.__qualname__}"
    return _array(np.asarray(value)) if hasattr(kind, "__array__") else object_walk.ENTER


def _simple(value: Any) -> Any:
    """Return a number, a text or None so that equal ones have the same repr."""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def _array(value: np.ndarray[Any, Any]) -> Any:
    if value.dtype.hasobject:
        return object_walk.ENTER
    if not value.shape and type(value.item()) in _SIMPLE:
        return _simple(value.item())
    data = hashlib.blake2b(value.tobytes(), digest_size=32).digest()
    return value.dtype.str, value.shape, data


def _parts(value: Any) -> Iterator[tuple[Step, Any]]:
    """Yield the parts of an object; for one implemented in C, also what it would pickle."""
    if isinstance(value, _ARRAYS):
        yield (False, "shape"), value.shape
        yield from object_walk.children(value.ravel().tolist())
        return
    yield from object_walk.children(value)
    kind: Any = type(value)
    if not _attributes_are_all(kind):
        registered: Callable[[Any], Any] | None = copyreg.dispatch_table.get(kind)
        # This raises if there is more to the object than attributes, and it cannot be pickled.
        pickled = registered(value) if registered else value.__reduce_ex__(2)
        yield (False, "__reduce__"), pickled if isinstance(pickled, str) else [*pickled[1:3]]


@cache
def _attributes_are_all(kind: type) -> bool:
    """Return whether items, attributes and slots are the whole content of a class's objects."""
    if issubclass(kind, list | tuple | deque | dict):
        return True
    methods = {name: getattr(kind, name, None) for name in _PICKLE_METHODS}
    if kind in copyreg.dispatch_table or any(
        method is not getattr(object, name, None) for name, method in methods.items()
    ):
        return False
    try:
        # The class defines no way to pickle it, so this raises if it holds more.
        object.__reduce_ex__(object.__new__(kind), 2)
    except Exception:
        return False
    return True
