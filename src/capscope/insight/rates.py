"""How often the agent achieves what it is asked for: at once, and if asked until it holds.

People who ask for a success rate mean one of two things. *At once*: the intent holds after one
execution. *Gets there*: it holds in the end if one keeps asking (`repeated_requests`). They differ
where an execution ends with the first change: a planner that always gets there achieves few of its
intents with the first step.

Both are means over the states in which the capability was tried and its intent did not hold, with
equal weights. Sinks, in which nothing ever changes, are left out unless there are no other states:
a world that has ended says nothing about the agent. Pooling all draws would weigh states by how
often a strategy happened to draw them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from capscope.insight.repeated_requests import Persistence
from capscope.journal.execution_table import ExecutionTable
from capscope.journal.run_meta import InitialPositions, position_digest
from capscope.logic import Intent, State, StateTest, Vocabulary
from capscope.model import StateGraph
from capscope.stats.partial_pooling import mean_probability
from capscope.stats.rate import Rate
from capscope.stats.stratified_mean import Stratum


@dataclass(frozen=True, slots=True)
class CapabilityRates:
    """The rates of one capability."""

    at_once: Rate
    """The intent holds after one execution."""
    gets_there: Rate
    """The intent holds in the end if it is asked for until it does, or nothing changes any more."""
    from_resets: Rate | None
    """The same from where resets lead; None if all lead to one state."""


def achievement_rates(
    graph: StateGraph,
    executions: ExecutionTable,
    initial: InitialPositions,
    chains: Mapping[Intent, Persistence],
) -> dict[Intent, CapabilityRates]:
    """Return the rates of each capability that was tried where its intent did not hold.

    `chains` are those of asking for each intent until it holds.
    """
    found = {}
    table = executions.complete
    for capability, intent in enumerate(graph.capabilities):
        answers = answers_in(table, capability, table.states, intent.test(graph.vocabulary))
        own = {s: hits for s, hits in answers.items() if graph.pair(s, capability) is not None}
        if own:
            chain = chains[intent]
            counted = without_sinks(graph, own)
            at_once = Rate.of_strata([Stratum(1, np.array(own[state])) for state in counted])
            made = sum(map(len, own.values()))
            gets_there = _mean(chain, dict.fromkeys(counted, 1), made)
            found[intent] = CapabilityRates(
                at_once,
                # What may be achieved at once may be achieved in the end.
                replace(gets_there, high=max(gets_there.high, at_once.high)),
                _from_resets(chain, graph, intent, initial, made),
            )
    return found


def answers_in(
    table: ExecutionTable, capability: int, states: Sequence[State], holds: StateTest
) -> dict[State, list[bool]]:
    """Return the answers in order in each state in which an intent did not hold.

    Args:
        table: The executions.
        capability: The number of the intent.
        states: The states of the table, perhaps in fewer atoms.
        holds: Whether the intent holds in one of these.

    Returns:
        By state, for each execution whether the intent held afterwards.
    """
    rows = np.flatnonzero(table.capability == capability)
    achieved = np.zeros(len(states), dtype=bool)
    met = np.unique(np.append(table.before[rows], table.after[rows])).tolist()
    achieved[met] = [holds(states[number]) for number in met]
    rows = rows[~achieved[table.before[rows]]]
    own: defaultdict[State, list[bool]] = defaultdict(list)
    ends = achieved[table.after[rows]].tolist()
    for before, end in zip(table.before[rows].tolist(), ends, strict=True):
        own[states[before]].append(end)
    return own


def without_sinks(graph: StateGraph, states: Iterable[State]) -> list[State]:
    """Leave out the states in which nothing ever changes, unless there are no others."""
    every = list(states)
    return [state for state in every if not graph.nodes[state].sink] or every


def success_at_once(graph: StateGraph, intent: Intent) -> float | None:
    """Return the rate at once of a capability without its interval; None if it was never tried."""
    counts = successes(graph, intent)
    if not counts:
        return None
    return mean_probability([(*counts[state], 1) for state in without_sinks(graph, counts)])


def successes(graph: StateGraph, intent: Intent) -> dict[State, tuple[int, int]]:
    """Count successes and executions in each state tried in which the intent did not hold."""
    capability, holds = graph.index[intent], intent.test(graph.vocabulary)
    return {
        state: (sum(n for e, n in pair.counts.items() if holds(e.apply(state))), pair.total)
        for state, node in graph.nodes.items()
        if (pair := node.pairs[capability]) is not None and not holds(state)
    }


def _mean(chain: Persistence, weights: Mapping[State, int], executions: int) -> Rate:
    """Take the mean over some states; one never tried may have any probability."""
    tried = {state: weights[state] for state in chain.states if state in weights}
    whole, known = sum(weights.values()), sum(tried.values())
    mean, (low, high) = chain.mean(weights), chain.interval(tried)
    low, high = low * known / whole, 1 - (1 - high) * known / whole
    if mean is not None:
        low, high = min(low, mean), max(high, mean)
    return Rate(mean, low, high, None, executions, whole, known)


def _from_resets(
    chain: Persistence,
    graph: StateGraph,
    intent: Intent,
    initial: InitialPositions,
    executions: int,
) -> Rate | None:
    holds = intent.test(graph.vocabulary)
    weights: defaultdict[State, int] = defaultdict(int)
    for one in initial.each:
        if not holds(one.state):
            weights[one.state] += one.resets
    tried = set(chain.states) & weights.keys()
    return _mean(chain, weights, executions) if len(weights) > 1 and tried else None


def success_from_resets(
    executions: ExecutionTable,
    intents: Sequence[Intent],
    vocabulary: Vocabulary,
    initial: InitialPositions,
) -> dict[Intent, Rate]:
    """Return how often the agent achieves each intent if it is asked right after a reset.

    This is the success rate that is usually reported for a policy, and rates over all states are
    not: episodes that failed leave an agent in states in which it is stuck. In a Taxi with varied
    starts, the mean over states was 8 % where 42 % of the episodes succeeded.

    Only executions that began in an initial position count. Each position is a stratum, weighted by
    how many of the resets led to it. Resets after which the intent holds already are not counted,
    and an intent that holds after every reset is missing.
    """
    table = executions.complete
    asked = asked_after_reset(table, initial)
    found = {}
    for capability, intent in enumerate(intents):
        holds = intent.test(vocabulary)
        strata = [
            Stratum(one.resets, np.array([holds(table.states[table.after[i]]) for i in rows], bool))
            for one in initial.each
            if not holds(one.state)
            for rows in [asked.get((one.digest, capability), [])]
        ]
        if strata:
            found[intent] = Rate.of_strata(strata)
    return found


def asked_after_reset(
    table: ExecutionTable, initial: InitialPositions
) -> Mapping[tuple[str, int], list[int]]:
    """Return the executions right after a reset, by initial position and capability, in order."""
    known = {one.digest for one in initial.each}
    states = {one.state for one in initial.each}
    begins = [number for number, state in enumerate(table.states) if state in states]
    rows = np.flatnonzero(table.at_start & np.isin(table.before, begins))
    digests = {i: position_digest(table.position_names[i]) for i in set(table.position[rows])}
    asked: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for row in rows.tolist():
        if digests[table.position[row]] in known:
            asked[digests[table.position[row]], int(table.capability[row])].append(row)
    return asked
