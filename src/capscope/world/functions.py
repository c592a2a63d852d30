"""A world, an agent and words made of plain functions, where classes would only be ceremony.

Who has a function that chooses an action has an agent; who has a function from state and action to
the next state has a world. The classes here add what the contracts ask for beyond that: snapshots,
seeds, fresh starts. A function is given as many of its possible arguments as it takes, in the order
that is documented, so nobody has to write parameters that are not used.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from capscope.errors import ProblemError
from capscope.symbolic import Atom, Intent, State, Vocabulary
from capscope.world import plain_values
from capscope.world.contracts import Action, InvalidAction, Observation, Snapshot

Function = Callable[..., Any]
IGNORES_INTENT = (
    "the agent is a function that takes no intent: it does the same whatever it is asked for; name "
    "what it is for with --intents to spare executions"
)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def adapt_arguments(function: Function, role: str, arguments: Sequence[str]) -> Function:
    """Let a function be called with all of `arguments` although it may take fewer of them.

    Parameters with a default are the function's own business and are left alone.

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
            f"the {role} takes {', '.join(map(str, parameters))}; it is given "
            f"{', '.join(arguments)}, or as many of the first of these as it takes"
        )
    if needed == len(arguments):
        return function
    return lambda *given: function(*given[:needed])


def required_arguments(function: Function) -> int | None:
    """Return how many arguments a function needs; None if it takes any number, or does not say.

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
    except (TypeError, ValueError):  # built in: it will say itself what it lacks
        return None


class FunctionAgent:
    """An agent by one function of (observation, intent, rng): an action, or None to stop.

    `rng` is a `random.Random` seeded for the attempt; the function draws all its chance from it.
    """

    def __init__(self, act: Function) -> None:
        self._act = adapt_arguments(act, "agent's function", ("observation", "intent", "rng"))
        self._deaf = required_arguments(act) in (0, 1)

    def begin(self, intent: Intent, seed: int) -> FunctionAttempt:
        """Start afresh on an intent."""
        return FunctionAttempt(self._act, intent, random.Random(seed))

    def notes(self) -> Sequence[str]:
        """Say that the function never hears what is asked for, if so."""
        return [IGNORES_INTENT] if self._deaf else []


class FunctionAttempt:
    """One attempt of a `FunctionAgent`."""

    def __init__(self, act: Function, intent: Intent, rng: random.Random) -> None:
        self._act = act
        self._intent = intent
        self._rng = rng

    def act(self, observation: Observation) -> Action | None:
        """Ask the function."""
        return self._act(observation, self._intent, self._rng)


class FunctionAbstraction:
    """Words by one function: it maps an observation to the atoms that hold.

    An atom is an `Atom` or its text, like `"on(a,b)"`; a dict says of each whether it holds.
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
    """A world by one function of (state, action, rng): the next state, which is also observed.

    `start` is the first state, and `actions` a list or a function of the state; no actions end the
    world. A state is a plain value (numbers, text, tuples, …; see `capscope.world.plain_values`)
    that nobody changes: a step makes a new one. `rng` is a `random.Random`.
    """

    def __init__(
        self,
        start: Any,
        step: Function,
        actions: Sequence[Action] | Callable[[Any], Sequence[Action]],
    ) -> None:
        self._start = plain_values.to_bytes(start)
        self._step = adapt_arguments(step, "world's step", ("state", "action", "rng"))
        self._actions = actions
        self._state: Any = start
        self._rng = random.Random(0)

    def reset(self, seed: int) -> Any:
        """Go to the first state."""
        return self.restore(self._start, seed)

    def actions(self) -> Sequence[Action]:
        """List the actions of the present state."""
        return self._actions(self._state) if callable(self._actions) else self._actions

    def step(self, action: Action) -> Any:
        """Take one step; an action that is not listed is refused."""
        available = self.actions()
        if action not in available:
            raise InvalidAction(f"{action!r} is not among {', '.join(map(str, available))}")
        self._state = self._step(self._state, action, self._rng)
        return self._state

    def snapshot(self) -> Snapshot:
        """Write the state down."""
        return plain_values.to_bytes(self._state)

    def restore(self, snapshot: Snapshot, seed: int) -> Any:
        """Go back to a state."""
        self._state = plain_values.from_bytes(snapshot)
        self._rng = random.Random(seed)
        return self._state
