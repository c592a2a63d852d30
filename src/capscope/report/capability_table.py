"""All capabilities in one table, for runs with more rules than anyone reads.

It begins with what the agent certainly does: the order is that of the lower ends of the intervals,
so that what was hardly tried is not listed as a weakness or a strength. The rules are one command
away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from capscope.insight.rates import CapabilityRates
from capscope.logic import Intent, Vocabulary
from capscope.report.text import CapabilityView
from capscope.sanitize import sanitize

MOST_RULES = 100
"""With more rules in all, a table is printed instead of them."""
_LEAST_SHARE = 0.1  # of a change that is named
_MOST_NAMED = 2
_EVENTUAL = (
    "gets there: in the end, if asked until it holds or three executions change nothing; paths to",
    "  where nothing is known {inferred}are left out (?: most are), and widen the interval",
)
_NO_RATE = "held wherever asked"


def too_many_rules(views: Sequence[CapabilityView]) -> bool:
    """Return whether a table is easier to read than all rules."""
    return len(views) > 1 and sum(len(view.rules) for view in views) > MOST_RULES


def table_lines(
    views: Sequence[CapabilityView],
    rates: Mapping[Intent, CapabilityRates],
    temporal_length: int | None,
    vocabulary: Vocabulary,
    *,
    inferred: bool,
) -> Iterator[str]:
    """List the capabilities with their rates, what is achieved for certain first."""
    eventual = temporal_length is not None
    rows: list[tuple[str, ...]] = [("gets there", "at once") if eventual else ("achieved",)]
    ordered = sorted(views, key=lambda view: _rank(rates.get(view.intent), eventual))
    for view in ordered:
        rows.append(_cells(rates.get(view.intent), eventual))
    names = ["asked for", *(sanitize(str(view.intent)) for view in ordered)]
    others = ["what else changes most often", *(_others(view, vocabulary) for view in ordered)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    name_width = max(map(len, names))
    for row, name, other in zip(rows, names, others, strict=True):
        shown = "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        yield f"{shown}  {name:{name_width}}  {other}".rstrip()
    yield ""
    yield "means over the states in which it was asked and did not hold yet  [95 % interval]"
    if eventual:
        for line in _EVENTUAL:
            yield line.format(inferred="or inferred " if inferred else "")


def _rank(rates: CapabilityRates | None, eventual: bool) -> tuple[float, float, float]:
    """Rank by what is certain, then by the rate; intents that always held are last."""
    if rates is None:
        return 2.0, 0.0, 0.0
    rate = rates.gets_there if eventual else rates.at_once
    return -round(rate.low, 2), -(rate.estimate or 0.0), -(rates.at_once.estimate or 0.0)


def _cells(rates: CapabilityRates | None, eventual: bool) -> tuple[str, ...]:
    if rates is None:
        return (_NO_RATE, "") if eventual else (_NO_RATE,)
    both = (rates.gets_there, rates.at_once) if eventual else (rates.at_once,)
    return tuple(rate.brief for rate in both)


def _others(view: CapabilityView, vocabulary: Vocabulary) -> str:
    """Name the most frequent changes beyond the intent; the mean over the states tried."""
    shares: defaultdict[str, float] = defaultdict(float)
    for rule in view.rules:
        for outcome, effect in zip(rule.rule.outcomes, rule.side_effects, strict=True):
            for literal in effect.literals(vocabulary):
                shares[str(literal)] += outcome.probability * len(rule.rule.states)
    states = view.states_tried
    named = sorted(shares, key=lambda literal: (-shares[literal], literal))[:_MOST_NAMED]
    texts = (f"{sanitize(x)} {shares[x] / states:.2f}" for x in named)
    return ", ".join(
        text for text, x in zip(texts, named, strict=True) if shares[x] / states >= _LEAST_SHARE
    )
