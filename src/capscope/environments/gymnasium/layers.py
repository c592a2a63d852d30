"""The layers of an environment, wrappers from the outside in, and what each keeps in attributes.

A position in Gymnasium is not only that of the innermost environment. Wrappers count steps, stack
frames, remember the last action and refuse to go on after an end; all of it is in their attributes.
Here those attributes are read and put back by one rule: plain values, and objects that hold nothing
but plain values. What a wrapper is given when it is made belongs to them as well and does no harm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias

from gymnasium import Env, Wrapper
from gymnasium.wrappers import PassiveEnvChecker, TimeLimit

from capscope.world import plain

Kept: TypeAlias = list[dict[str, Any]]
"""For each layer the values of its attributes; for an object, those of its own."""

_OBJECT = "attributes of an object"
# What a layer is put together of.
_FRAME = frozenset(
    {
        "env", "spec", "metadata", "action_space", "observation_space", "_action_space",
        "_observation_space", "_metadata", "_cached_spec", "_saved_kwargs",
        "_np_random", "_np_random_seed",
    }
)  # fmt: skip


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
    return [_kept(layer) for layer in layers(env)[:-1]]


def give_back(env: Env[Any, Any], kept: Kept) -> None:
    """Put back into the wrappers what they held."""
    for layer, values in zip(layers(env)[:-1], kept, strict=True):
        for name, value in values.items():
            held = getattr(layer, name, None)
            if isinstance(value, dict) and _OBJECT in value and held is not None:
                vars(held).update(value[_OBJECT])
            else:
                vars(layer)[name] = value


def attributes(env: Env[Any, Any]) -> Mapping[str, str]:
    """Return the attributes of all layers as text, by names like `TimeLimit._elapsed_steps`."""
    return {
        f"{type(layer).__name__}.{name}": text_of(value)
        for layer in layers(env)
        for name, value in _kept(layer).items()
    }


def text_of(value: Any) -> str:
    """Say what a value is: itself if it is short, else enough of it to tell it from others."""
    try:
        data = plain.to_bytes(value)
    except plain.NotPlain:
        return repr(value)
    text = repr(value.item() if hasattr(value, "item") and value.size == 1 else value)
    return text if len(text) <= 40 else f"{text[:30]}… ({hash_of(data)})"


def hash_of(data: bytes) -> str:
    """Return a few characters that tell these bytes from others."""
    return hashlib.sha256(data).hexdigest()[:8]


def _kept(layer: Env[Any, Any]) -> dict[str, Any]:
    if isinstance(layer, PassiveEnvChecker):
        return {}  # what it has checked so far has no part in any position
    held = {}
    for name, value in vars(layer).items():
        if name in _FRAME:
            continue
        if _is_plain(value):
            held[name] = value
        elif hasattr(value, "__dict__") and not callable(value) and _is_plain(vars(value)):
            held[name] = {_OBJECT: dict(vars(value))}
    return held


def _is_plain(value: Any) -> bool:
    try:
        plain.to_bytes(value)
    except plain.NotPlain:
        return False
    return True
