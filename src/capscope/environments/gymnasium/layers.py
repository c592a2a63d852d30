"""The layers of an environment, wrappers from the outside in, and what each keeps in attributes.

A position in Gymnasium is not only that of the innermost environment. Wrappers count steps, stack
frames, remember the last action and refuse to go on after an end; all of it is in their attributes.
Here they are read and put back by one rule: all plain values that attributes lead to, through
objects and containers, but for large tables. What a wrapper was given when it was made is among
them and does no harm.
"""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Env, Space, Wrapper
from gymnasium.wrappers import PassiveEnvChecker, TimeLimit

from capscope.environments.gymnasium.parts import (
    LEAVES,
    Path,
    Step,
    children,
    is_table,
    name_of,
    put,
)
from capscope.world import plain

Kept: TypeAlias = list[list[tuple[Path, Any]]]
"""For each wrapper its plain values, by the path to them."""

FRAME = frozenset(
    {
        "env", "spec", "metadata", "action_space", "observation_space", "_action_space",
        "_observation_space", "_metadata", "_cached_spec", "_saved_kwargs",
        "_np_random", "_np_random_seed",
    }
)  # fmt: skip
"""What a layer is put together of."""

# What is not looked into: generators and spaces are seen to elsewhere.
_STRANGERS = (*LEAVES, np.random.Generator, np.random.RandomState, random.Random, Space)
_MOST_OBJECTS = 2_000
_SHORT_ARRAY, _SHORT_TEXT = 6, 40


def layers(env: Env[Any, Any]) -> list[Env[Any, Any]]:
    """List the wrappers from the outside in, and the environment inside them last."""
    found = [env]
    while isinstance(found[-1], Wrapper):
        found.append(found[-1].env)
    return found


def without_time_limit(env: Env[Any, Any]) -> tuple[Env[Any, Any], int | None]:
    """Take the wrapper out that ends episodes after a number of steps; return that number too."""
    before: Wrapper[Any, Any, Any, Any] | None = None
    for layer in layers(env):
        if isinstance(layer, TimeLimit):
            limit = int(layer._max_episode_steps)
            if before is None:
                return layer.env, limit
            before.env = layer.env
            return env, limit
        before = layer if isinstance(layer, Wrapper) else None
    return env, None


def kept_by_wrappers(env: Env[Any, Any]) -> Kept:
    """Return what the wrappers hold, without the environment inside them."""
    return [_held(layer) for layer in layers(env)[:-1]]


def give_back(env: Env[Any, Any], kept: Kept) -> None:
    """Put back into the wrappers what they held."""
    for layer, values in zip(layers(env)[:-1], kept, strict=True):
        for path, value in values:
            put(layer, tuple(Step(*step) for step in path), value)


def attributes(env: Env[Any, Any]) -> Mapping[str, str]:
    """Return the plain values in all layers as text, by names like `TimeLimit._elapsed_steps`."""
    return {
        name_of(layer, path): text_of(value)
        for layer in layers(env)
        for path, value in _held(layer)
    }


def is_ignored(path: str, ignored: Collection[str]) -> bool:
    """Say whether a path leads to one of the attributes that do not matter, or into one.

    >>> [is_ignored(path, ["wind"]) for path in ("wind", "wind.blows", "window")]
    [True, True, False]
    """
    return path in ignored or any(path.startswith((f"{name}.", f"{name}[")) for name in ignored)


def text_of(value: Any) -> str:
    """Say what a value is: itself if it is short, else enough of it to tell it from others."""
    if isinstance(value, np.ndarray) and value.size > _SHORT_ARRAY:
        return f"an array {value.shape} ({hash_of(plain.to_bytes(value))})"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _SHORT_TEXT else f"{text[:30]}… ({hash_of(text.encode())})"


def hash_of(data: bytes) -> str:
    """Return a few characters that tell these bytes from others."""
    return hashlib.sha256(data).hexdigest()[:8]


def _held(layer: Env[Any, Any]) -> list[tuple[Path, Any]]:
    """Find the plain values below a layer; of what is plain as a whole, the whole."""
    if isinstance(layer, PassiveEnvChecker):
        return []  # what it has checked so far has no part in any position
    held: list[tuple[Path, Any]] = []
    met = {id(layer)}
    ahead: deque[tuple[Path, Any]] = deque(
        ((step,), value) for step, value in children(layer) if step.key not in FRAME
    )
    while ahead and len(met) < _MOST_OBJECTS:
        path, value = ahead.popleft()
        if is_table(value):
            continue
        if _is_plain(value):
            held.append((path, value))
        elif id(value) not in met and not isinstance(value, _STRANGERS):
            met.add(id(value))
            ahead.extend(((*path, step), child) for step, child in children(value))
    return held


def _is_plain(value: Any) -> bool:
    try:
        plain.to_bytes(value)
    except plain.NotPlain:
        return False
    return True
