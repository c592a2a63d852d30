"""Assess a policy in any Gymnasium environment.

    cells = [f"c{i}" for i in range(16)]

    def problem():
        return gymnasium_problem(
            make="FrozenLake-v1",
            vocabulary=Vocabulary([Predicate("at", ("cell",))], dict.fromkeys(cells, "cell")),
            label=lambda observation, env: [f"at(c{observation})"],
            policy=lambda observation, intent, rng: rng.randrange(4),
        )

Gymnasium environments can be reset but not restored, so the user declares how to go back to a
position (see `restoring`), and `capscope check` tests it. `policies` lists the kinds of policies.
"""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from capscope.errors import ProblemError, install_hint
from capscope.logic import Vocabulary
from capscope.problem import Limits, Problem, plain_values
from capscope.problem.functions import adapt_arguments

if find_spec("gymnasium") is None:
    raise ProblemError(f"this needs gymnasium: {install_hint('gymnasium')}")

from capscope.adapters.gymnasium.episode import GymnasiumObservation
from capscope.adapters.gymnasium.policies import ByIntent, StableBaselines, agent_of
from capscope.adapters.gymnasium.restoring import Copy, Native, Replay, Restoring
from capscope.adapters.gymnasium.simulator import (
    GymnasiumSimulator,
    Label,
    LabelledState,
    Make,
    Options,
)

__all__ = [
    "ByIntent",
    "Copy",
    "GymnasiumObservation",
    "GymnasiumSimulator",
    "Native",
    "Options",
    "Replay",
    "StableBaselines",
    "gymnasium_problem",
]

_RESTORING: Mapping[str, Callable[[], Restoring]] = {
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
    """Make a problem of an environment, a label function and a policy.

    Args:
        make: Makes the environment, or the id of a registered one.
        vocabulary: The predicates and objects.
        label: A function of the observation, the environment inside all wrappers and the last
            `step` (its `reward`, `terminated`, `truncated`), or of the first of these. It returns
            the atoms that hold, as texts like `"at(c3)"`, or a dict from such texts to whether they
            hold.
        policy: A function of observation, intent and random generator, or of the first of these; a
            model with `predict`; a mapping from intents to policies; or an agent with `begin`.
        restore: `"replay"`, `"native"`, `"copy"`, or a `Replay`, `Native` or `Copy`.
        limits: When an execution ends.
        options: Of the simulator.

    Returns:
        The problem.
    """
    if isinstance(restore, str) and restore not in _RESTORING:
        raise ProblemError(f"restore must be {' or '.join(map(repr, _RESTORING))}, not {restore!r}")
    restoring = _RESTORING[restore]() if isinstance(restore, str) else restore
    labelling = adapt_arguments(label, "label", ("observation", "env", "step"))
    simulator = GymnasiumSimulator(make, vocabulary, labelling, restoring, options)
    name = _name(simulator)
    return Problem(
        name=name,
        simulator=simulator,
        agent=agent_of(policy, vocabulary),
        abstraction=LabelledState(vocabulary),
        limits=limits or Limits(),
        description=f"a policy in {name}",
        fingerprint=_fingerprint(simulator, type(restoring).__name__),
    )


def _name(simulator: GymnasiumSimulator) -> str:
    spec = simulator.env.spec
    return spec.id if spec else type(simulator.env.unwrapped).__name__


def _fingerprint(simulator: GymnasiumSimulator, restoring: str) -> str:
    """Identify the environment by its id and by those of its arguments that are plain values."""
    spec = simulator.env.spec
    parts = [_name(simulator), restoring]
    for name, value in sorted(spec.kwargs.items()) if spec else ():
        with suppress(plain_values.NotPlain):
            parts.append(f"{name}={plain_values.to_bytes(value).decode()}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
