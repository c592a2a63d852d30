"""Changes beyond the request, and instead of it.

Changes that always come together are one finding. Executions in which the request held already
count only if the change came there too: with nothing to do, there is nothing to go wrong. A change
has a condition of its own, or that of an *event*: the same change, whether something shall become
true or false, or all changes of another object in the place of one of the request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from capscope.insight.changes import UnrequestedChange, unrequested_changes
from capscope.insight.conditions import (
    FoundCondition,
    LiftedFeatures,
    find_condition,
    striking_condition,
    sure_conditions,
)
from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.finding import Finding
from capscope.insight.findings.made_changes import MadeChanges, When, held_at_ends, pair_features
from capscope.stats.arrays import Mask
from capscope.stats.error_budget import Share


def find_changes(context: FindingContext, share: Share) -> list[Finding]:
    """Find what executions changed beyond their requests."""
    table = context.table
    listed = unrequested_changes(table, context.intents, context.exactly_one, context.vocabulary)
    together: dict[tuple[str, frozenset[int]], list[UnrequestedChange]] = {}
    for change in listed:
        together.setdefault((change.request, change.made), []).append(change)
    seen = _shapes(context, listed)
    found = [MadeChanges(context, tuple(own), _comes_alone(own, seen)) for own in together.values()]
    slips = _slips(found)
    found = [replace(one, slip=place in slips) for place, one in enumerate(found)]
    told = zip(found, _conditions(found, share), strict=True)
    return [one.finding(when, perhaps) for one, (when, perhaps) in told]


def _slips(found: Sequence[MadeChanges]) -> set[int]:
    """Return the changes of another object where the request was achieved as often, by place."""
    events: dict[tuple[str, ...], list[int]] = {}
    for place, one in enumerate(found):
        if one.instead and one.other:
            events.setdefault(one.event, []).append(place)
    return {place for own in events.values() if _is_slip([found[p] for p in own]) for place in own}


def _is_slip(own: Sequence[MadeChanges]) -> bool:
    """Return whether requests were as often achieved in the pairs that show an event."""
    table = own[0].context.table
    pair = table.distinct.pair[table.transition]
    made, reached = (
        np.bincount(pair[np.unique(np.concatenate(rows))], minlength=1)
        for rows in zip(
            *((one.rows[one.hits & ~one.achieved], one.rows[one.achieved]) for one in own),
            strict=True,
        )
    )
    shown = np.flatnonzero(made)
    again = int((made[shown] - 1).sum())  # the first one chose the pair
    return int(reached[shown[shown < len(reached)]].sum()) >= max(again, 1)


def _conditions(found: Sequence[MadeChanges], share: Share) -> Iterator[tuple[When, When]]:
    """Yield the condition of each, and what is striking unless there is one.

    Both are from its own executions, or from those of all changes that are one event.
    """
    asked = [one for one in found if one.may_depend]
    events: dict[tuple[str, ...], list[MadeChanges]] = {}
    for one in found:
        if one.may_differ:
            events.setdefault(one.event, []).append(one)
    pools = [own for own in events.values() if len(own) > 1]
    questions = [one.condition for one in asked]
    sure = sure_conditions([*questions, *(partial(_condition, own) for own in pools)], share)
    best: dict[int, FoundCondition] = {}
    perhaps: dict[int, When] = {}
    members = [*([one] for one in asked), *pools]
    for own, condition in zip(members, sure, strict=True):
        for one in own if condition is not None and condition.when else ():
            assert condition is not None
            known = best.get(id(one))
            shown = one.hits[one.holding(condition.when)].any()
            if shown and (known is None or condition.evidence > known.evidence):
                best[id(one)] = condition
    for own in events.values():
        likely = [best[id(one)].when for one in own if id(one) in best]
        if not likely and (literal := striking_condition(*_pooled(own))):
            likely.append(literal)
        for one in own:
            if id(one) not in best:
                perhaps[id(one)] = next(filter(one.only_when, likely), ())
    for one in found:
        yield (best[id(one)].when if id(one) in best else ()), perhaps.get(id(one), ())


def _condition(own: Sequence[MadeChanges], error_rate: float) -> FoundCondition | None:
    """Return the condition of several changes that are one event."""
    return find_condition(*_pooled(own), error_rate)


def _pooled(own: Sequence[MadeChanges]) -> tuple[LiftedFeatures, Mask]:
    """Put the executions of several changes together, in requests of several forms."""
    context, hits, parts = own[0].context, [], []
    for request in dict.fromkeys(one.forms[0].request for one in own):
        same = [one for one in own if one.forms[0].request == request]
        rows = np.unique(np.concatenate([one.rows for one in same]))
        hits.append(np.isin(rows, np.concatenate([one.rows[one.hits] for one in same])))
        features, place = context.once(pair_features)(request)
        pairs = context.table.distinct.pair[context.table.transition[rows]]
        parts.append(features.where(place[pairs]))
    return LiftedFeatures.joined(parts), np.concatenate(hits)


_Shape = frozenset[str]
"""The forms of all that an execution changed beyond its request."""


def _shapes(
    context: FindingContext, listed: Sequence[UnrequestedChange]
) -> Mapping[str, Mapping[int, _Shape]]:
    """Return, by form of request, the shape of each transition that did not achieve it."""
    achieved = context.once(held_at_ends)[1]
    found: dict[str, dict[int, set[str]]] = {}
    for change in listed:
        own = found.setdefault(change.request, {})
        for place in change.made:
            if not achieved[place]:
                own.setdefault(place, set()).add(change.change)
    return {
        text: {place: frozenset(forms) for place, forms in own.items()}
        for text, own in found.items()
    }


def _comes_alone(
    forms: Sequence[UnrequestedChange], seen: Mapping[str, Mapping[int, _Shape]]
) -> bool:
    """Return whether changes never come beside a step that was seen without them, too."""
    own, told = seen[forms[0].request], {form.change for form in forms}
    known = set(own.values())
    return not any(own[place] - told in known for place in forms[0].made & own.keys())


BEYOND = FindingKind("beyond the request", "changes beyond the request", find_changes)
