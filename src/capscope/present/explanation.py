"""Explain one query: what was asked and why, what was observed, and what was learned from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capscope.assessment.run_state import tally
from capscope.errors import CapscopeError
from capscope.model import StateGraph
from capscope.present.text import changes_text, counted
from capscope.record.journal import Draw, Journal, QueryRecord
from capscope.record.run_directory import RunDirectory
from capscope.record.execution_table import Transition
from capscope.sanitize import sanitize
from capscope.symbolic import Effect, Vocabulary

_MOST_ANSWERS = 8
_MOST_LESSONS = 12


@dataclass(frozen=True)
class ExplainedQuery:
    """A query with the model as it was before it."""

    number: int
    record: QueryRecord
    draws: tuple[Draw, ...]
    before: StateGraph
    """What was known when the query was chosen."""
    transitions: Counter[Transition]


def explain_query(path: Path, number: int | None) -> ExplainedQuery:
    """Replay a run up to a query; without a number, up to the last one."""
    with RunDirectory.open(path, read_only=True) as run:
        journal = run.journal
        vocabulary = Vocabulary.from_dict(journal.read_meta()["vocabulary"])
        graph = StateGraph(vocabulary, journal.intents())
        last = _last_query(journal)
        chosen = last if number is None else number
        if not 0 <= chosen <= last:
            asked = "no query yet" if last < 0 else f"queries 0 to {last}"
            raise CapscopeError(f"{path} has {asked}; there is no query {chosen}")
        for earlier in range(chosen):
            graph.update(tally(journal.draws(earlier), len(graph.capabilities)))
        record = journal.query(chosen)
        assert record is not None
        draws = tuple(journal.draws(chosen))
        return ExplainedQuery(chosen, record, draws, graph, tally(draws, len(graph.capabilities)))


def _last_query(journal: Journal) -> int:
    number = -1
    while journal.query(number + 1) is not None:
        number += 1
    return number


def explanation_lines(query: ExplainedQuery) -> Iterator[str]:
    """Describe the query, line by line."""
    return map(sanitize, _lines(query))


def _lines(query: ExplainedQuery) -> Iterator[str]:
    record, vocabulary = query.record, query.before.vocabulary
    kind = "informative" if record.informative else "not expected to be informative"
    bonus = f", ξ {record.xi:.2g}" if record.xi else ""
    yield f"query {query.number}: {kind}, predicted disagreement {record.predicted:.4g}{bonus}"
    yield f"start: {', '.join(map(str, vocabulary.holding(record.start))) or 'no atom holds'}"
    yield ""
    yield "asked:"
    yield from _policy_lines(query)
    yield ""
    yield f"observed ({counted(len(query.draws), 'draw')}):"
    yield from _answer_lines(query)
    yield ""
    yield from _lesson_lines(query)


def _policy_lines(query: ExplainedQuery) -> Iterator[str]:
    if query.record.policy is None:
        yield "  the query was not finished; its policy is not recorded yet"
        return
    policy = json.loads(query.record.policy)
    names = query.before.capabilities
    if policy["kind"] == "sequence":
        yield "  a random sequence (no policy was searched for, or none was informative):"
        yield "  " + ", ".join(str(names[c]) for c in policy["capabilities"])
    elif policy["kind"] == "graph":
        yield from _graph_lines(policy, query)
    elif policy["kind"] == "targets":
        yield from _target_lines(policy, query)
    else:
        for choice in policy["choices"]:
            asked = "end" if choice["capability"] is None else str(names[choice["capability"]])
            yield f"  {choice['depth'] + 1}. {_seeing(query, choice['state'])}: {asked}"


def _graph_lines(policy: dict[str, Any], query: ExplainedQuery) -> Iterator[str]:
    """Walk the graph from its entry; a node that is reached again is not expanded."""
    names = query.before.capabilities
    numbered: set[int] = set()
    stack = [(1, state, node) for state, node in policy["entry"].items()]
    while stack:
        depth, state, node = stack.pop()
        again = " (as above)" if node in numbered else ""
        asked = names[policy["capabilities"][node]]
        yield f"  {depth}. {_seeing(query, state)}: {asked}{again}"
        if node not in numbered:
            numbered.add(node)
            edges = policy["edges"][node].items()
            stack += [(depth + 1, state, child) for state, child in reversed(edges)]


def _target_lines(policy: dict[str, Any], query: ExplainedQuery) -> Iterator[str]:
    """List what each draw began with; it continued with what was promising afterwards."""
    for number, target in enumerate(policy["targets"], 1):
        draws = target["draws"]
        before = f"executed {counted(draws, 'time')} before" if draws else "never tried"
        asked = query.before.capabilities[target["capability"]]
        seeing = _seeing(query, target["state"])
        yield f"  {number}. {seeing}: {asked} ({before}; expected gain {target['gain']:.2g})"
    yield "  then whatever had at least half that expected gain in the states reached"


def _seeing(query: ExplainedQuery, state: str) -> str:
    """Describe an observed state by how it differs from the start."""
    seen, start = int(state, 16), query.record.start
    if seen == start:
        return "seeing the start state"
    return f"seeing {changes_text(start, seen, query.before.vocabulary)}"


def _answer_lines(query: ExplainedQuery) -> Iterator[str]:
    names, vocabulary = query.before.capabilities, query.before.vocabulary
    answers = Counter(
        tuple((c, a.trajectory[0], a.trajectory[-1], a.ending) for c, a in draw.executions)
        for draw in query.draws
    )
    for answer, count in answers.most_common(_MOST_ANSWERS):
        yield f"  {count}×" + ("" if answer else " nothing was asked")
        for capability, before, after, ending in answer:
            yield f"     {names[capability]} → {changes_text(before, after, vocabulary)} ({ending})"
    if len(answers) > _MOST_ANSWERS:
        yield f"  and {len(answers) - _MOST_ANSWERS} other answers"


def _lesson_lines(query: ExplainedQuery) -> Iterator[str]:
    graph, vocabulary = query.before, query.before.vocabulary
    new = [t for t in query.transitions if not _known(graph, t)]
    beliefs = {t: _belief(graph, t) for t in new}
    learned = graph.update(query.transitions)
    yield (
        f"learned: {counted(learned.new_pairs, 'new pair')}, "
        f"{counted(learned.new_transitions, 'new transition')}, "
        f"largest change of a probability {learned.largest_shift:.3f}"
    )
    for transition in new[:_MOST_LESSONS]:
        outcome = changes_text(transition.before, transition.after, vocabulary)
        yield f"  {graph.capabilities[transition.capability]}: {outcome}; {beliefs[transition]}"
    if len(new) > _MOST_LESSONS:
        yield f"  and {len(new) - _MOST_LESSONS} more"


def _known(graph: StateGraph, transition: Transition) -> bool:
    pair = graph.pair(transition.before, transition.capability)
    effect = Effect.between(transition.before, transition.after)
    return pair is not None and effect in pair.counts


def _belief(graph: StateGraph, transition: Transition) -> str:
    pair = graph.pair(transition.before, transition.capability)
    if pair is not None:
        return f"not seen in {counted(pair.total, 'execution')} before"
    intent = graph.capabilities[transition.capability]
    believed = graph.optimistic.predict(transition.before, intent).get(transition.after, 0.0)
    return f"never tried here; the optimistic model predicted it with {believed:.2f}"
