"""Changes beyond the request, and instead of it."""

from __future__ import annotations

from collections.abc import Iterator

from capscope.insight.changes import unrequested_changes
from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.finding import Example, Finding, Kind, Need
from capscope.stats.error_budget import Share


def find_changes(context: FindingContext, share: Share) -> list[Finding]:
    """Find what executions changed beyond their requests."""
    return list(_changes(context))


def _changes(context: FindingContext) -> Iterator[Finding]:
    table = context.table
    listed = unrequested_changes(table, context.intents, context.exactly_one, context.vocabulary)
    first = {t: int(r) for t, r in zip(_transitions(context), table.distinct.first, strict=True)}
    for change in listed:
        before, capability, after = change.example
        intent = context.intents[capability]
        yield Finding(
            Kind.MORE if intent.holds(after, context.vocabulary) else Kind.ELSE,
            change.request,
            change.change,
            change.intents,
            change.executions,
            change.possible,
            need=Need.ON_THE_WAY if change.on_the_way else Need.UNDECIDED,
            lasting=not change.undone,
            named=change.named,
            path=context.path(before),
            example=Example(first[change.example], intent, before, after),
            note=f"up to {change.most} at once" if change.most > 1 else "",
        )


def _transitions(context: FindingContext) -> Iterator[tuple[int, int, int]]:
    states, seen = context.table.states, context.table.distinct
    columns = (c.tolist() for c in (seen.before, seen.capability, seen.after))
    for before, capability, after in zip(*columns, strict=True):
        yield states[before], capability, states[after]


BEYOND = FindingKind("beyond the request", "changes beyond the request", find_changes)
