"""That an agent broke down, in a sentence: without it, a broken agent reads as a settled one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from capscope.record.agent_failures import AgentFailure
from capscope.sanitize import sanitize
from capscope.world import Ending

_LONGEST_DETAIL = 200

_WHAT_THE_AGENT_DID = {
    Ending.AGENT_RAISED: "raised",
    Ending.INVALID_ACTION: "chose an action that is not available",
}


def agent_failure_warnings(
    agent_failures: Sequence[AgentFailure], run: object = "DIR"
) -> Iterator[str]:
    """Warn of each way in which the agent broke down, and say where its draws are to be seen."""
    for failure in agent_failures:
        command = f"capscope show {shlex.quote(str(run))} {shlex.quote(str(failure.capability))}"
        number, of = failure.executions, failure.acting
        share = f"all {of:,}" if number == of > 1 else f"{number:,} of {of:,}"
        yield sanitize(
            f"warning: {share} {'execution' if of == 1 else 'executions'} in which it had to act "
            f"ended because {what_the_agent_did(failure)}; the first{_detail(failure.detail)} "
            f"({command} --draws lists those of {failure.capability})"
        )


def what_the_agent_did(failure: AgentFailure) -> str:
    """Say how the agent broke down."""
    return f"the agent {_WHAT_THE_AGENT_DID[failure.ending]}"


def _detail(detail: str) -> str:
    if not detail:
        return " said nothing"
    return f": {detail if len(detail) <= _LONGEST_DETAIL else f'{detail[:_LONGEST_DETAIL]}…'}"
