"""Find every random generator inside an environment, and reseed them all where they are.

Gymnasium has one official generator, `env.np_random`, and seeds it in `reset` only. That is not
enough here. A restored position needs fresh chance without a reset; environments keep generators of
their own beside the official one, in their parts too; and spaces make theirs, from entropy, when
they are first sampled. So the objects below an environment are searched once for generators, and
their paths are kept. Reseeding changes a generator's state in place: whoever else holds it (a
wrapper, a part, an alias) holds the reseeded one.

What no attribute leads to (a module's global generator, a library's own) is not found, nor is one
that appears later than the first reset. `capscope check` says so.
"""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Env

from capscope.environments.gymnasium.layers import layers
from capscope.environments.gymnasium.parts import (
    LEAVES,
    Path,
    Step,
    children,
    follow,
    is_table,
    name_of,
)
from capscope.seeds import child_seed

Generator: TypeAlias = np.random.Generator | np.random.RandomState | random.Random
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_MOST_OBJECTS = 10_000


class Generators:
    """The generators of an environment, by their paths."""

    def __init__(self, env: Env[Any, Any]) -> None:
        # Generators are often made when they are first asked for: now they are there.
        _ = env.unwrapped.np_random
        for layer in layers(env):
            for space in (layer.action_space, layer.observation_space):
                space.seed(0)
        self._paths = tuple(_found(env))

    def reseed(self, env: Env[Any, Any], seed: int) -> None:
        """Give each generator a stream of its own by the seed."""
        for place, path in enumerate(self._paths):
            generator = follow(env, path)
            if isinstance(generator, _GENERATORS):
                _reseed(generator, child_seed(seed, place))


def generator_states(env: Env[Any, Any]) -> Mapping[str, str]:
    """Return a digest of each generator's state, by its name for people; searches anew."""
    return {_named(env, path): _digest(found) for path, found in _found(env).items()}


def _found(root: Any) -> dict[Path, Generator]:
    """Search breadth first, so that each generator is named by its shortest path."""
    found: dict[Path, Generator] = {}
    met = {id(root)}
    ahead: deque[tuple[Path, Any]] = deque([((), root)])
    while ahead and len(met) < _MOST_OBJECTS:
        path, thing = ahead.popleft()
        for step, child in children(thing):
            if isinstance(child, LEAVES) or id(child) in met or is_table(child):
                continue
            met.add(id(child))
            if isinstance(child, _GENERATORS):
                found[(*path, step)] = child
            else:
                ahead.append(((*path, step), child))
    return found


def _reseed(generator: Generator, seed: int) -> None:
    if isinstance(generator, random.Random):
        generator.seed(seed)
    elif isinstance(generator, np.random.RandomState):
        generator.seed(seed % 2**32)
    elif isinstance(generator.bit_generator, np.random.PCG64):
        # Gymnasium's own kind. Twenty times as fast as by a SeedSequence, and it is done for every
        # draw: any 128 bits are a state, and any odd ones a stream.
        words = [child_seed(seed, place) for place in range(4)]
        generator.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": words[0] << 64 | words[1], "inc": words[2] << 64 | words[3] | 1},
            "has_uint32": 0,
            "uinteger": 0,
        }
    else:
        bits: Any = generator.bit_generator
        bits.state = type(bits)(seed).state


def _digest(generator: Generator) -> str:
    if isinstance(generator, random.Random):
        state: Any = generator.getstate()
    elif isinstance(generator, np.random.RandomState):
        kind, words, *rest = generator.get_state(legacy=True)
        state = (kind, np.asarray(words).tobytes(), rest)
    else:
        state = _with_arrays_spelt_out(generator.bit_generator.state)
    return hashlib.sha256(repr(state).encode()).hexdigest()[:8]


def _with_arrays_spelt_out(state: Any) -> Any:
    # The text of a long array leaves out its middle.
    if isinstance(state, dict):
        return {name: _with_arrays_spelt_out(part) for name, part in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _named(env: Env[Any, Any], path: Path) -> str:
    """Say where a generator is, from its layer on."""
    while path and path[0] == Step(False, "env"):
        env, path = follow(env, path[:1]), path[1:]
    return name_of(env, path)
