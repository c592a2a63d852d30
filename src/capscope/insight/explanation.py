"""Explain one query: what was asked and why, what was observed, and what was learned from it.

If the strategy infers, what was believed before a query is what the learned model inferred. Fitting
that model takes nearly all the time, so it is fitted only if a pair was never tried before. The
queries of the audit share the model that was audited.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from capscope.errors import CapscopeError
from capscope.journal.draws import Draw, QueryRecord
from capscope.journal.execution_table import Transition
from capscope.logic import Effect, Intent, Vocabulary, changes_text
from capscope.model import ExtremeModels, Learned, LearnedModel, StateGraph
from capscope.sanitize import sanitize
from capscope.strategy.registry import STRATEGIES
from capscope.wording import counted

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts

_MOST_ANSWERS = 8
_MOST_LESSONS = 12


@dataclass(frozen=True)
class Explanation:
    """A query: the prediction, the observations, and what was learned."""

    number: int
    strategy: str
    record: QueryRecord
    draws: tuple[Draw, ...]
    capabilities: Sequence[Intent]
    vocabulary: Vocabulary
    news: Mapping[Transition, str]
    """The new transitions, each with its earlier prediction."""
    learned: Learned

    @property
    def lines(self) -> list[str]:
        """The explanation in words."""
        return list(map(sanitize, _lines(self)))

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        record = self.record
        return {
            "query": self.number,
            "predicted": record.predicted,
            "informative": record.informative,
            "xi": record.xi,
            "start": hex(record.start.state),
            "policy": json.loads(record.policy) if record.policy else None,
            "draws": len(self.draws),
            "explanation": self.lines,
        }

    def __str__(self) -> str:
        return "\n".join(self.lines)


def explain(run: RunFacts, number: int | None = None) -> Explanation:
    """Explain a query of a run; without a number, the last one."""
    table = run.executions
    last = len(table.queries) - 1
    chosen = last if number is None else number
    if not 0 <= chosen <= last:
        asked = "no query yet" if last < 0 else f"queries 0 to {last}"
        raise CapscopeError(f"{run.path} has {asked}; there is no query {chosen}")
    with run.open_journal() as journal:
        record, draws = journal.query(chosen), tuple(journal.draws(chosen))
    assert record is not None
    graph = StateGraph(run.graph.vocabulary, run.capabilities)
    graph.update(table.first_queries(chosen).transitions())
    models = cache(lambda: _models_before(run, chosen, record, graph))
    transitions = next(
        itertools.islice(table.transitions_by_query(), chosen, None), Counter[Transition]()
    )
    beliefs = {transition: _belief(graph, transition, models) for transition in transitions}
    news = {transition: belief for transition, belief in beliefs.items() if belief}
    learned = graph.update(transitions)
    return Explanation(
        chosen, run.identity.strategy, record, draws, run.capabilities, graph.vocabulary, news,
        learned,
    )  # fmt: skip


def _models_before(
    run: RunFacts, number: int, record: QueryRecord, graph: StateGraph
) -> ExtremeModels | LearnedModel:
    """Return the model before a query; `graph` has everything seen until then."""
    known = STRATEGIES.get(run.identity.strategy)
    if known is None or not known.infers:
        return ExtremeModels(graph)
    in_audit = not record.informative
    if in_audit and run.audit is not None and number >= run.audit.since_query:
        return run.model
    for state in run.initial_positions.states:
        graph.node(state)
    return LearnedModel.fitted(graph, run.identity.seed, run.lessons)


def _lines(query: Explanation) -> Iterator[str]:
    record, vocabulary = query.record, query.vocabulary
    yield f"query {query.number}: {_reason(query.strategy, record)}"
    yield f"start: {', '.join(map(str, vocabulary.holding(record.start.state))) or 'no atom holds'}"
    yield from ("", "asked:", *_policy_lines(query))
    yield from ("", f"observed ({counted(len(query.draws), 'draw')}):", *_answer_lines(query))
    yield from ("", *_lesson_lines(query))


def _reason(strategy: str, record: QueryRecord) -> str:
    """Return why a query was asked, if the strategy says so."""
    known = STRATEGIES.get(strategy)
    if known is None or known.reason is None:
        return f"chosen by the strategy {strategy}"
    return known.reason(record)


def _policy_lines(query: Explanation) -> Iterator[str]:
    if query.record.policy is None:
        yield "  the query was not finished; its policy is not recorded yet"
        return
    policy = json.loads(query.record.policy)
    names = query.capabilities
    if query.strategy not in STRATEGIES.built_in:
        # What a strategy of another package says about its policy may have any form.
        for number, made in enumerate(query.draws, 1):
            requests = ", then ".join(str(names[c]) for c, _ in made.executions) or "nothing"
            yield f"  {number}. {requests}"
        return
    if policy["kind"] == "sequence":
        yield "  a random sequence (no policy was searched for, or none was informative):"
        yield "  " + ", ".join(str(names[c]) for c in policy["capabilities"])
    elif policy["kind"] == "targets":
        yield from _target_lines(policy, query)
    elif policy["kind"] == "draws":
        for number, draw in enumerate(policy["draws"], 1):
            asked = ", then ".join(str(names[c]) for c in draw["capabilities"])
            yield f"  {number}. {_seeing(query, draw['state'])}: {asked}"
    else:
        for choice in policy["choices"]:
            asked = "end" if choice["capability"] is None else str(names[choice["capability"]])
            yield f"  {choice['depth'] + 1}. {_seeing(query, choice['state'])}: {asked}"


def _target_lines(policy: dict[str, Any], query: Explanation) -> Iterator[str]:
    for number, target in enumerate(policy["targets"], 1):
        draws = target["draws"]
        before = f"executed {counted(draws, 'time')} before" if draws else "never tried"
        asked = query.capabilities[target["capability"]]
        seeing = _seeing(query, target["state"])
        yield f"  {number}. {seeing}: {asked} ({before})"
    yield "  then whatever needed more executions in the states reached"


def _seeing(query: Explanation, state: str) -> str:
    """Describe an observed state by how it differs from the start."""
    seen, start = int(state, 16), query.record.start.state
    if seen == start:
        return "seeing the start state"
    return f"seeing {changes_text(start, seen, query.vocabulary)}"


def _answer_lines(query: Explanation) -> Iterator[str]:
    names, vocabulary = query.capabilities, query.vocabulary
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


def _lesson_lines(query: Explanation) -> Iterator[str]:
    learned = query.learned
    yield (
        f"learned: {counted(learned.new_pairs, 'new pair')}, "
        f"{counted(learned.new_transitions, 'new transition')}, "
        f"largest change of a probability {learned.largest_shift:.3f}"
    )
    for (before, capability, after), belief in itertools.islice(query.news.items(), _MOST_LESSONS):
        outcome = changes_text(before, after, query.vocabulary)
        yield f"  {query.capabilities[capability]}: {outcome}; {belief}"
    if len(query.news) > _MOST_LESSONS:
        yield f"  and {len(query.news) - _MOST_LESSONS} more"


def _belief(
    graph: StateGraph,
    transition: Transition,
    models: Callable[[], ExtremeModels | LearnedModel],
) -> str | None:
    """Return the earlier prediction of a transition; None if it had been seen."""
    before, capability, after = transition
    pair = graph.pair(before, capability)
    if pair is not None:
        seen = Effect.between(before, after) in pair.counts
        return None if seen else f"not seen in {counted(pair.total, 'execution')} before"
    intent, believing = graph.capabilities[capability], models()
    if isinstance(believing, ExtremeModels):
        believed = believing.optimistic.predict(before, intent).get(after, 0.0)
        return f"never tried here; the optimistic model predicted it with {believed:.2f}"
    inferred = believing.predict_untried(before, intent)
    if not inferred:
        return "never tried here, and the model inferred nothing"
    believed, doubt = inferred.get(after, 0.0), inferred.doubt
    return f"never tried here; the model inferred it with {believed:.2f}, doubt {doubt:.2g}"
