"""The draws of a capability: what was asked, when, and what the agent did.

A rule gives the share of its draws that ended in each outcome. This shows the draws themselves: the
query they belong to, the state they started from, how they ended, and the transcript if the agent
wrote one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from capscope.present.text import capability_views, changes_text, counted, rule_lines
from capscope.record.journal import Draw
from capscope.sanitize import sanitize, sanitize_lines
from capscope.symbolic import Intent, State, Vocabulary
from capscope.world import Attempt, Ending

if TYPE_CHECKING:
    from capscope.run import Run

_SHORTEST_SHARED_START = 8
"""Lines that transcripts must share at the beginning for it to be shown only once."""


class ExecutionId(NamedTuple):
    """Where in a run an execution was made."""

    query: int
    draw: int
    execution: int

    def __str__(self) -> str:
        return f"query {self.query}, draw {self.draw}, execution {self.execution}"


@dataclass(frozen=True)
class ExecutionRecord:
    """One execution of a capability."""

    id: ExecutionId
    attempt: Attempt
    """With its transcript if that was requested."""

    @property
    def before(self) -> State:
        """The state in which the capability was requested."""
        return self.attempt.trajectory[0]

    @property
    def after(self) -> State:
        """The state in which the execution ended."""
        return self.attempt.trajectory[-1]

    @property
    def cut(self) -> bool:
        """Whether a budget cut it short."""
        return self.attempt.ending is Ending.CUT


@dataclass(frozen=True)
class CapabilityDraws:
    """The executions of one capability in a run."""

    run: Run
    intent: Intent
    executions: tuple[ExecutionRecord, ...]
    omitted: int
    """Executions beyond the limit."""


def capability_draws(
    run: Run, intent: Intent, limit: int | None = None, transcripts: bool = False
) -> CapabilityDraws:
    """Read the executions of a capability up to a limit, including those that were cut."""
    table = run.executions
    found = np.flatnonzero(table.capability == run.graph.index[intent])
    columns = (column[found[:limit]].tolist() for column in (table.query, table.draw, table.number))
    read: dict[int, list[Draw]] = {}
    shown = []
    with run.open_journal() as journal:
        for place in map(ExecutionId, *columns):
            if place.query not in read:
                read[place.query] = journal.draws(place.query)
            attempt = read[place.query][place.draw].executions[place.execution].attempt
            if transcripts:
                attempt = attempt._replace(transcript=journal.transcript(*place))
            shown.append(ExecutionRecord(place, attempt))
    return CapabilityDraws(run, intent, tuple(shown), len(found) - len(shown))


def draw_lines(draws: CapabilityDraws) -> Iterator[str]:
    """Describe the draws rule by rule, then their transcripts."""
    graph = draws.run.graph
    view = next(v for v in capability_views(graph) if v.intent == draws.intent)
    yield f"{sanitize(str(draws.intent))}   ({counted(view.executions, 'draw')})"
    for rule in view.rules:
        yield from rule_lines(rule, graph.vocabulary)
        states = set(rule.rule.states)
        own = [e for e in draws.executions if not e.cut and e.before in states]
        yield from _state_lines(own, graph.vocabulary)
    cut = [e for e in draws.executions if e.cut]
    if cut:
        yield "  cut short by a budget, in no rule:"
        yield from _state_lines(cut, graph.vocabulary)
    if draws.omitted:
        yield f"  {counted(draws.omitted, 'more draw')}"
    yield from _transcript_lines(draws.executions)


def _transcript_lines(executions: Sequence[ExecutionRecord]) -> Iterator[str]:
    earlier: list[str] = []
    first: ExecutionId | None = None
    for execution in executions:
        lines = list(sanitize_lines(execution.attempt.transcript))
        if lines:
            yield ""
            yield f"{execution.id}:"
            yield from (f"  {line}" for line in abbreviated_lines(lines, earlier, first))
            if first is None:
                earlier, first = lines, execution.id


def draws_document(draws: CapabilityDraws, transcripts: bool) -> dict[str, Any]:
    """Return the draws as JSON-ready values; rules are numbered as in `model.json`."""
    graph = draws.run.graph
    rule_of = {
        state: number
        for number, rule in enumerate(graph.rules(draws.intent))
        for state in rule.states
    }
    return {
        "problem": draws.run.problem,
        "intent": [str(literal) for literal in draws.intent.literals],
        "draws": [
            _document(execution, rule_of, graph.vocabulary, transcripts)
            for execution in draws.executions
        ],
        "left_out": draws.omitted,
    }


def _document(
    execution: ExecutionRecord,
    rule_of: dict[State, int],
    vocabulary: Vocabulary,
    transcripts: bool,
) -> dict[str, Any]:
    attempt = execution.attempt
    document = {
        **execution.id._asdict(),
        "rule": None if execution.cut else rule_of.get(execution.before),
        "before": [str(atom) for atom in vocabulary.holding(execution.before)],
        "after": [str(atom) for atom in vocabulary.holding(execution.after)],
        "ending": str(attempt.ending),
        "simulator_steps": attempt.simulator_steps,
        "llm_tokens": attempt.llm_tokens,
        "detail": attempt.detail,
    }
    return document | ({"transcript": attempt.transcript} if transcripts else {})


def _state_lines(executions: Sequence[ExecutionRecord], vocabulary: Vocabulary) -> Iterator[str]:
    """List executions by the state in which they started."""
    ordered = sorted(executions, key=lambda execution: (execution.before, execution.id))
    for before, group in itertools.groupby(ordered, key=lambda execution: execution.before):
        atoms = ", ".join(map(str, vocabulary.holding(before))) or "no atom"
        yield sanitize(f"      in {atoms}:")
        for execution in group:
            changes = changes_text(before, execution.after, vocabulary)
            yield sanitize(f"        {execution.id}: {changes} ({_remarks(execution.attempt)})")


def _remarks(attempt: Attempt) -> str:
    remarks = [str(attempt.ending), counted(attempt.simulator_steps, "step")]
    if attempt.llm_tokens:
        remarks.append(counted(attempt.llm_tokens, "token"))
    if attempt.detail:
        remarks.append(attempt.detail)
    return ", ".join(remarks)


def abbreviated_lines(
    lines: list[str], earlier: list[str], first: ExecutionId | None
) -> Iterator[str]:
    """Yield the lines of a transcript; a long beginning shared with an earlier one is omitted.

    The prompts of an agent are mostly identical.
    """
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(lines, earlier, strict=False))
    common = sum(1 for _ in pairs)
    # An indented line belongs to the line above it.
    while 0 < common < len(lines) and lines[common].startswith(" "):
        common -= 1
    if common < _SHORTEST_SHARED_START:
        common = 0
    else:
        yield f"(begins with the first {common} lines of {first})"
    yield from lines[common:]
