"""Policies as agents. A policy usually knows one task and never says that it is done.

Four kinds are accepted:

- a function of (observation, intent, rng), or of the first one or two of these;
- a model with the `predict` of Stable-Baselines3;
- a mapping from intents to policies, or `ByIntent` with a function from an intent to a policy. If
  there is no policy for an intent, the agent stops at once;
- an agent with `begin`, as in `capscope.problem.Agent`. It receives the whole
  `GymnasiumObservation`, not only the observation, and decides when to stop.

All but the last stop when the intent holds in the labelled state, and a function also stops by
returning None. Otherwise an attempt goes on until the episode is over or a limit is reached.
"""

import inspect
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from capscope.adapters.gymnasium.episode import GymnasiumObservation
from capscope.errors import ProblemError
from capscope.logic import Intent, Vocabulary
from capscope.problem import Agent, Attempting
from capscope.problem.functions import FunctionAttempt, adapt_arguments, required_arguments
from capscope.seeds import child_seed

_IGNORES_INTENT = (
    "the policy ignores the intent: it does the same whatever it is asked for, until that holds; "
    "name its task with --intents to save executions"
)
Choose = Callable[[GymnasiumObservation], Any]
"""A policy during one attempt: it returns an action, or None to stop."""


class FunctionPolicy:
    """A policy by a function of (observation, intent, rng); `rng` is a `random.Random`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = adapt_arguments(function, "policy", ("observation", "intent", "rng"))
        self.uses_intents = required_arguments(function) not in (0, 1)

    def choices(self, intent: Intent, seed: int) -> Choose:
        """Return the function, with a generator for the attempt."""
        rng = random.Random(seed)
        return lambda seen: self._function(seen.observation, intent, rng)


class StableBaselines:
    """A policy by a model with the `predict` of Stable-Baselines3.

    A recurrent model starts each attempt without state, and a model that takes `action_masks`
    receives the mask. With `deterministic=False` actions are drawn from torch's global generator,
    which is seeded for each attempt, so such a model must not be shared by workers.
    """

    uses_intents = False

    def __init__(self, model: Any, deterministic: bool = True) -> None:
        self._predict = model.predict
        self._deterministic = deterministic
        self._takes_masks = "action_masks" in inspect.signature(model.predict).parameters

    def choices(self, intent: Intent, seed: int) -> Choose:
        """Start without state."""
        torch = sys.modules.get("torch")
        if torch is not None and not self._deterministic:
            torch.manual_seed(child_seed(seed, 0) % 2**31)
        state: Any = None
        begins = np.ones(1, dtype=bool)

        def choose(seen: GymnasiumObservation) -> Any:
            nonlocal state
            masks = {"action_masks": seen.mask} if self._takes_masks else {}
            given = {"state": state, "episode_start": begins.copy(), **masks}
            answer = self._predict(seen.observation, deterministic=self._deterministic, **given)
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise TypeError(
                    f"predict() returned {type(answer).__name__}; Stable-Baselines3's returns "
                    "(action, state). Give a function of the observation instead"
                )
            action, state = answer
            begins[:] = False
            return action

        return choose


class ByIntent:
    """One policy for each intent, by a function from an intent to a policy, or to None."""

    uses_intents = True

    def __init__(self, policy_for: Callable[[Intent], Any]) -> None:
        self._policy_for = policy_for

    def choices(self, intent: Intent, seed: int) -> Choose:
        """Start the policy of this intent; without one, stop at once."""
        chosen = self._policy_for(intent)
        return (lambda _: None) if chosen is None else policy_of(chosen).choices(intent, seed)


GymnasiumPolicy: TypeAlias = FunctionPolicy | StableBaselines | ByIntent


def policy_of(given: Any) -> GymnasiumPolicy:
    """Wrap a policy of any kind."""
    if isinstance(given, GymnasiumPolicy):
        return given
    if isinstance(given, Mapping):
        policies = {
            Intent.parse(intent) if isinstance(intent, str) else intent: policy_of(policy)
            for intent, policy in given.items()
        }
        return ByIntent(policies.get)
    if callable(getattr(given, "predict", None)):
        return StableBaselines(given)
    if callable(given):
        return FunctionPolicy(given)
    raise ProblemError(
        f"{type(given).__name__!r} is not a policy; give a function of (observation, intent, rng), "
        "a model with Stable-Baselines3's predict, a mapping from intents to policies, or an agent "
        "with begin(intent, seed)"
    )


class PolicyAgent:
    """A policy that is asked for intents, and stops when they hold."""

    def __init__(self, policy: GymnasiumPolicy, vocabulary: Vocabulary) -> None:
        self._policy = policy
        self._vocabulary = vocabulary

    def begin(self, intent: Intent, seed: int) -> Attempting:
        """Start an attempt at an intent."""
        holds = intent.test(self._vocabulary)
        choose = self._policy.choices(intent, seed)
        return FunctionAttempt(lambda seen: None if holds(seen.state) else choose(seen))

    def notes(self) -> Sequence[str]:
        """Note a policy that ignores the intent."""
        return [] if self._policy.uses_intents else [_IGNORES_INTENT]


def agent_of(given: Any, vocabulary: Vocabulary) -> Agent:
    """Make an agent of a policy of any kind; an agent is returned as it is."""
    if callable(getattr(given, "begin", None)):
        agent: Agent = given
        return agent
    return PolicyAgent(policy_of(given), vocabulary)
