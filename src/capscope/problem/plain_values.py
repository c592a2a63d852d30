"""Encode plain values as bytes: numbers, text, arrays, and containers of them.

A pickle depends on the current classes and runs code when it is read; JSON has no tuples, sets or
arrays. So this is JSON in which any value that JSON lacks is an object with one key, its kind:
`{"tuple": [1, 2]}`. Equal values have equal bytes.
"""

import base64
import json
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np


class NotPlain(TypeError):  # noqa: N818 - it says what the value is
    """A value cannot be encoded; the message names its type."""


def to_bytes(value: Any) -> bytes:
    """Encode a plain value.

    >>> to_bytes([1, ("a", None)])
    b'[1,{"tuple":["a",null]}]'
    """
    return json.dumps(encoded(value), separators=(",", ":")).encode()


def from_bytes(data: bytes) -> Any:
    """Decode what `to_bytes` returned, as new objects.

    >>> from_bytes(to_bytes({(0, 1): {2.5}}))
    {(0, 1): {2.5}}
    """
    return decoded(json.loads(data))


def encoded(value: Any) -> Any:
    """Return a plain value as a JSON-ready one.

    Args:
        value: A plain value; raises `NotPlain` for any other.

    Returns:
        What `decoded` takes.
    """
    kind = type(value)
    if kind in (int, str, bool, float) or value is None:
        return value
    if kind is list:
        return [encoded(item) for item in value]
    if kind is tuple:
        return {"tuple": [encoded(item) for item in value]}
    if kind is dict:
        return {"dict": [[encoded(key), encoded(item)] for key, item in value.items()]}
    if kind in (set, frozenset):
        # Sets have no order, and equal sets need equal bytes.
        return {kind.__name__: sorted((encoded(item) for item in value), key=json.dumps)}
    if kind is deque:
        return {"deque": [value.maxlen, [encoded(item) for item in value]]}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray | np.generic):
        return _encoded_array(value)
    raise NotPlain(f"{kind.__module__}.{kind.__qualname__}")


def _encoded_array(value: np.ndarray[Any, Any] | np.generic) -> Any:
    if value.dtype.hasobject or value.dtype.names:
        raise NotPlain(f"array of {value.dtype}")
    data = base64.b64encode(value.tobytes()).decode()
    if isinstance(value, np.generic):
        return {"scalar": [value.dtype.str, data]}
    return {"array": [value.dtype.str, list(value.shape), data]}


def _decoded_array(dtype: str, shape: list[int], data: str) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda items: tuple(decoded(item) for item in items),
    "dict": lambda pairs: {decoded(key): decoded(item) for key, item in pairs},
    "set": lambda items: {decoded(item) for item in items},
    "frozenset": lambda items: frozenset(decoded(item) for item in items),
    "deque": lambda parts: deque((decoded(item) for item in parts[1]), maxlen=parts[0]),
    "bytes": base64.b64decode,
    "array": lambda parts: _decoded_array(*parts),
    "scalar": lambda parts: _decoded_array(parts[0], [1], parts[1])[0],
}


def decoded(value: Any) -> Any:
    """Return a plain value, as a new object.

    Args:
        value: What `encoded` returned.

    Returns:
        The plain value.
    """
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        return _DECODERS[kind](content)
    return value
