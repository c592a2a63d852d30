"""The draws behind a rule: what was asked, when, and what the agent did with it.

A rule says what share of its draws ended how. Whoever doubts it, or wonders why, wants to see these
draws: in which query they were made, from which state, how they ended, and what the agent said
meanwhile, if it wrote that down.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from capscope.assessment.reading import Reading
from capscope.present.text import RuleView, capability_views, counted, rule_lines
from capscope.record.journal import Journal
from capscope.record.run_directory import RunDirectory
from capscope.sanitize import sanitize, sanitize_lines
from capscope.symbolic import Effect, Intent, State, Vocabulary
from capscope.world import Attempt, Ending

_FEWEST_LEFT_OUT = 8
"""Lines that transcripts must share at their beginning for it to be shown only once."""


class ExecutionId(NamedTuple):
    """Where in a run an execution was made."""

    query: int
    draw: int
    execution: int

    def __str__(self) -> str:
        return f"query {self.query}, draw {self.draw}, execution {self.execution}"


@dataclass(frozen=True)
class Behind:
    """One execution of a capability."""

    place: ExecutionId
    attempt: Attempt
    """Its transcript is there if it was asked for."""

    @property
    def before(self) -> State:
        """The state in which the capability was asked for."""
        return self.attempt.trajectory[0]

    @property
    def after(self) -> State:
        """The state in which the attempt ended."""
        return self.attempt.trajectory[-1]


@dataclass(frozen=True)
class DrawsBehind:
    """The executions of one capability in a run."""

    reading: Reading
    intent: Intent
    executions: tuple[Behind, ...]
    left_out: int
    """Executions beyond the limit."""


def draws_behind(
    reading: Reading, intent: Intent, limit: int | None = None, transcripts: bool = False
) -> DrawsBehind:
    """Read the executions of a capability, the first so many of them; those that were cut, too."""
    wanted = reading.graph.index[intent]
    with RunDirectory.open(reading.path, read_only=True) as run:
        # Queries begun since the run was read are in no rule.
        found = [
            Behind(ExecutionId(query, draw, number), execution.attempt)
            for query in range(reading.usage.queries)
            for draw, made in enumerate(run.journal.draws(query))
            for number, execution in enumerate(made.executions)
            if execution.capability == wanted
        ]
        shown = found[:limit]
        if transcripts:
            shown = [_with_transcript(behind, run.journal) for behind in shown]
    return DrawsBehind(reading, intent, tuple(shown), len(found) - len(shown))


def _with_transcript(behind: Behind, journal: Journal) -> Behind:
    text = journal.transcript(*behind.place)
    return replace(behind, attempt=behind.attempt._replace(transcript=text))


def draw_lines(draws: DrawsBehind) -> Iterator[str]:
    """Write the draws down rule by rule, each with its transcript if there is one."""
    graph = draws.reading.graph
    view = next(v for v in capability_views(graph) if v.intent == draws.intent)
    counting = [b for b in draws.executions if b.attempt.ending is not Ending.CUT]
    shown: ExecutionId | None = None
    yield f"{draws.intent}   ({counted(view.executions, 'draw')})"
    for rule in view.rules:
        yield from rule_lines(rule, graph.vocabulary)
        yield from _state_lines(_behind(rule, counting), graph.vocabulary)
    cut = [b for b in draws.executions if b.attempt.ending is Ending.CUT]
    if cut:
        yield "  cut short by a budget, in no rule:"
        yield from _state_lines(cut, graph.vocabulary)
    if draws.left_out:
        yield f"  {counted(draws.left_out, 'more draw')}"
    earlier: list[str] = []
    for behind in draws.executions:
        lines = list(sanitize_lines(behind.attempt.transcript))
        if lines:
            yield ""
            yield f"{behind.place}:"
            yield from (f"  {line}" for line in lines_unlike(lines, earlier, shown))
            if shown is None:
                earlier, shown = lines, behind.place


def draws_document(draws: DrawsBehind, transcripts: bool) -> dict[str, Any]:
    """Return the draws as JSON-ready values; rules are numbered as in the model's document."""
    graph = draws.reading.graph
    rule_of = {
        state: number
        for number, rule in enumerate(graph.rules(draws.intent))
        for state in rule.states
    }
    return {
        "problem": draws.reading.problem,
        "intent": [str(literal) for literal in draws.intent.literals],
        "draws": [
            _document(behind, rule_of, graph.vocabulary, transcripts) for behind in draws.executions
        ],
        "left_out": draws.left_out,
    }


def _document(
    behind: Behind, rule_of: dict[State, int], words: Vocabulary, transcripts: bool
) -> dict[str, Any]:
    attempt = behind.attempt
    counts = attempt.ending is not Ending.CUT
    document = {
        **behind.place._asdict(),
        "rule": rule_of.get(behind.before) if counts else None,
        "before": [str(atom) for atom in words.holding(behind.before)],
        "after": [str(atom) for atom in words.holding(behind.after)],
        "ending": str(attempt.ending),
        "simulator_steps": attempt.simulator_steps,
        "llm_tokens": attempt.llm_tokens,
        "detail": attempt.detail,
    }
    return document | ({"transcript": attempt.transcript} if transcripts else {})


def _behind(rule: RuleView, executions: Iterable[Behind]) -> list[Behind]:
    states = set(rule.rule.states)
    return [behind for behind in executions if behind.before in states]


def _state_lines(executions: Sequence[Behind], words: Vocabulary) -> Iterator[str]:
    """List executions by the state that they began in."""
    ordered = sorted(executions, key=lambda behind: (behind.before, behind.place))
    for before, group in itertools.groupby(ordered, key=lambda behind: behind.before):
        yield f"      in {', '.join(map(str, words.holding(before))) or 'no atom'}:"
        for behind in group:
            literals = Effect.between(before, behind.after).literals(words)
            changes = ", ".join(map(str, literals)) or "nothing changes"
            yield f"        {behind.place}: {changes} ({_remarks(behind.attempt)})"


def _remarks(attempt: Attempt) -> str:
    remarks = [str(attempt.ending), counted(attempt.simulator_steps, "step")]
    if attempt.llm_tokens:
        remarks.append(counted(attempt.llm_tokens, "token"))
    if attempt.detail:
        remarks.append(sanitize(attempt.detail))
    return ", ".join(remarks)


def lines_unlike(lines: list[str], earlier: list[str], shown: ExecutionId | None) -> Iterator[str]:
    """Yield the lines of a transcript; a beginning that it shares with one shown before is named.

    Agents are told much the same each time.
    """
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(lines, earlier, strict=False))
    common = sum(1 for _ in pairs)
    # What is indented belongs to the line above it and is not torn from it.
    while 0 < common < len(lines) and lines[common].startswith(" "):
        common -= 1
    if common < _FEWEST_LEFT_OUT:
        common = 0
    else:
        yield f"(begins with the first {common} lines of {shown})"
    yield from lines[common:]
