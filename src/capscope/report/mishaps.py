"""That an agent broke down, in a sentence: without it, a broken agent reads as a settled one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from capscope.data.mishaps import Mishap
from capscope.report.harmless import harmless
from capscope.world import Ending

_LONGEST_DETAIL = 200

_WHAT_THE_AGENT_DID = {
    Ending.AGENT_RAISED: "raised",
    Ending.INVALID_ACTION: "chose an action that is not available",
}


def mishap_warnings(mishaps: Sequence[Mishap], run: object = "DIR") -> Iterator[str]:
    """Warn of each way in which the agent broke down, and say where its draws are to be seen."""
    for mishap in mishaps:
        command = f"capscope show {shlex.quote(str(run))} {shlex.quote(str(mishap.capability))}"
        number, of = mishap.executions, mishap.acting
        share = f"all {of:,}" if number == of > 1 else f"{number:,} of {of:,}"
        yield harmless(
            f"warning: {share} {'execution' if of == 1 else 'executions'} in which it had to act "
            f"ended because {what_the_agent_did(mishap)}; the first{_detail(mishap.detail)} "
            f"({command} --draws lists those of {mishap.capability})"
        )


def what_the_agent_did(mishap: Mishap) -> str:
    """Say how the agent broke down."""
    return f"the agent {_WHAT_THE_AGENT_DID[mishap.ending]}"


def _detail(detail: str) -> str:
    if not detail:
        return " said nothing"
    return f": {detail if len(detail) <= _LONGEST_DETAIL else f'{detail[:_LONGEST_DETAIL]}…'}"
