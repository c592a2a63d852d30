"""The goal of a plan, and the states where it may start.

A goal is a conjunction of literals, or several joined by `or`: `on(a,b) and not holding(c)`,
`on(a,b) or on(b,a)`. It need not be an intent, and the agent never sees it.

A plan starts where the run did, in a state given as a number, or in states that match a description
written like a goal. If several match, the planner takes the least favorable, so that the plan is
reliable in all of them. A state that was never seen is rejected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from capscope.errors import CapscopeError
from capscope.logic import Condition, State, StateTest, Vocabulary
from capscope.model import StateGraph

_HEX = re.compile(r"0[xX][0-9a-fA-F]+\Z")


@dataclass(frozen=True)
class Goal:
    """A condition over a vocabulary."""

    condition: Condition
    vocabulary: Vocabulary

    @classmethod
    def parse(cls, text: str, vocabulary: Vocabulary) -> Goal:
        """Read conjunctions joined by `or` or `|`; the error for an unknown atom suggests others.

        >>> vocabulary = Vocabulary.of_atoms(["open", "lit"])
        >>> str(Goal.parse("open and not lit or lit", vocabulary))
        'not lit() and open() or lit()'
        """
        return cls(Condition.parse(text, vocabulary), vocabulary)

    def __str__(self) -> str:
        return str(self.condition)

    def holds(self, state: State) -> bool:
        """Return whether the goal holds in a state."""
        return self._test(state)

    @cached_property
    def _test(self) -> StateTest:
        return self.condition.test(self.vocabulary)


def matching_states(text: str, graph: StateGraph) -> tuple[State, ...]:
    """Return the observed states that match a description or a number, most visited first."""
    text = text.strip()
    if _HEX.match(text):
        state = int(text, 16)
        if state not in graph.nodes:
            raise CapscopeError(
                f"state {state:#x} was never seen; the states of a run are in its model.json, or "
                "describe the state, like 'on(a,b) and not holding(c)'"
            )
        return (state,)
    description = Goal.parse(text, graph.vocabulary)
    found = [state for state in graph.nodes if description.holds(state)]
    if not found:
        raise CapscopeError(
            f"{description} holds in no state that was seen; a plan can only start in such a state"
        )
    return tuple(sorted(found, key=lambda state: (-graph.nodes[state].departures, state)))
