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
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Env, Space, wrappers
from gymnasium.envs.registration import EnvSpec

from capscope.adapters.gymnasium import object_walk
from capscope.adapters.gymnasium.episode import Episode
from capscope.adapters.gymnasium.object_walk import PathStep, UnreadableValueError, is_below

Leaves: TypeAlias = dict[str, Any]
"""Parts of a value in a canonical form, by paths like `wind.blows` and `dice[0]`."""
TakeStep: TypeAlias = Callable[[Episode, random.Random], bool]
"""Takes a random step and returns whether there was one to take."""

_SIMPLE = frozenset({int, float, bool, str, bytes, type(None)})
_ARRAYS = (np.ndarray, np.generic)
_RANDOMNESS = (*object_walk.GENERATORS, np.random.BitGenerator, np.random.SeedSequence)
_FIXED = (Space, EnvSpec, *object_walk.CODE)
# They are there for rendering, for threads and for logging.
_IRRELEVANT_PACKAGES = ("pygame", "_thread", "threading", "logging")
_PICKLE_METHODS = ("__reduce_ex__", "__reduce__", "__getstate__")
_SHORT = 64
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


class PositionNamer:
    """Describes positions of environments that are made the same way."""

    def __init__(
        self, begin: Callable[[], Episode], take_step: TakeStep, ignored: Collection[str] = ()
    ) -> None:
        """Begin an episode in a separate environment, and observe which values vary."""
        self.unreadable = ""
        """What cannot be examined, if anything: then no position is described."""
        self._layers: list[_LayerValues] = []
        try:
            episode = begin()
        except Exception as error:  # some programs can run only once
            self.unreadable = f"a second environment ({type(error).__name__}: {error})"
            return
        try:
            self._observe(episode, take_step, ignored)
        except UnreadableValueError as error:
            self.unreadable = str(error)
        finally:
            episode.env.close()

    def description(self, episode: Episode) -> bytes | None:
        """Describe the current position in bytes; None if that is not possible."""
        if self.unreadable:
            return None
        last, around = episode.last, _inside_out(episode.env)
        try:
            seen = sorted(leaves_of([last.observation, last.mask], "seen").items())
            # Sorted, because attributes may have been created in any order.
            found = [
                sorted(known.leaves(layer, around).items())
                for known, layer in zip(self._layers, around, strict=True)
            ]
        except UnreadableValueError:
            return None
        return repr((last.terminated, last.truncated, seen, found)).encode()

    def _observe(self, episode: Episode, take_step: TakeStep, ignored: Collection[str]) -> None:
        episode.reset(0)
        around = _inside_out(episode.env)
        self._layers = [_LayerValues(layer, around, ignored) for layer in around]
        rng = random.Random(0)
        for seed in range(_EPISODES):
            episode.reset(seed)
            for _ in range(_STEPS):
                with suppress(Exception):  # if it matters, the run will meet it too
                    if take_step(episode, rng):
                        continue
                break
            for known, layer in zip(self._layers, around, strict=True):
                known.notice_changing_tables(layer, around)
        episode.reset(0)
        for known, layer in zip(self._layers, around, strict=True):
            known.leave_out(layer, around)


def _inside_out(env: Env[Any, Any]) -> list[Env[Any, Any]]:
    # The innermost is number 0, so that one more wrapper changes no number.
    return object_walk.layers(env)[::-1]


class _LayerValues:
    """The values of one layer that distinguish positions."""

    def __init__(
        self, layer: Env[Any, Any], around: Sequence[Any], ignored: Collection[str]
    ) -> None:
        self._ignored = ignored
        self._skipped = {*object_walk.LAYER_FRAME, *_irrelevant_attributes(layer)}
        """Attributes that are never examined."""
        self._surviving: set[str] = set()
        """Paths whose values survive a reset."""
        self._first = self.leaves(layer, around)
        """What the layer held after the first reset."""
        sizes: Counter[str] = Counter()
        for path, leaf in self._first.items():
            sizes[_attribute(path)] += len(leaf) if isinstance(leaf, tuple) else 1
        self._constant_tables = {name for name, size in sizes.items() if size > _LARGE}

    def leaves(self, layer: Env[Any, Any], around: Sequence[Any]) -> Leaves:
        """Return what distinguishes positions."""
        return {
            path: leaf
            for name, value in vars(layer).items()
            if name not in self._skipped and not is_below(name, self._ignored)
            for path, leaf in leaves_of(value, name, around).items()
            if path not in self._surviving and not is_below(path, self._ignored)
        }

    def notice_changing_tables(self, layer: Env[Any, Any], around: Sequence[Any]) -> None:
        """Find the tables that differ from the first reset."""
        if self._constant_tables:
            self._constant_tables -= set(map(_attribute, self._differing(layer, around)))

    def leave_out(self, layer: Env[Any, Any], around: Sequence[Any]) -> None:
        """Leave out constant tables, and what differs after a second reset with the first seed."""
        self._surviving = self._differing(layer, around)
        self._skipped |= self._constant_tables

    def _differing(self, layer: Env[Any, Any], around: Sequence[Any]) -> set[str]:
        now, first = self.leaves(layer, around), self._first
        return {path for path in now.keys() | first if now.get(path) != first.get(path)}


