"""What the agent can do reliably, in sentences with their numbers.

If an execution ends with the first change, the success rate of one execution says little. Following
the frequencies of a capability from state to state gives the probability that its intent holds
eventually if it is requested again and again; a state in which it was never tried is a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from capscope.analysis.findings.finding import joined
from capscope.model import StateGraph
from capscope.present.digest.capabilities import standing_of
from capscope.present.digest.shape import Standing
from capscope.present.text import CapabilityView, RuleView, counted
from capscope.symbolic import Intent

if TYPE_CHECKING:
    from capscope.run import Run

_MOST_NAMED = 3
_LONGEST_CONDITION = 3
"""Literals of a condition that is readable within a sentence."""
_ALMOST_CERTAIN = 0.99
_ROUNDS = 1_000
_SMALLEST_GAIN = 1e-6


def reliability_sentences(run: Run, views: Sequence[CapabilityView]) -> Iterator[str]:
    """Say what was achieved always, sometimes, never, and by repeated requests."""
    standings: dict[Standing, list[CapabilityView]] = {standing: [] for standing in Standing}
    for view in views:
        standings[standing_of(view)].append(view)
    tried = len(views) - len(standings[Standing.UNTRIED])
    if not tried:
        yield "Nothing is known yet: no capability was executed where it did not hold already."
        return
    number = counted(tried, "capability")
    yield f"{number} {was(tried)} tried where {it(tried)} did not hold already."
    yield from _achieved(standings, tried)
    if run.identity.temporal_length and len(standings[Standing.RELIABLE]) < tried > 1:
        yield _repeated(run.graph, tried)


def _achieved(standings: Mapping[Standing, Sequence[CapabilityView]], tried: int) -> Iterator[str]:
    always, partly = standings[Standing.RELIABLE], standings[Standing.SOMETIMES]
    never = standings[Standing.NEVER]
    if always:
        yield f"{_number_was(len(always), tried)} achieved by every execution: {_named(always)}."
    elif tried not in (len(partly), len(never)):
        yield "None was achieved by every execution."
    if partly:
        number = _number_was(len(partly), tried)
        yield f"{number} achieved by some executions and not by others{_cases(partly)}."
    if never:
        yield f"{_number_was(len(never), tried)} never seen to be achieved: {_named(never)}."


def _number_was(number: int, of: int) -> str:
    if number < of:
        return f"{number:,} {was(number)}"
    return "It was" if of == 1 else f"{_all(of).capitalize()} were"


def _all(number: int) -> str:
    return "both" if number == 2 else f"all {number:,}"


def _cases(views: Sequence[CapabilityView]) -> str:
    """Name some capabilities, if possible with a condition under which they never failed."""
    best: dict[Intent, RuleView] = {}
    for view in views:
        certain = [rule for rule in view.rules if _never_failed(rule)]
        if certain:
            best[view.intent] = max(certain, key=lambda rule: rule.rule.executions)
    if not best:
        return f": {_named(views)}"
    ranked = sorted(best, key=lambda intent: -best[intent].rule.executions)
    cases = [f"{i} when {joined(best[i].when[0])} ({_support([best[i]])})" for i in _varied(ranked)]
    return f". For example, {joined(cases)} never failed"


def _never_failed(rule: RuleView) -> bool:
    brief = len(rule.when) == 1 and 0 < len(rule.when[0]) <= _LONGEST_CONDITION
    return not rule.held and rule.achieving == 1 and brief


def _repeated(graph: StateGraph, tried: int) -> str:
    probabilities = [own for own in eventual_success(graph) if own]
    everywhere = sum(min(own) >= _ALMOST_CERTAIN for own in probabilities)
    somewhere = sum(max(own) >= _ALMOST_CERTAIN for own in probabilities) - everywhere
    number = f"{everywhere or 'none'} of these {counted(tried, 'capability')}"
    if everywhere == tried:
        number = f"{_all(tried)} of these capabilities"
    some = f", and from some states for {somewhere:,} more" if somewhere else ""
    return (
        "If the same intent is requested until it holds, the agent almost certainly achieves it "
        f"(with probability {_ALMOST_CERTAIN:g} or more, by the observed frequencies) from every "
        f"state tried for {number}{some}."
    )


def _named(views: Sequence[CapabilityView]) -> str:
    """Name some capabilities with their support, and count the others."""
    rules = {view.intent: [rule for rule in view.rules if not rule.held] for view in views}
    ranked = sorted(rules, key=lambda i: -sum(rule.rule.executions for rule in rules[i]))
    names = [f"{intent} ({_support(rules[intent])})" for intent in _varied(ranked)]
    more = len(views) - len(names)
    return joined([*names, f"{more:,} more"] if more else names)


def _varied(intents: Sequence[Intent]) -> list[Intent]:
    """Choose a few intents, preferring different predicates to different objects."""
    kinds = [tuple((x.positive, x.atom.predicate) for x in i.literals) for i in intents]
    again = {i: kind in kinds[:n] for n, (i, kind) in enumerate(zip(intents, kinds, strict=True))}
    return sorted(intents, key=lambda intent: again[intent])[:_MOST_NAMED]


def _support(rules: Sequence[RuleView]) -> str:
    executions = sum(rule.rule.executions for rule in rules)
    states = sum(len(rule.rule.states) for rule in rules)
    return f"{counted(executions, 'execution')} in {counted(states, 'state')}"


def was(number: int) -> str:
    """Return the verb for a number."""
    return "was" if number == 1 else "were"


def it(number: int) -> str:
    """Return the pronoun for a number."""
    return "it" if number == 1 else "they"


def eventual_success(graph: StateGraph) -> list[list[float]]:
    """Return for each capability the probabilities that repeated requests achieve its intent.

    One for each state in which the capability was tried and its intent did not hold.
    """
    nodes = list(graph.nodes.values())
    position = {id(node): i for i, node in enumerate(nodes)}
    edges: list[tuple[int, int, float]] = []
    goals: list[int] = []
    starts: list[list[int]] = []
    for c, intent in enumerate(graph.capabilities):
        offset = c * len(nodes)
        holds = intent.test(graph.vocabulary)
        starts.append([])
        for i, node in enumerate(nodes):
            pair = node.pairs[c]
            if holds(node.state):
                goals.append(offset + i)
            elif pair is not None:
                starts[-1].append(offset + i)
                for effect, after in zip(pair.group.effects, pair.successors, strict=True):
                    share = pair.counts[effect] / pair.total
                    edges.append((offset + i, offset + position[id(after)], share))
    probabilities = _absorption(edges, goals, len(nodes) * len(graph.capabilities))
    return [probabilities[own].tolist() for own in starts]


def _absorption(
    edges: list[tuple[int, int, float]], goals: list[int], nodes: int
) -> NDArray[np.float64]:
    """Return for each node the probability of reaching a goal; goals have no edges."""
    source, target = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2).T
    share = np.array([edge[2] for edge in edges])
    certain = np.zeros(nodes)
    certain[goals] = 1.0
    probabilities = certain
    for _ in range(_ROUNDS):
        onward = np.bincount(source, weights=share * probabilities[target], minlength=nodes)
        # From below: each round allows one more execution.
        before, probabilities = probabilities, onward + certain
        if np.abs(probabilities - before).max(initial=0.0) < _SMALLEST_GAIN:
            break
    return probabilities
