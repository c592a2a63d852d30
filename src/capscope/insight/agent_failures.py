"""Executions in which the agent failed: it raised, chose an action that is not available, or had a
conversation that the language model's server refused.

Such an attempt is an outcome like any other. But an agent with a bug fails everywhere, and its
model then looks settled: nothing ever changes. So every view of a run says how many executions
ended like that, of those in which the agent had to act (the intent did not hold already).
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from capscope.journal.draws import ENDINGS
from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import Journal
from capscope.logic import Intent, Vocabulary
from capscope.problem.attempt import Ending
from capscope.sanitize import sanitize
from capscope.stats.arrays import Mask

FAILURES = {
    Ending.AGENT_RAISED: "raised an exception",
    Ending.INVALID_ACTION: "chose an action that is not available",
    Ending.REFUSED: "had a conversation that the server of its model refused",
}
"""What the agent did, by how its executions ended."""
_LONGEST_DETAIL = 200


@dataclass(frozen=True, slots=True)
class AgentFailure:
    """The executions that ended because the agent failed, of one kind."""

    ending: Ending
    executions: int
    had_to_act: int
    """Executions in which the agent had to act, or failed without having to."""
    capability: Intent
    """What the agent was asked for in the first of them."""
    detail: str
    """The message of the first of them; untrusted."""


def find_agent_failures(
    table: ExecutionTable,
    open_journal: Callable[[], AbstractContextManager[Journal]],
    intents: Sequence[Intent],
    vocabulary: Vocabulary,
) -> tuple[AgentFailure, ...]:
    """List the failures of the agent by kind; the journal is opened only if there are any."""
    found = {e: np.flatnonzero(table.ending == ENDINGS.index(e)) for e in FAILURES}
    if not any(map(len, found.values())):
        return ()
    held = _held_before(table, intents, vocabulary)
    to_act = int((~held).sum())
    failures = []
    for ending, rows in found.items():
        if len(rows):
            query, draw, number = (int(c[rows[0]]) for c in (table.query, table.draw, table.number))
            with open_journal() as journal:
                attempt = journal.draws(query)[draw].executions[number].attempt
            acting = to_act + int(held[rows].sum())
            intent = intents[table.capability[rows[0]]]
            failures.append(AgentFailure(ending, len(rows), acting, intent, attempt.detail))
    return tuple(failures)


def _held_before(table: ExecutionTable, intents: Sequence[Intent], vocabulary: Vocabulary) -> Mask:
    """Return for each execution whether its intent already held."""
    pairs, which = np.unique(
        np.stack([table.capability, table.before]), axis=1, return_inverse=True
    )
    held = [intents[c].holds(table.states[s], vocabulary) for c, s in pairs.T.tolist()]
    return np.array(held, dtype=bool)[which.reshape(-1)]


def agent_failure_warnings(
    agent_failures: Sequence[AgentFailure], run: object = "DIR"
) -> Iterator[str]:
    """Warn about each kind of agent failure, with the command that lists its draws."""
    for failure in agent_failures:
        command = f"capscope show {shlex.quote(str(run))} {shlex.quote(str(failure.capability))}"
        number, of = failure.executions, failure.had_to_act
        share = f"all {of:,}" if number == of > 1 else f"{number:,} of {of:,}"
        detail, rest = failure.detail[:_LONGEST_DETAIL], failure.detail[_LONGEST_DETAIL:]
        first = f"first: {detail}{'…' if rest else ''}; " if detail else ""
        yield sanitize(
            f"warning: {share} {'execution' if of == 1 else 'executions'} in which the agent had "
            f"to act ended because it {agent_failure_text(failure)} ({first}list the executions "
            f"with {command} --draws)"
        )


def agent_failure_text(failure: AgentFailure) -> str:
    """Return what the agent did."""
    return FAILURES[failure.ending]
