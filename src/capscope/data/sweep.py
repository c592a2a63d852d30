"""Read the draws of a whole journal in one sweep.

Asking the journal for each query and its draws costs two statements a query and an object for each
execution: twenty seconds for half a million executions in queries of a few draws. Draws are often
alike to the letter, though, and most readers only count. So all texts are fetched by one statement,
equal ones are decoded once, and nothing is made of an execution but what is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from capscope.data.dataset import Transition
from capscope.data.journal import ENDINGS, Journal
from capscope.data.journal_file import understood
from capscope.errors import JournalError
from capscope.world.attempt import Ending

_CUT = ENDINGS.index(Ending.CUT)


class QueryTotals(NamedTuple):
    """What the draws of a query took together."""

    executions: int
    simulator_steps: int
    llm_tokens: int
    seconds: float
    llm_cost: float


def query_totals(journal: Journal) -> Iterator[QueryTotals]:
    """Yield what each query took, an unfinished one included, in order."""
    paid = "SELECT query, SUM(llm_cost) FROM costs GROUP BY query"
    costs: dict[int, float] = dict(journal.select(paid)) if journal.has_costs else {}
    rows = journal.select(
        "SELECT q.id, q.seconds, COUNT(d.draw), SUM(json_array_length(d.attempts)), "
        "SUM(d.simulator_steps), SUM(d.llm_tokens), SUM(d.seconds) "
        "FROM queries q LEFT JOIN draws d ON d.query = q.id GROUP BY q.id ORDER BY q.id"
    )
    for expected, (query, seconds, draws, executions, steps, tokens, drawing) in enumerate(rows):
        if query != expected:
            return
        if draws:
            cost = costs.get(query, 0.0)
            yield QueryTotals(executions, steps, tokens, seconds or drawing, cost)
        else:
            yield QueryTotals(0, 0, 0, seconds, 0.0)


def transitions_of(journal: Journal, queries: int, capabilities: int) -> Counter[Transition]:
    """Count ⟨s₀, c, s_j⟩ of all executions in the first queries, in the order of first sight.

    Executions that were cut short by a budget do not count.
    """
    rows = journal.select(
        "SELECT attempts FROM draws WHERE query < ? ORDER BY query, draw", queries
    )
    texts = Counter(text for (text,) in rows)
    counts: Counter[tuple[int, int, int]] = Counter()
    with understood(journal.path):
        # One text of all is decoded several times faster than all of them one by one.
        decoded = json.loads(f"[{','.join(texts)}]")
        for executions, times in zip(decoded, texts.values(), strict=True):
            for capability, states, _, ending, *_ in executions:
                if ending != _CUT:
                    counts[states[0], capability, states[-1]] += times
        states = journal.states
        seen = Counter({Transition(states[s], c, states[t]): n for (s, c, t), n in counts.items()})
    refuse_unknown_capabilities(seen, capabilities)
    return seen


def refuse_unknown_capabilities(transitions: Iterable[Transition], capabilities: int) -> None:
    """Raise if a capability is beyond those that are known: the journal was changed."""
    if any(not 0 <= transition.capability < capabilities for transition in transitions):
        raise JournalError(
            f"a draw in the journal asks for a capability beyond the {capabilities} that are "
            "written down; the journal was changed by something else and was left untouched"
        )
