"""Where a plan begins: where the run did, in a state by its number, or in states by description.

A description may fit several of the states that were seen. Whoever gives one wants to rely on the
plan wherever it holds, so all of them are handed on, the most visited first, and the planner takes
the least favourable. A state that was never seen is no place to plan from: nothing is known of it.
"""

from __future__ import annotations

import re
from pathlib import Path

from capscope.assessment.run import Run
from capscope.errors import CapscopeError, RunError
from capscope.model import Models
from capscope.planning.goal import Goal
from capscope.symbolic import State

_HEX = re.compile(r"0[xX][0-9a-fA-F]+\Z")


def where_it_began(path: Path) -> State:
    """Return the state in which a run asked its first query."""
    with Run.open(path, read_only=True) as run:
        first = run.journal.query(0)
    if first is None:
        raise RunError(f"{path} has asked nothing yet; go on with `capscope resume {path}`")
    return first.start


def states_described(text: str, models: Models) -> tuple[State, ...]:
    """Return the states seen that fit a description or a number, the most visited first."""
    wanted = text.strip()
    if _HEX.match(wanted):
        return (_numbered(int(wanted, 16), models),)
    description = Goal.parse(wanted, models.vocabulary)
    fitting = [state for state in models.places if description.holds(state)]
    if not fitting:
        raise CapscopeError(
            f"in no state that was seen does {description} hold; a plan can "
            "begin only where the agent was seen to be"
        )
    return tuple(sorted(fitting, key=lambda state: (-_departures(models, state), state)))


def _numbered(state: State, models: Models) -> State:
    if state not in models.places:
        raise CapscopeError(
            f"state {state:#x} was never seen; the states of a run are in its model.json, or "
            "describe it by what holds there, like 'on(a,b) and not holding(c)'"
        )
    return state


def _departures(models: Models, state: State) -> int:
    return sum(pair.total for pair in models.places[state].pairs if pair is not None)
