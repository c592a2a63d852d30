"""The draws behind the rules of a capability: what was asked, when, and what the agent did."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from capscope.insight.rule_wording import family_of, instances, objects_lines, states_tried
from capscope.journal.draws import Draw
from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import Journal
from capscope.logic import Intent, State, Vocabulary, changes_text
from capscope.problem import Attempt, Ending
from capscope.problem.actions import WrittenAction, action_text
from capscope.sanitize import sanitize, sanitize_lines
from capscope.wording import counted, cropped

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


_LONGEST_ACTIONS = 200
Execution = tuple[ExecutionId, Attempt]
"""One execution of a capability; the attempt has its transcript only if that was requested."""


def execution_id(table: ExecutionTable, row: int) -> ExecutionId:
    """Return where the execution in a row of the table was made."""
    columns = (table.query, table.draw, table.number)
    return ExecutionId(*(int(column[row]) for column in columns))


def actions_text(actions: Sequence[WrittenAction] | None) -> str:
    """Return the actions of an execution in one line."""
    text = cropped(", ".join(map(action_text, actions or ())), _LONGEST_ACTIONS)
    return text or "no action recorded"


def read_executions(
    table: ExecutionTable, journal: Journal, rows: Iterable[int]
) -> Iterator[Execution]:
    """Read the executions in some rows of the table, without their transcripts."""
    read: dict[int, list[Draw]] = {}
    for row in rows:
        place = execution_id(table, row)
        if place.query not in read:
            read[place.query] = journal.draws(place.query)
        yield place, read[place.query][place.draw].executions[place.execution].attempt


def _executions(
    run: Run, intent: Intent, limit: int | None, transcripts: bool
) -> tuple[list[Execution], int]:
    """Return executions of a capability, including those that were cut, and how many more."""
    found = np.flatnonzero(run.executions.capability == run.graph.index[intent])
    with run.open_journal() as journal:
        made = cache(journal.actions)
        shown = [
            (
                place,
                attempt._replace(
                    actions=made(*place[:2])[place.execution] or (),
                    transcript=journal.transcript(*place) if transcripts else "",
                ),
            )
            for place, attempt in read_executions(run.executions, journal, found[:limit])
        ]
    return shown, len(found) - len(shown)


def draw_lines(
    run: Run, intent: Intent, limit: int | None = None, transcripts: bool = False
) -> Iterator[str]:
    """Describe the draws of a capability rule by rule, then their transcripts if requested."""
    vocabulary, model = run.graph.vocabulary, run.model
    executions, omitted = _executions(run, intent, limit, transcripts)
    complete = [one for one in executions if one[1].ending is not Ending.CUT]
    number = sum(
        p.total for n in run.graph.nodes.values() if (p := n.pairs[run.graph.index[intent]])
    )
    yield f"{sanitize(str(intent))}   ({counted(number, 'execution')})"
    yield from objects_lines(model, intent)
    for words, states in instances(model, intent):
        yield from words.lines("  ")
        own = set(states)
        yield from _state_lines([one for one in complete if _before(one) in own], vocabulary)
    cut = [one for one in executions if one[1].ending is Ending.CUT]
    if cut:
        yield "  cut short by a budget, in no rule:"
        yield from _state_lines(cut, vocabulary)
    if omitted:
        yield f"  {counted(omitted, 'more execution')}"
    yield from _transcript_lines(executions)
    if transcripts and not any(attempt.transcript for _, attempt in executions):
        yield "there is no transcript of these executions"


def _transcript_lines(executions: Sequence[Execution]) -> Iterator[str]:
    earlier: list[str] = []
    first: ExecutionId | None = None
    for place, attempt in executions:
        lines = list(sanitize_lines(attempt.transcript))
        if lines:
            yield ""
            yield f"{place}:"
            yield from (f"  {line}" for line in abbreviated_lines(lines, earlier, first))
            if first is None:
                earlier, first = lines, place


def draws_document(
    run: Run, intent: Intent, limit: int | None = None, transcripts: bool = False
) -> dict[str, Any]:
    """Return the draws as JSON-ready values; rules are numbered as in the family's list."""
    executions, omitted = _executions(run, intent, limit, transcripts)
    tried = states_tried(run.model, family_of(run.model, intent), intent)
    rule_of = {state: number for number, states in tried.items() for state in states}
    vocabulary = run.graph.vocabulary
    return {
        "problem": run.problem,
        "intent": intent.as_lists(),
        "draws": [
            {
                **place._asdict(),
                "rule": None
                if attempt.ending is Ending.CUT
                else rule_of.get(attempt.trajectory[0]),
                "before": [str(atom) for atom in vocabulary.holding(attempt.trajectory[0])],
                "after": [str(atom) for atom in vocabulary.holding(attempt.trajectory[-1])],
                "ending": str(attempt.ending),
                "simulator_steps": attempt.simulator_steps,
                "llm_tokens": attempt.llm_tokens,
                "detail": attempt.detail,
                "actions": attempt.actions,
                **({"transcript": attempt.transcript} if transcripts else {}),
            }
            for place, attempt in executions
        ],
        "left_out": omitted,
    }


def _state_lines(executions: Sequence[Execution], vocabulary: Vocabulary) -> Iterator[str]:
    """List executions by the state in which they started."""
    ordered = sorted(executions, key=lambda one: (_before(one), one[0]))
    for before, group in itertools.groupby(ordered, key=_before):
        atoms = ", ".join(map(str, vocabulary.holding(before))) or "no atom"
        yield sanitize(f"      in {atoms}:")
        for place, attempt in group:
            changes = changes_text(before, attempt.trajectory[-1], vocabulary)
            yield sanitize(f"        {place}: {changes} ({_remarks(attempt)})")
            yield sanitize(f"          {actions_text(attempt.actions)}")


def _before(execution: Execution) -> State:
    return execution[1].trajectory[0]


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
