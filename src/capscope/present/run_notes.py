"""What a reader must know of a run before its model: all of it, wherever a run is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from capscope.analysis.aliasing import Aliasing
from capscope.present.agent_failures import agent_failure_warnings
from capscope.present.aliasing import aliasing_notes
from capscope.present.initial_positions import initial_position_notes
from capscope.record.agent_failures import AgentFailure
from capscope.record.initial_positions import InitialPositions
from capscope.symbolic import State


def run_notes(
    agent_failures: Sequence[AgentFailure],
    initial_positions: InitialPositions,
    aliasing: Aliasing,
    always: State,
    run: object = "DIR",
) -> Iterator[str]:
    """Say that the agent broke down, where else a run may begin, what the words leave out."""
    yield from agent_failure_warnings(agent_failures, run)
    yield from initial_position_notes(initial_positions)
    yield from aliasing_notes(aliasing, always)
