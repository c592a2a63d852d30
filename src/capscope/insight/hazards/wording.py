"""Hazards as text: whether they happened, the path, the rates, and the recovery.

Where a hazard never happened, the text says what bound the evidence supports, or that there is
none; it never says that the hazard is impossible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from capscope.insight.hazards import HazardPair, HazardResult, Recovery
from capscope.insight.tried_rules import predictions
from capscope.logic import Condition, Intent, State, changes_text, to_json
from capscope.logic.shortest_condition import shortest_condition
from capscope.model import LearnedModel, StateGraph
from capscope.model.transitions import KnownPath, KnownStep
from capscope.problem import Hazard
from capscope.stats.rate import Rate
from capscope.wording import counted, first_few, joined, wrapped

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts

_MOST_INTENTS = 3
_MOST_TERMS = 3
_MOST_RULES = 5
_LEAST_TOLD = 0.005  # the probability of a hazard in a state that did not show it
_VISIBLE = 0.0005  # a lower bound that is worth telling
_AFTER_RESET = "of a random capability right after a reset"


def hazard_headlines(run: RunFacts) -> Iterator[str]:
    """Describe each hazard of a run: whether it happened, its rate and the path."""
    for result in run.hazards:
        yield from wrapped(f"hazard {hazard_headline(result)}")
        if result.unasked and result.unasked[0].way:
            yield from wrapped(f"path: {short_way(result.unasked[0].way)}", "  ")
    if run.hazards:
        yield f"  more about hazards: capscope hazards {run.path}"


def hazard_headline(result: HazardResult) -> str:
    """Say in one phrase whether a hazard happened, and how likely it is in use."""
    if result.in_use is None:
        return f"{_happened(result)}; no bound for use: {result.no_bound}"
    return f"{_happened(result)}; in use, {rate_text(result.in_use)}"


def _happened(result: HazardResult) -> str:
    of = counted(result.executions, "execution")
    if result.happened:
        happened = f"happened in {result.happened:,} of {of} that did not ask for it"
    elif result.cut_short:
        happened = f"happened in {counted(result.cut_short, 'execution')} that a budget cut short"
    else:
        asked = " that did not ask for it" if result.requests else ""
        happened = f"never happened in {of}{asked}"
    return f"{result.hazard}: {happened}"


def rate_text(rate: Rate) -> str:
    """Return the bounds of a rate, rounded outward.

    >>> rate_text(Rate(0.0, 0.0, 0.01041, 0, 374))
    'at most 1.1 % of executions'
    >>> rate_text(Rate(0.75, 0.5, 0.92, 30, 40))
    '50 % to 92 % of executions'
    """
    if rate.low < _VISIBLE:
        return f"at most {_percent(rate.high, math.ceil)} of executions"
    low, high = _percent(rate.low, math.floor), _percent(rate.high, math.ceil)
    return f"{low} to {high} of executions"


def _percent(share: float, rounded: Callable[[float], int]) -> str:
    """Return a percentage with two digits; bounds may only become wider."""
    percent = 100 * share
    scale = 10.0 ** max(1 - math.floor(math.log10(percent)), 0) if percent else 1.0
    return f"{rounded(round(percent * scale, 6)) / scale:g} %"


def short_way(way: KnownPath) -> str:
    """Name the requests of a path.

    >>> short_way(())
    'where the run begins'
    """
    return ", then ".join(str(step.intent) for step in way) or "where the run begins"


def hazards_lines(run: RunFacts, results: tuple[HazardResult, ...]) -> Iterator[str]:
    """Describe hazards in full."""
    yield (
        f"{run.problem}: {counted(len(results), 'hazard')}, "
        f"{counted(run.usage.executions, 'execution')}"
    )
    for result in results:
        yield ""
        yield from wrapped(_happened(result))
        for sentence in hazard_details(run, result):
            yield from wrapped(sentence, "  ", "    ")
    yield ""
    yield from wrapped(confidence_note(run, len(results)))


def confidence_note(run: RunFacts, number: int) -> str:
    """Say what the bounds mean."""
    all_of = f"the percentages of all {number:,} hazards" if number > 1 else "the percentages"
    return (
        f"with {run.identity.settings.confidence:g} confidence, {all_of} hold together, whatever "
        "the strategy asked and whenever the run stopped; a condition has the 95 % intervals "
        "of its states; what was never tried may still be a path into a hazard"
    )


def hazard_details(run: RunFacts, result: HazardResult) -> Iterator[str]:
    """Describe where a hazard happened, how likely it is there, and whether it was undone."""
    if result.holds_at_beginning:
        yield "it holds in part from the beginning; what counts is what becomes true later"
    if result.in_use is not None:
        yield _rate_sentence(result.in_use, result.drawn_from)
    else:
        yield f"no bound for use: {result.no_bound}"
    if result.after_reset is not None and result.after_reset.executions:
        yield _rate_sentence(result.after_reset, _AFTER_RESET)
    if result.unasked:
        yield from _way_sentences(run.graph, result.unasked[0])
        yield from _rule_sentences(run.model, result)
        yield _where_sentence(result)
    if result.recovery is not None:
        yield from recovery_sentences(result.recovery)
    if result.requests:
        yield (
            f"asked for it, the agent brought it about in {result.granted:,} of "
            f"{counted(result.requests, 'execution')}"
        )


def _rate_sentence(rate: Rate, drawn_from: str) -> str:
    draws = f"{rate.hits:,} of {counted(rate.executions, 'execution')}"
    return f"{rate_text(rate)} {drawn_from} ({draws})"


def _way_sentences(graph: StateGraph, pair: HazardPair) -> Iterator[str]:
    if pair.way is None:
        yield f"no path is known from the beginning to the state {pair.state:#x} where it happened"
        return
    yield f"the shortest path there, {counted(len(pair.way), 'request')} from the beginning:"
    for number, step in enumerate(pair.way, 1):
        yield f"{number}. {step_text(step, graph)}"


def step_text(step: KnownStep, graph: StateGraph) -> str:
    """Describe one request of a way: what was asked, what changed and how often."""
    changes = changes_text(step.state, step.after, graph.vocabulary)
    return (
        f"ask for {step.intent}: {changes} ({step.count:,} of {counted(step.draws, 'execution')})"
    )


def _rule_sentences(model: LearnedModel, result: HazardResult) -> Iterator[str]:
    """Give the conditions and probabilities under which the model leads into the hazard.

    Those under which it happened most often come first.
    """
    vocabulary = model.graph.vocabulary
    hazard = Hazard.parse(result.hazard, vocabulary)
    counts = {(pair.intent, pair.state): pair.rate.hits or 0 for pair in result.unasked}
    found = []
    for intent in dict.fromkeys(pair.intent for pair in result.unasked):
        tried = {state: predicted for state, _, predicted in predictions(model, intent)}
        ends = {
            state: [end for end, p in ahead.items() if p > 0 and hazard.happens(state, end)]
            for state, ahead in tried.items()
        }
        alike: dict[Hashable, list[State]] = {}
        for state, into in ends.items():
            seen = counts.get((intent, state), 0)
            if seen or tried[state].share(into) >= _LEAST_TOLD:
                support = tried[state].support
                alike.setdefault((support.rule, support.leaf), []).append(state)
        for states in alike.values():
            own = set(states)
            when = shortest_condition(sorted(own), [s for s in tried if s not in own], vocabulary)
            often = sum(counts.get((intent, state), 0) for state in states)
            rates = [(tried[s].share(ends[s]), tried[s].interval(ends[s])) for s in states]
            found.append((often, _rule_sentence(intent, when, rates)))
    found.sort(key=lambda one: -one[0])
    yield from (sentence for _, sentence in found[:_MOST_RULES])
    if len(found) > _MOST_RULES:
        yield f"and under {counted(len(found) - _MOST_RULES, 'more condition')}"


def _rule_sentence(
    intent: Intent, when: Condition, rates: Sequence[tuple[float, tuple[float, float]]]
) -> str:
    terms = [" and ".join(map(str, term)) or "always" for term in when]
    shown = " or ".join(first_few(terms, _MOST_TERMS, "{} more conditions"))
    low, high = min(bounds[0] for _, bounds in rates), max(bounds[1] for _, bounds in rates)
    least, most = (f"{share:.2f}" for share in (min(rates)[0], max(rates)[0]))
    odds = least if least == most else f"{least} to {most} by state"
    return (
        f"asking for {intent} leads into it when {shown} [{counted(len(rates), 'state')}]: "
        f"{odds} [{low:.2f}, {high:.2f}]"
    )


def _where_sentence(result: HazardResult) -> str:
    unasked = result.unasked
    states = len({pair.state for pair in unasked})
    intents = list(dict.fromkeys(str(pair.intent) for pair in unasked))
    return (
        f"it happened in {counted(states, 'state')}, by asking for "
        f"{joined(first_few(intents, _MOST_INTENTS))}"
    )


def recovery_sentences(recovery: Recovery) -> Iterator[str]:
    """Say whether a hazard was undone, as far as was seen."""
    if recovery.way:
        yield f"it can be undone: {short_way(recovery.way)}"
    lasting = recovery.states - recovery.undone
    of = f"{lasting:,} of {counted(recovery.states, 'state')} that it led to"
    if lasting and recovery.closed == lasting:
        yield f"nothing undid it from {of}: everything was tried wherever one can get from there"
    elif lasting:
        yield f"no path back is known from {of}; not everything was tried there"
    elif not recovery.way:
        yield f"it was undone from all of the {counted(recovery.states, 'state')} that it led to"


def hazards_document(run: RunFacts, results: tuple[HazardResult, ...]) -> dict[str, Any]:
    """Return hazards as JSON-ready values."""
    return {
        "problem": run.problem,
        "confidence": run.identity.settings.confidence,
        "hazards": to_json(results),
    }
