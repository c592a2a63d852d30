"""Where a plan begins: where the run did, in a state by its number, or in states by description.

A description may fit several of the states that were seen. Whoever gives one wants to rely on the
plan wherever it holds, so all of them are handed on, the most visited first, and the planner takes
the least favourable. A state that was never seen is no place to plan from: nothing is known of it.
"""

from __future__ import annotations

import re

from capscope.analysis.planning.goal import Goal
from capscope.errors import CapscopeError
from capscope.model import StateGraph
from capscope.symbolic import State

_HEX = re.compile(r"0[xX][0-9a-fA-F]+\Z")


def states_described(text: str, graph: StateGraph) -> tuple[State, ...]:
    """Return the states seen that fit a description or a number, the most visited first."""
    wanted = text.strip()
    if _HEX.match(wanted):
        return (_numbered(int(wanted, 16), graph),)
    description = Goal.parse(wanted, graph.vocabulary)
    fitting = [state for state in graph.nodes if description.holds(state)]
    if not fitting:
        raise CapscopeError(
            f"in no state that was seen does {description} hold; a plan can "
            "begin only where the agent was seen to be"
        )
    return tuple(sorted(fitting, key=lambda state: (-graph.nodes[state].departures, state)))


def _numbered(state: State, graph: StateGraph) -> State:
    if state not in graph.nodes:
        raise CapscopeError(
            f"state {state:#x} was never seen; the states of a run are in its model.json, or "
            "describe it by what holds there, like 'on(a,b) and not holding(c)'"
        )
    return state
