"""A simulator, an agent and an abstraction made of plain functions.

The classes here add what the protocols require: snapshots, seeds, independent attempts. A function
may take only the first of the documented arguments.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from capscope.errors import ProblemError
from capscope.logic import Atom, Intent, State, Vocabulary
from capscope.problem import plain_values
from capscope.problem.problem import Action, InvalidAction, Observation, Snapshot

Function = Callable[..., Any]
IGNORES_INTENT = (
    "the agent's function ignores the intent: it does the same whatever it is asked for; name its "
    "task with --intents to save executions"
)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def adapt_arguments(function: Function, role: str, arguments: Sequence[str]) -> Function:
    """Wrap a function so that it can be called with all `arguments`, even if it takes fewer.

    Parameters with a default are not filled.

    >>> adapt_arguments(lambda a: a + 1, "example", ["a", "b"])(1, 2)
    2
    """
    parameters, needed = _parameters(function), required_arguments(function)
    if parameters is None or needed is None:
        return function
    if needed > len(arguments) or any(
        p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters
    ):
        raise ProblemError(
            f"the {role} takes {', '.join(map(str, parameters))}; it must take "
            f"{', '.join(arguments)}, or only the first of these"
        )
    if needed == len(arguments):
        return function
    return lambda *given: function(*given[:needed])


def required_arguments(function: Function) -> int | None:
    """Return how many arguments a function needs; None if any number, or if unknown.

    >>> required_arguments(lambda a, b=1: a), required_arguments(print)
    (1, None)
    """
    parameters = _parameters(function)
    if parameters is None or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(p.kind in _POSITIONAL and p.default is p.empty for p in parameters)


def _parameters(function: Function) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a built-in function without a signature
        return None


class FunctionAgent:
    """An agent by one function of (observation, intent, rng): an action, or None to stop.

    `rng` is a `random.Random` seeded for the attempt; draw all randomness from it.
    """

    def __init__(self, act: Function) -> None:
        self._act = adapt_arguments(act, "agent's function", ("observation", "intent", "rng"))
        self._ignores_intent = required_arguments(act) in (0, 1)

    def begin(self, intent: Intent, seed: int) -> FunctionAttempt:
        """Start an attempt at an intent."""
        rng = random.Random(seed)
        return FunctionAttempt(lambda observation: self._act(observation, intent, rng))

    def notes(self) -> Sequence[str]:
        """Note a function that ignores the intent."""
        return [IGNORES_INTENT] if self._ignores_intent else []


class FunctionAttempt:
    """An attempt by a function from an observation to an action, or None to stop."""

    def __init__(self, act: Callable[[Any], Action | None]) -> None:
        self._act = act

    def act(self, observation: Observation) -> Action | None:
        """Call the function."""
        return self._act(observation)


class FunctionAbstraction:
    """An abstraction by one function from an observation to the atoms that hold.

    An atom is an `Atom` or its text, like `"on(a,b)"`; a dict gives for each whether it holds.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        label: Callable[[Observation], Iterable[Atom | str] | Mapping[str, Any]],
    ) -> None:
        self.vocabulary = vocabulary
        self._label = label

    def __call__(self, observation: Observation) -> State:
        """Return the atoms that hold."""
        return self.vocabulary.state(self._label(observation))


class FunctionWorld:
    """A simulator by one function of (state, action, rng): the next state, which is also observed.

    `actions` is a list or a function of the state; without actions the episode ends. A state is a
    plain value (numbers, text, tuples, …; see `capscope.problem.plain_values`) and is never
    modified: a step returns a new one. `rng` is a `random.Random`.
    """

    def __init__(
        self, start: Any, step: Function, actions: Sequence[Action] | Callable[[Any], Any]
    ) -> None:
        self._start = plain_values.to_bytes(start)
        self._step = adapt_arguments(step, "step function", ("state", "action", "rng"))
        self._actions = actions
        self._state: Any = start
        self._rng = random.Random(0)

    def reset(self, seed: int) -> Any:
        """Go to the first state."""
        return self.restore(self._start, seed)

    def actions(self) -> Sequence[Action]:
        """List the actions of the current state."""
        return self._actions(self._state) if callable(self._actions) else self._actions

    def step(self, action: Action) -> Any:
        """Take one step; raise `InvalidAction` for an action that is not listed."""
        available = self.actions()
        if action not in available:
            raise InvalidAction(f"{action!r} is not among {', '.join(map(str, available))}")
        self._state = self._step(self._state, action, self._rng)
        return self._state

    def snapshot(self) -> Snapshot:
        """Encode the state."""
        return plain_values.to_bytes(self._state)

    def restore(self, snapshot: Snapshot, seed: int) -> Any:
        """Go back to a state."""
        self._state = plain_values.from_bytes(snapshot)
        self._rng = random.Random(seed)
        return self._state
