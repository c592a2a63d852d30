"""Any Gymnasium environment as a problem: an environment, words for it, and a policy.

    import gymnasium as gym
    from capscope import Limits, Predicate, Vocabulary
    from capscope.environments.gymnasium import gymnasium_problem

    words = Vocabulary([Predicate("at", ("cell",))], {f"c{i}": "cell" for i in range(16)})

    def problem():
        return gymnasium_problem(
            make=lambda: gym.make("FrozenLake-v1"),
            vocabulary=words,
            label=lambda observation, env: [f"at(c{observation})"],
            policy=lambda observation, intent, rng: rng.randrange(4),
        )

Who wrote an environment has thought of resets and not of going back. How to go back is therefore
declared: see `capscope.environments.gymnasium.restoring`. `capscope check` finds out whether it is
true. Policies of several kinds are taken: see `capscope.environments.gymnasium.policies`.

`gymnasium` is an extra.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from capscope.errors import ProblemError
from capscope.symbolic import Vocabulary
from capscope.world import Limits, Problem, plain
from capscope.world.functions import with_as_many

if find_spec("gymnasium") is None:
    raise ProblemError("this needs gymnasium; install it with: pip install 'capscope[gymnasium]'")

from capscope.environments.gymnasium.policies import ByIntent, StableBaselines, agent_of
from capscope.environments.gymnasium.restoring import Copy, Native, Replay, Restoring
from capscope.environments.gymnasium.seen import Seen, SeenState
from capscope.environments.gymnasium.simulator import (
    GymnasiumSimulator,
    Label,
    Make,
    Options,
)

__all__ = [
    "ByIntent",
    "Copy",
    "GymnasiumSimulator",
    "Native",
    "Options",
    "Replay",
    "Seen",
    "StableBaselines",
    "gymnasium_problem",
]

_WAYS_BACK: Mapping[str, Callable[[], Restoring]] = {
    "replay": Replay,
    "native": Native,
    "copy": Copy,
}


def gymnasium_problem(
    make: Make,
    vocabulary: Vocabulary,
    label: Label,
    policy: Any,
    *,
    restore: str | Restoring = "replay",
    limits: Limits | None = None,
    options: Options | None = None,
) -> Problem:
    """Make a problem of an environment, a labelling and a policy.

    `make` makes the environment, or is the id of a registered one. `label` is given the
    observation, the environment inside all wrappers and what the last step `told` (its `reward`,
    `terminated`, `truncated`), or as many of the first of these as it takes, and returns the atoms
    that hold, as texts like `"at(c3)"`, or a dict from such texts to whether they hold. `restore`
    is `"replay"`, `"native"`, `"copy"`, or one of `Replay`, `Native`, `Copy`.
    """
    if isinstance(restore, str) and restore not in _WAYS_BACK:
        raise ProblemError(f"restore is {' or '.join(map(repr, _WAYS_BACK))}, not {restore!r}")
    way_back = _WAYS_BACK[restore]() if isinstance(restore, str) else restore
    given = with_as_many(label, "label", ("observation", "env", "told"))
    simulator = GymnasiumSimulator(make, vocabulary, given, way_back, options)
    name = _name(simulator)
    return Problem(
        name=name,
        simulator=simulator,
        agent=agent_of(policy, vocabulary),
        abstraction=SeenState(vocabulary),
        limits=limits or Limits(),
        description=f"a policy in {name}",
        fingerprint=_fingerprint(simulator, type(way_back).__name__),
    )


def _name(simulator: GymnasiumSimulator) -> str:
    spec = simulator.env.spec
    return spec.id if spec else type(simulator.env.unwrapped).__name__


def _fingerprint(simulator: GymnasiumSimulator, way_back: str) -> str:
    """Identify the environment by what it was made with, as far as that can be written down."""
    spec = simulator.env.spec
    parts = [_name(simulator), way_back]
    for name, value in sorted(spec.kwargs.items()) if spec else ():
        with suppress(plain.NotPlain):
            parts.append(f"{name}={plain.to_bytes(value).decode()}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
