"""What the agent can do reliably, in sentences with their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from capscope.logic import Intent, State
from capscope.report.digest.capabilities import ALMOST_CERTAIN, Standings, standing_of
from capscope.report.digest.shape import Standing
from capscope.report.text import CapabilityView, RuleView
from capscope.wording import counted, joined

_MOST_NAMED = 3
_LONGEST_CONDITION = 3
"""Literals of a condition that is readable within a sentence."""


def reliability_sentences(assessed: Standings) -> Iterator[str]:
    """Say what was achieved always, sometimes, never, and by repeated requests."""
    views = assessed.views
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
    if assessed.eventual is not None and len(standings[Standing.RELIABLE]) < tried > 1:
        yield _repeated(assessed.eventual, tried, inferred=bool(assessed.inferred))


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


def _repeated(eventual: Sequence[Mapping[State, float]], tried: int, *, inferred: bool) -> str:
    probabilities = [list(own.values()) for own in eventual if own]
    everywhere = sum(min(own) >= ALMOST_CERTAIN for own in probabilities)
    somewhere = sum(max(own) >= ALMOST_CERTAIN for own in probabilities) - everywhere
    number = f"{everywhere or 'none'} of these {counted(tried, 'capability')}"
    if everywhere == tried:
        number = f"{_all(tried)} of these capabilities"
    some = f", and from some states for {somewhere:,} more" if somewhere else ""
    basis = "the observed frequencies"
    if inferred:
        basis += " and, where a step on the way was not tried, by what the model infers"
    return (
        "If the same intent is requested until it holds or three executions change nothing, the "
        "agent almost certainly achieves it "
        f"(with probability {ALMOST_CERTAIN:g} or more, by {basis}) from every "
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
    kinds = [tuple((x.positive, x.atom.predicate) for x in i.mentioned) for i in intents]
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
