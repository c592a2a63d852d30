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
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from capscope.insight.repeated_requests import Persistence
from capscope.journal.execution_table import ExecutionTable
from capscope.journal.run_meta import InitialPositions
from capscope.logic import Intent, State
from capscope.model import StateGraph
from capscope.stats.partial_pooling import mean_probability
from capscope.stats.stratified_mean import Stratum, mean_interval, mean_of_tried

_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class AchievementRate:
    """A mean probability with an interval that is valid for any strategy."""

    rate: float | None
    """None if most of the ways lead to where nothing is known."""
    low: float
    high: float
    """The ends of the 95 % interval."""
    states: int
    """The states, or resets, over which it is the mean."""


@dataclass(frozen=True, slots=True)
class CapabilityRates:
    """The rates of one capability."""

    at_once: AchievementRate
    """The intent holds after one execution."""
    gets_there: AchievementRate
    """The intent holds in the end if it is asked for until it does, or nothing changes any more."""
    from_resets: AchievementRate | None
    """The same from where resets lead; None if all lead to one state."""
    draws: int
    """The executions behind them."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return asdict(self)


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
    answers = _answers(graph, executions.complete)
    for capability, intent in enumerate(graph.capabilities):
        own = {
            state: hits
            for state, hits in answers[capability].items()
            if graph.pair(state, capability) is not None
        }
        if own:
            chain = chains[intent]
            counted = without_sinks(graph, own)
            at_once = _at_once([Stratum(1, np.array(own[state])) for state in counted])
            gets_there = _mean(chain, dict.fromkeys(counted, 1))
            found[intent] = CapabilityRates(
                at_once,
                # What may be achieved at once may be achieved in the end.
                replace(gets_there, high=max(gets_there.high, at_once.high)),
                _from_resets(chain, graph, intent, initial),
                sum(map(len, own.values())),
            )
    return found


def _answers(graph: StateGraph, table: ExecutionTable) -> list[dict[State, list[bool]]]:
    """Return, for each capability, the answers in order in each state without the intent."""
    found: list[dict[State, list[bool]]] = []
    for capability, intent in enumerate(graph.capabilities):
        holds = intent.test(graph.vocabulary)
        rows = np.flatnonzero(table.capability == capability)
        achieved: dict[int, bool] = {}
        own: defaultdict[State, list[bool]] = defaultdict(list)
        columns = table.before[rows].tolist(), table.after[rows].tolist()
        for before, after in zip(*columns, strict=True):
            for number in (before, after):
                if number not in achieved:
                    achieved[number] = holds(table.states[number])
            if not achieved[before]:
                own[table.states[before]].append(achieved[after])
        found.append(own)
    return found


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


def _at_once(strata: Sequence[Stratum]) -> AchievementRate:
    low, high = mean_interval(strata, _CONFIDENCE)
    return AchievementRate(mean_of_tried(strata) or 0.0, low, high, len(strata))


def _mean(chain: Persistence, weights: Mapping[State, int]) -> AchievementRate:
    """Take the mean over some states; one never tried may have any probability."""
    row = {state: i for i, state in enumerate(chain.states)}
    known = [(row[state], weight) for state, weight in weights.items() if state in row]
    whole, tried = sum(weights.values()), sum(weight for _, weight in known)
    low, high = (
        sum(weight * float(column[i]) for i, weight in known) for column in (chain.low, chain.high)
    )
    high += whole - tried
    return AchievementRate(chain.mean(weights), low / whole, high / whole, whole)


def _from_resets(
    chain: Persistence, graph: StateGraph, intent: Intent, initial: InitialPositions
) -> AchievementRate | None:
    holds = intent.test(graph.vocabulary)
    weights: defaultdict[State, int] = defaultdict(int)
    for one in initial.each:
        if not holds(one.state):
            weights[one.state] += one.resets
    tried = set(chain.states) & weights.keys()
    return _mean(chain, weights) if len(weights) > 1 and tried else None
