"""What the agent can do reliably, in sentences with their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from capscope.analysis.findings.finding import joined
from capscope.present.digest.capabilities import standing_of
from capscope.present.digest.persistence import chances_of_getting_there
from capscope.present.digest.record import Record
from capscope.present.digest.shape import Standing
from capscope.present.text import CapabilityView, RuleView, counted
from capscope.symbolic import Intent

_MOST_NAMED = 3
_LONGEST_CONDITION = 3
"""Literals of a condition that can still be read within a sentence."""
_SURE = 0.99


def reliability_sentences(record: Record, views: Sequence[CapabilityView]) -> Iterator[str]:
    """Say what was achieved always, under a condition, by asking on, and never."""
    standings: dict[Standing, list[CapabilityView]] = {standing: [] for standing in Standing}
    for view in views:
        standings[standing_of(view)].append(view)
    tried = len(views) - len(standings[Standing.UNTRIED])
    if not tried:
        yield "Nothing can be said yet: no capability was executed where it did not hold already."
        return
    several = counted(tried, "capability")
    yield f"{several} {was(tried)} tried where {it(tried)} did not hold already."
    yield from _achieved(standings, tried)
    single_changes = record.identity.get("temporal length", 1) is not None
    if single_changes and len(standings[Standing.RELIABLE]) < tried > 1:
        yield _asking_on(record, tried)


def _achieved(standings: Mapping[Standing, Sequence[CapabilityView]], tried: int) -> Iterator[str]:
    always, partly = standings[Standing.RELIABLE], standings[Standing.SOMETIMES]
    never = standings[Standing.NEVER]
    if always:
        yield f"{_so_many(len(always), tried)} achieved by every execution: {_named(always)}."
    elif tried not in (len(partly), len(never)):
        yield "None was achieved by every execution."
    if partly:
        several = _so_many(len(partly), tried)
        yield f"{several} achieved by some executions and not by others{_cases(partly)}."
    if never:
        yield f"{_so_many(len(never), tried)} never seen to be achieved: {_named(never)}."


def _so_many(number: int, of: int) -> str:
    """Say how many of those just spoken of."""
    if number < of:
        return f"{number:,} {was(number)}"
    return "It was" if of == 1 else f"{_all(of).capitalize()} were"


def _all(number: int) -> str:
    return "both" if number == 2 else f"all {number:,}"


def _cases(views: Sequence[CapabilityView]) -> str:
    """Name some capabilities, with a condition under which they never failed if there is one."""
    best: dict[Intent, RuleView] = {}
    for view in views:
        sure = [rule for rule in view.rules if _sure(rule)]
        if sure:
            best[view.intent] = max(sure, key=lambda rule: rule.rule.executions)
    if not best:
        return f": {_named(views)}"
    ranked = sorted(best, key=lambda intent: -best[intent].rule.executions)
    cases = [f"{i} when {joined(best[i].when[0])} ({_behind([best[i]])})" for i in _varied(ranked)]
    return f". For example, {joined(cases)} {was(len(cases))} never seen to fail"


def _sure(rule: RuleView) -> bool:
    """Say whether a rule never fails and can be told in a few words."""
    brief = len(rule.when) == 1 and 0 < len(rule.when[0]) <= _LONGEST_CONDITION
    return not rule.held and rule.achieving == 1 and brief


def _asking_on(record: Record, tried: int) -> str:
    """Say what comes of asking for the same thing until it holds."""
    chances = [own for own in chances_of_getting_there(record.graph) if own]
    everywhere = sum(min(own) >= _SURE for own in chances)
    somewhere = sum(max(own) >= _SURE for own in chances) - everywhere
    if everywhere == tried:
        number = f"{_all(tried)} of these capabilities"
    else:
        number = f"{everywhere or 'none'} of these {counted(tried, 'capability')}"
    some = f", and from some states for {somewhere:,} more" if somewhere else ""
    return (
        "Asked for the same thing until it holds, the agent gets there almost surely (by the "
        f"frequencies seen, with probability {_SURE:g} or more) from every state tried for "
        f"{number}{some}."
    )


def _named(views: Sequence[CapabilityView]) -> str:
    """Name some capabilities with what is behind them, and count the others."""
    behind = {view.intent: [rule for rule in view.rules if not rule.held] for view in views}
    ranked = sorted(behind, key=lambda i: -sum(rule.rule.executions for rule in behind[i]))
    names = [f"{intent} ({_behind(behind[intent])})" for intent in _varied(ranked)]
    more = len(views) - len(names)
    return joined([*names, f"{more:,} more"] if more else names)


def _varied(intents: Sequence[Intent]) -> list[Intent]:
    """Choose a few intents, with other predicates rather than with other objects."""
    kinds = [tuple((x.positive, x.atom.predicate) for x in i.literals) for i in intents]
    again = {i: kind in kinds[:n] for n, (i, kind) in enumerate(zip(intents, kinds, strict=True))}
    return sorted(intents, key=lambda intent: again[intent])[:_MOST_NAMED]


def _behind(rules: Sequence[RuleView]) -> str:
    executions = sum(rule.rule.executions for rule in rules)
    states = sum(len(rule.rule.states) for rule in rules)
    return f"{counted(executions, 'execution')} in {counted(states, 'state')}"


def was(number: int) -> str:
    """Return the verb for so many."""
    return "was" if number == 1 else "were"


def it(number: int) -> str:
    """Return the pronoun for so many."""
    return "it" if number == 1 else "they"
