"""The draws behind the rules of a capability: what was asked, when, and what the agent did."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from capscope.journal.draws import Draw
from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import Journal
from capscope.logic import Intent, State, Vocabulary, changes_text
from capscope.problem import Attempt, Ending
from capscope.report.text import capability_views, rule_lines
from capscope.sanitize import sanitize, sanitize_lines
from capscope.wording import counted

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


class ExecutionRecord(NamedTuple):
    """One execution of a capability; `attempt` has its transcript only if that was requested."""

    id: ExecutionId
    attempt: Attempt

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


def read_executions(
    table: ExecutionTable, journal: Journal, rows: Iterable[int]
) -> Iterator[ExecutionRecord]:
    """Read the executions in some rows of the table, without their transcripts."""
    read: dict[int, list[Draw]] = {}
    for row in rows:
        columns = (table.query, table.draw, table.number)
        place = ExecutionId(*(int(column[row]) for column in columns))
        if place.query not in read:
            read[place.query] = journal.draws(place.query)
        attempt = read[place.query][place.draw].executions[place.execution].attempt
        yield ExecutionRecord(place, attempt)


def _executions(
    run: Run, intent: Intent, limit: int | None, transcripts: bool
) -> tuple[list[ExecutionRecord], int]:
    """Return executions of a capability, including those that were cut, and how many more."""
    found = np.flatnonzero(run.executions.capability == run.graph.index[intent])
    with run.open_journal() as journal:
        shown = list(read_executions(run.executions, journal, found[:limit]))
        if transcripts:
            shown = [
                ExecutionRecord(place, attempt._replace(transcript=journal.transcript(*place)))
                for place, attempt in shown
            ]
    return shown, len(found) - len(shown)


def draw_lines(
    run: Run, intent: Intent, limit: int | None = None, transcripts: bool = False
) -> Iterator[str]:
    """Describe the draws of a capability rule by rule, then their transcripts if requested."""
    vocabulary = run.graph.vocabulary
    executions, omitted = _executions(run, intent, limit, transcripts)
    view = next(v for v in capability_views(run.graph) if v.intent == intent)
    yield f"{sanitize(str(intent))}   ({counted(view.executions, 'execution')})"
    for rule in view.rules:
        yield from rule_lines(rule, vocabulary)
        states = set(rule.rule.states)
        own = [e for e in executions if not e.cut and e.before in states]
        yield from _state_lines(own, vocabulary)
    cut = [e for e in executions if e.cut]
    if cut:
        yield "  cut short by a budget, in no rule:"
        yield from _state_lines(cut, vocabulary)
    if omitted:
        yield f"  {counted(omitted, 'more execution')}"
    yield from _transcript_lines(executions)
    if transcripts and not any(e.attempt.transcript for e in executions):
        yield "there is no transcript of these executions"


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


def draws_document(
    run: Run, intent: Intent, limit: int | None = None, transcripts: bool = False
) -> dict[str, Any]:
    """Return the draws as JSON-ready values; rules are numbered as in `model.json`."""
    executions, omitted = _executions(run, intent, limit, transcripts)
    rules, vocabulary = enumerate(run.graph.rules(intent)), run.graph.vocabulary
    rule_of = {state: number for number, rule in rules for state in rule.states}
    return {
        "problem": run.problem,
        "intent": intent.as_lists(),
        "draws": [
            {
                **execution.id._asdict(),
                "rule": None if execution.cut else rule_of.get(execution.before),
                "before": [str(atom) for atom in vocabulary.holding(execution.before)],
                "after": [str(atom) for atom in vocabulary.holding(execution.after)],
                "ending": str(execution.attempt.ending),
                "simulator_steps": execution.attempt.simulator_steps,
                "llm_tokens": execution.attempt.llm_tokens,
                "detail": execution.attempt.detail,
                **({"transcript": execution.attempt.transcript} if transcripts else {}),
            }
            for execution in executions
        ],
        "left_out": omitted,
    }


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
    tokens = counted(attempt.llm_tokens, "token") if attempt.llm_tokens else ""
    remarks = (attempt.ending, counted(attempt.simulator_steps, "step"), tokens, attempt.detail)
    return ", ".join(remark for remark in remarks if remark)


def abbreviated_lines(
    lines: list[str], earlier: list[str], first: ExecutionId | None
) -> Iterator[str]:
    """Yield the lines of a transcript; a long beginning shared with an earlier one is omitted."""
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
