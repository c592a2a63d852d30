"""Choose the draws that are shown for each rule.

A rule may have ten thousand draws. Up to three are shown for each outcome: draws with a transcript
first, from different states if possible, earlier before later. The columns of the execution table
serve all rules at once, so only the chosen draws are read from the journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import Journal
from capscope.report.digest.size_budget import SizeBudget, shortened
from capscope.report.digest.states import StateListing
from capscope.report.draws import ExecutionId, abbreviated_lines, read_executions
from capscope.report.text import CapabilityView
from capscope.sanitize import sanitize_text
from capscope.stats.arrays import Integers, Mask

if TYPE_CHECKING:
    from capscope.run import Run

MOST = 3
"""Draws shown for one outcome."""
OMITTED = "[omitted (size limit)]"
_WHOLE = 450_000
"""The size of all draws without their transcripts."""
_LONGEST_TRANSCRIPT = 8_000
_LONGEST_DETAIL = 400
OutcomeIndex = tuple[int, int, int]
"""Where an outcome is: indices among the capabilities, their rules and their outcomes."""


def add_draws(
    run: Run,
    journal: Journal,
    views: Sequence[CapabilityView],
    capabilities: Sequence[dict[str, Any]],
    listing: StateListing,
    space: SizeBudget,
) -> int:
    """Choose draws for the rules of the digest and add them there, as many as fit.

    Args:
        run: The run.
        journal: Its journal.
        views: Its capabilities.
        capabilities: What is shown of them.
        listing: Lists the states that the draws pass through.
        space: What is left for the report; half of the rest is for transcripts.

    Returns:
        How many of the chosen draws do not fit.
    """
    has_transcript = _with_transcript(run.executions, journal)
    chosen = list(chosen_draws(run, views, capabilities, has_transcript))
    executions = read_executions(run.executions, journal, (row for _, row in chosen))
    own, shown = space.part(_WHOLE), []
    for ((c, r, outcome), row), (place, attempt) in zip(chosen, executions, strict=True):
        trajectory = [listing.number[state] for state in attempt.trajectory]
        draw = {
            **place._asdict(),
            "outcome": outcome,
            "trajectory": trajectory,
            "ending": str(attempt.ending),
            "simulator_steps": attempt.simulator_steps,
            "llm_tokens": attempt.llm_tokens,
            "detail": _shown(attempt.detail, _LONGEST_DETAIL),
            "transcript": OMITTED if has_transcript[row] else "",
        }
        if listing.take(trajectory, own, draw):
            shown.append(draw)
            capabilities[c]["rules"][r]["draws"].append(draw)
    _add_transcripts(journal, shown, space.part(space.left // 2))
    for rule in (rule for one in capabilities for rule in one["rules"]):
        rule["draws"].sort(key=itemgetter("query", "draw", "execution"))
    return len(chosen) - len(shown)


def chosen_draws(
    run: Run,
    views: Sequence[CapabilityView],
    capabilities: Sequence[dict[str, Any]],
    has_transcript: Mask,
) -> Iterator[tuple[OutcomeIndex, int]]:
    """Yield the best execution of every outcome in the digest, then the second best, etc."""
    outcomes = [
        (c, r, o)
        for c, one in enumerate(capabilities)
        for r, rule in enumerate(one["rules"])
        for o in range(len(rule["outcomes"]))
    ]
    transition = run.executions.transition
    # One more, for executions that were cut: their transition is -1.
    group = np.append(_outcome_of_transition(run, views, outcomes), -1)[transition]
    chosen: list[list[int]] = [[] for _ in outcomes]
    for execution in _best(group, transition, has_transcript).tolist():
        chosen[group[execution]].append(execution)
    for rank in range(MOST):
        for outcome, executions in zip(outcomes, chosen, strict=True):
            if rank < len(executions):
                yield outcome, executions[rank]


def _with_transcript(table: ExecutionTable, journal: Journal) -> Mask:
    """Return for each execution whether it has a transcript."""
    found = set(journal.transcribed())
    if not found:
        return np.zeros(len(table), dtype=bool)
    columns = (table.query.tolist(), table.draw.tolist(), table.number.tolist())
    return np.array([place in found for place in zip(*columns, strict=True)], dtype=bool)


def _outcome_of_transition(
    run: Run, views: Sequence[CapabilityView], outcomes: Sequence[OutcomeIndex]
) -> Integers:
    """Return the number of each transition's outcome; -1 if its rule is not in the digest."""
    number = {state: n for n, state in enumerate(run.executions.states)}
    found: dict[tuple[int, int, int], int] = {}
    for i, (c, r, o) in enumerate(outcomes):
        capability = run.graph.index[views[c].intent]
        rule = views[c].rules[r].rule
        effect = rule.outcomes[o].effect
        for state in rule.states:
            after = number.get(effect.apply(state))
            if after is not None:  # otherwise it was seen only in other states of the rule
                found[number[state], capability, after] = i
    seen = run.executions.distinct
    keys = zip(seen.before.tolist(), seen.capability.tolist(), seen.after.tolist(), strict=True)
    return np.array([found.get(key, -1) for key in keys], dtype=np.int64)


def _best(group: Integers, transition: Integers, has_transcript: Mask) -> Integers:
    """Return the best executions of each group."""
    candidates = group >= 0
    parts = (candidates, candidates & has_transcript)
    some = np.unique(np.concatenate([_first_few(transition, np.flatnonzero(p)) for p in parts]))
    # The second draw of a transition is less informative than the first of another one.
    again = np.ones(len(some), dtype=np.int64)
    again[np.unique(transition[some], return_index=True)[1]] = 0
    return _first_few(group, some[np.lexsort((some, again, ~has_transcript[some], group[some]))])


def _first_few(group: Integers, some: Integers) -> Integers:
    """Keep the first few executions of each group, in the given order."""
    order = some[np.argsort(group[some], kind="stable")]
    begins = np.searchsorted(group[order], group[order])
    return order[np.arange(len(order)) - begins < MOST]


def _add_transcripts(journal: Journal, draws: Sequence[dict[str, Any]], space: SizeBudget) -> None:
    """Add the transcripts that fit; a beginning that they share is given only once."""
    earlier: list[str] = []
    first: ExecutionId | None = None
    for draw in draws:
        if draw["transcript"]:
            place = ExecutionId(draw["query"], draw["draw"], draw["execution"])
            lines = journal.transcript(*place).splitlines()
            text = "\n".join(abbreviated_lines(lines, earlier, first))
            text = _shown(text, _LONGEST_TRANSCRIPT)
            if space.take(text):
                draw["transcript"] = text
                if first is None:
                    earlier, first = lines, place


def _shown(text: str, most: int) -> str:
    # Shorten first: escaping a million unprintable characters is slow.
    return sanitize_text(shortened(text, most))
