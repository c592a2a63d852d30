"""Actions in a form that can be recorded: JSON-ready values from which they can be made again.

Numbers and text stand for themselves, a tool call is written with its arguments, and any other
action by its text: to make it again, it is looked for among the actions that are available.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capscope.problem import plain_values
from capscope.problem.problem import Action
from capscope.problem.tool_calls import ToolCall

WrittenAction = Any
"""A JSON-ready value."""
AS_THEY_ARE = frozenset({int, str, bool, float})
"""Types of actions that are written as they are."""
_CALL, _NAMED = "call", "named"


class UnknownAction(LookupError):  # noqa: N818 - it says what the action is
    """A written action is not among those that are available."""


def written(action: Action) -> WrittenAction:
    """Write an action.

    Args:
        action: Anything that a simulator's `step` takes.

    Returns:
        A JSON-ready value.

    >>> written(ToolCall("archive", {"id": 3}))
    {'call': ['archive', [['id', 3]], '']}
    """
    if type(action) in AS_THEY_ARE:
        return action
    if isinstance(action, np.generic):
        return action.item()
    try:
        if isinstance(action, ToolCall):
            given = [[n, plain_values.encoded(value)] for n, value in action.arguments.items()]
            return {_CALL: [action.tool, given, action.error]}
        return plain_values.encoded(action)
    except plain_values.NotPlain:
        return {_NAMED: str(action)}
    except RecursionError:  # it contains itself
        return {_NAMED: type(action).__name__}


def action_text(value: WrittenAction) -> str:
    """Return a recorded action as it is shown.

    >>> action_text({"call": ["archive", [["id", 3]], ""]}), action_text(2)
    ('archive(id=3)', '2')
    """
    try:
        return str(read_action(value, tuple))
    except UnknownAction as unknown:
        return str(unknown)


def read_action(value: WrittenAction, available: Callable[[], Sequence[Action]]) -> Action:
    """Make an action again.

    Args:
        value: What `written` returned.
        available: Returns the actions that the simulator lists now.

    Returns:
        The action; raises `UnknownAction` for one that is known by its text, and not listed.
    """
    if isinstance(value, dict):
        if _CALL in value:
            tool, given, error = value[_CALL]
            return ToolCall(tool, {n: plain_values.decoded(v) for n, v in given}, error)
        if _NAMED in value:
            for action in available():
                if str(action) == value[_NAMED]:
                    return action
            raise UnknownAction(value[_NAMED])
    return plain_values.decoded(value)