def _attribute(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _irrelevant_attributes(layer: Env[Any, Any]) -> Iterator[str]:
    if isinstance(layer, _OBSERVING_WRAPPERS):
        yield from vars(layer)
    if type(layer).__module__.startswith(_RENDERING_MODULES):
        yield from _RENDERING


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
    kind: Any = type(value)
    return _form(kind)(value)


@cache
def _form(kind: type) -> Callable[[Any], Any]:
    """Return how the values of a class are put into canonical form."""
    if kind in _SIMPLE:
        return _simple
    if issubclass(kind, _ARRAYS):
        return _array
    if issubclass(kind, _RANDOMNESS):
        return lambda _: object_walk.SKIP
    if issubclass(kind, _FIXED) or kind.__module__.partition(".")[0] in _IRRELEVANT_PACKAGES:
        return _name
    if issubclass(kind, list | tuple | deque):
        return _sequence
    if issubclass(kind, set | frozenset):
        return _set
    if hasattr(kind, "__array__") and not issubclass(kind, dict):
        return lambda value: _array(np.asarray(value))
    return lambda _: object_walk.ENTER


def _simple(value: Any) -> Any:
    """Return a number, a text or None so that equal ones have the same repr."""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def _sequence(value: Any) -> Any:
    if all(type(item) in _SIMPLE for item in value):
        return (type(value).__name__, *map(_simple, value))
    return object_walk.ENTER


def _set(value: Any) -> Any:
    # Sets have no order.
    return (type(value).__name__, *sorted(repr(leaves_of(item, "")) for item in value))


def _array(value: Any) -> Any:
    if value.dtype.hasobject:
        return object_walk.ENTER
    if not value.shape and type(value.item()) in _SIMPLE:
        return _simple(value.item())
    data = value.tobytes()
    if len(data) > _SHORT:
        data = hashlib.blake2b(data, digest_size=_SHORT // 2).digest()
    return value.dtype.str, value.shape, data


def _name(value: Any) -> str:
    named = value if isinstance(value, (type, *object_walk.FUNCTIONS)) else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _parts(value: Any) -> Iterator[tuple[PathStep, Any]]:
    """Yield the parts of an object; for one implemented in C, also what it would pickle."""
    if isinstance(value, _ARRAYS):
        yield PathStep(False, "shape"), value.shape
        yield from object_walk.children(value.ravel().tolist())
        return
    yield from object_walk.children(value)
    kind: Any = type(value)
    if _attributes_are_all(kind):
        return
    registered: Callable[[Any], Any] | None = copyreg.dispatch_table.get(kind)
    # This raises if there is more to the object than attributes, and it cannot be pickled.
    pickled = registered(value) if registered else value.__reduce_ex__(2)
    yield PathStep(False, "__reduce__"), pickled if isinstance(pickled, str) else [*pickled[1:3]]


@cache
def _attributes_are_all(kind: type) -> bool:
    """Return whether items, attributes and slots are the whole content of a class's objects."""
    if issubclass(kind, list | tuple | deque | dict):
        return True
    if kind in copyreg.dispatch_table:
        return False
    methods = {name: getattr(kind, name, None) for name in _PICKLE_METHODS}
    if any(isinstance(method, FunctionType) for method in methods.values()):
        return True  # written in Python: what it pickles is at most what its attributes hold
    if any(method is not getattr(object, name, None) for name, method in methods.items()):
        return False
    try:
        # The class defines no way to pickle it, so this raises if it holds more.
        object.__reduce_ex__(object.__new__(kind), 2)
    except Exception:
        return False
    return True
