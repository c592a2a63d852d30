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
    return json.dumps(_encoded(value), separators=(",", ":")).encode()


def from_bytes(data: bytes) -> Any:
    """Decode what `to_bytes` returned, as new objects.

    >>> from_bytes(to_bytes({(0, 1): {2.5}}))
    {(0, 1): {2.5}}
    """
    return _decoded(json.loads(data))


def _encoded(value: Any) -> Any:
    kind = type(value)
    if kind in (int, str, bool, float) or value is None:
        return value
    if kind is list:
        return [_encoded(item) for item in value]
    if kind is tuple:
        return {"tuple": [_encoded(item) for item in value]}
    if kind is dict:
        return {"dict": [[_encoded(key), _encoded(item)] for key, item in value.items()]}
    if kind in (set, frozenset):
        # Sets have no order, and equal sets need equal bytes.
        return {kind.__name__: sorted((_encoded(item) for item in value), key=json.dumps)}
    if kind is deque:
        return {"deque": [value.maxlen, [_encoded(item) for item in value]]}
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
    "tuple": lambda items: tuple(_decoded(item) for item in items),
    "dict": lambda pairs: {_decoded(key): _decoded(item) for key, item in pairs},
    "set": lambda items: {_decoded(item) for item in items},
    "frozenset": lambda items: frozenset(_decoded(item) for item in items),
    "deque": lambda parts: deque((_decoded(item) for item in parts[1]), maxlen=parts[0]),
    "bytes": base64.b64decode,
    "array": lambda parts: _decoded_array(*parts),
    "scalar": lambda parts: _decoded_array(parts[0], [1], parts[1])[0],
}


def _decoded(encoded: Any) -> Any:
    if isinstance(encoded, list):
        return [_decoded(item) for item in encoded]
    if isinstance(encoded, dict):
        ((kind, content),) = encoded.items()
        return _DECODERS[kind](content)
    return encoded
