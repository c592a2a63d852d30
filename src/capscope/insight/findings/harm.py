"""Rank findings by the harm that they may do to a user.

What cannot be undone comes first, then what the agent does instead of what it was asked for: the
user gets something else. Then come the other findings about what the agent does or fails to do, by
how probable it is times how often it is met in use: capabilities requested at random, a few in a
row, from the beginnings of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.finding import Example, Finding
from capscope.logic import State

IRREVERSIBLE = 4
"""The rank of findings that nothing undoes; those of other kinds are lower (`FindingKind`)."""


def ranked_by_harm(
    context: FindingContext, findings: Iterable[Finding], kinds: Mapping[str, FindingKind]
) -> list[Finding]:
    """Return the findings with their harm and the way to them, the most harmful first.

    `kinds` has the kind for each label.
    """
    ranked = [_complete(context, finding, kinds[finding.kind]) for finding in findings]
    return sorted(ranked, key=lambda f: (-f.harm, -f.strength, -f.rate.draws, f.sentence))


def _complete(context: FindingContext, finding: Finding, kind: FindingKind) -> Finding:
    severity = IRREVERSIBLE if finding.irreversible else kind.severity + finding.instead
    rate = finding.rate.probability
    harmful = 1 - rate if kind.counts_success else rate
    harm = severity + min(harmful * met_in_use(context, finding), 0.999)
    if not finding.examples:
        return replace(finding, harm=harm)
    lengths = {e.state: _length(context, e.state) for e in finding.examples}
    examples = sorted(finding.examples, key=lambda e: _rank(e, lengths))
    way = context.known_ways.to(examples[0].state)
    return replace(finding, harm=harm, way=way, examples=tuple(examples))


def met_in_use(context: FindingContext, finding: Finding) -> float:
    """Return the share of requests in use that the finding is about."""
    share = sum(context.visits[context.index[state]] for _, state in finding.pairs)
    return float(share) / max(len(context.intents), 1)


def _length(context: FindingContext, state: State) -> float:
    length = context.known_ways.length(state)
    return float("inf") if length is None else length


def _rank(example: Example, lengths: dict[State, float]) -> tuple[float, int, State]:
    return lengths[example.state], -example.count, example.state
