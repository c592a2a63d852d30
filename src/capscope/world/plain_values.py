"""Plain values as bytes and back: numbers, text, arrays, and containers of them.

A snapshot outlives the process that took it, so it cannot be a pickle: that would tie it to the
classes of one day and run code when it is read. JSON alone forgets whether a list was a tuple and
knows no arrays. So this is JSON in which everything that JSON has no word for stands in an object
with one key, its kind: `{"tuple": [1, 2]}`. Equal values become equal bytes, whatever their types
do elsewhere; a value of any other kind is refused by name.
"""

from __future__ import annotations

import base64
import json
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np


class NotPlain(TypeError):  # noqa: N818 - it says what the value is
    """Report a value that cannot be written down; the message names its type."""


def to_bytes(value: Any) -> bytes:
    """Write a plain value down.

    >>> to_bytes([1, ("a", None)])
    b'[1,{"tuple":["a",null]}]'
    """
    return json.dumps(_written(value), separators=(",", ":")).encode()


def from_bytes(data: bytes) -> Any:
    """Read back what `to_bytes` wrote, as new objects.

    >>> from_bytes(to_bytes({(0, 1): {2.5}}))
    {(0, 1): {2.5}}
    """
    return _read(json.loads(data))


def _written(value: Any) -> Any:
    kind = type(value)
    if kind in (int, str, bool, float) or value is None:
        return value
    if kind is list:
        return [_written(item) for item in value]
    if kind is tuple:
        return {"tuple": [_written(item) for item in value]}
    if kind is dict:
        return {"dict": [[_written(key), _written(item)] for key, item in value.items()]}
    if kind in (set, frozenset):
        # Sets have no order of their own; their bytes need one.
        return {kind.__name__: sorted((_written(item) for item in value), key=json.dumps)}
    if kind is deque:
        return {"deque": [value.maxlen, [_written(item) for item in value]]}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray | np.generic):
        return _written_array(value)
    raise NotPlain(f"{kind.__module__}.{kind.__qualname__}")


def _written_array(value: np.ndarray[Any, Any] | np.generic) -> Any:
    if value.dtype.hasobject or value.dtype.names:
        raise NotPlain(f"array of {value.dtype}")
    data = base64.b64encode(value.tobytes()).decode()
    if isinstance(value, np.generic):
        return {"scalar": [value.dtype.str, data]}
    return {"array": [value.dtype.str, list(value.shape), data]}


def _array(dtype: str, shape: list[int], data: str) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()


_READERS: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda items: tuple(_read(item) for item in items),
    "dict": lambda pairs: {_read(key): _read(item) for key, item in pairs},
    "set": lambda items: {_read(item) for item in items},
    "frozenset": lambda items: frozenset(_read(item) for item in items),
    "deque": lambda parts: deque((_read(item) for item in parts[1]), maxlen=parts[0]),
    "bytes": base64.b64decode,
    "array": lambda parts: _array(*parts),
    "scalar": lambda parts: _array(parts[0], [1], parts[1])[0],
}


def _read(written: Any) -> Any:
    if isinstance(written, list):
        return [_read(item) for item in written]
    if isinstance(written, dict):
        ((kind, content),) = written.items()
        return _READERS[kind](content)
    return written
