"""Findings: sentences about an agent, from the executions alone.

Few people read a model of forty capabilities. Most of it is as expected: asked for something, the
agent does it, or cannot. Findings are the exceptions: the agent changes more than it needs to,
fails where it could succeed, breaks down, or changes during the run. All comparisons of one call
share one error budget, divided equally among the registered kinds, so each additional kind makes
all thresholds a little stricter. A kind sees the findings of the kinds before it.

To add a kind, write a module that defines a `FindingKind` and add it here; a package of your own
registers one under the entry-point group `capscope.finding_kinds`.

Findings are ranked by the harm that they may do: what cannot be undone comes first, then what the
agent does instead of what it was asked for. Then come the others, by how probable the event is
times how often it is met in use: capabilities requested at random, a few in a row, from the
beginnings of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from capscope.insight.drift import Drift
from capscope.insight.earlier_findings.collateral import COLLATERAL
from capscope.insight.earlier_findings.context import FindingContext, FindingKind, PairEndings
from capscope.insight.earlier_findings.failures import BREAKDOWN, DROP, FAILURE
from capscope.insight.earlier_findings.finding import Example, Finding
from capscope.insight.earlier_findings.side_effects import SIDE_EFFECT
from capscope.journal.settings import Settings
from capscope.logic import Effect, State
from capscope.model import StateGraph
from capscope.registry import Registry
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget, Share
from capscope.stats.rate import Rate
from capscope.wording import joined

__all__ = ["FINDING_KINDS", "Example", "Finding", "FindingKind", "find_findings"]

IRREVERSIBLE = 4
"""The rank of findings that nothing undoes; those of other kinds are lower (`FindingKind`)."""


def _find_changes(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Report the change of the agent during the run, if there is one.

    The test for drift has an error rate of its own, which does not count the questions of a report.
    Here its evidence must reach the threshold of this kind as well. The pair that shows the change
    most clearly was chosen among many, so the intervals of its rates are wider.
    """
    drift = context.drift
    threshold = share.threshold(2)
    if drift is None or drift.evidence < threshold:
        return []
    usual = next(iter(drift.before))
    capability = context.graph.index[drift.intent]
    before, after = (
        Rate.of_pairs([(counts[usual], sum(counts.values()))], 1, max(2 * drift.pairs, 1))
        for counts in (drift.before, drift.after)
    )
    effect = Effect.between(drift.state, usual)
    literals = context.exactly_one.without_implied(effect).literals(context.vocabulary)
    which = "" if drift.capability is None else f" when it is asked for {drift.capability}"
    sentence = (
        f"After about {drift.executions:,} executions the agent changed what it does{which}: asked "
        f"for {drift.intent} in one state, it caused {joined(literals) or 'nothing'} with "
        f"probability {before.text} before, and {after.text} since."
    )
    example = context.example(capability, drift.state, usual)
    return [
        Finding(
            CHANGE.name,
            (drift.intent,),
            sentence,
            after,
            before,
            (),
            literals,
            (example,),
            frozenset({(capability, drift.state)}),
            strength=max(before.gap_to(after), after.gap_to(before)),
        )
    ]


CHANGE = FindingKind("change", "changes of the agent during the run", _find_changes, severity=3)
_BUILT_IN = (COLLATERAL, SIDE_EFFECT, FAILURE, DROP, BREAKDOWN, CHANGE)
FINDING_KINDS = Registry("capscope.finding_kinds", "kind of finding", FindingKind, _BUILT_IN)


def approximate_labels() -> list[str]:
    """List the labels of the kinds whose error rate holds only approximately, each once."""
    kinds = FINDING_KINDS.all.values()
    return list(dict.fromkeys(kind.name for kind in kinds if kind.approximate))


def find_findings(
    graph: StateGraph,
    *,
    beginnings: Iterable[State] = (),
    endings: PairEndings | None = None,
    drift: Drift | None = None,
    use_length: int = Settings().use_length,
    kinds: Sequence[FindingKind] | None = None,
) -> list[Finding]:
    """Return the findings in what was learned, the most harmful first.

    Args:
        graph: Everything that was seen.
        beginnings: The states in which runs begin; the first state seen unless given.
        endings: How the executions of each pair ended.
        drift: How the agent changed during the run, if it did.
        use_length: The number of requests in a row that use is modelled as.
        kinds: The kinds of findings to look for; all registered ones unless given.

    Returns:
        The findings.
    """
    context = FindingContext(
        graph, beginnings=beginnings, endings=endings, drift=drift, use_length=use_length
    )
    searched = list(FINDING_KINDS.all.values()) if kinds is None else kinds
    budget = ErrorBudget(ERROR_RATE, len(searched))
    found: list[Finding] = []
    for kind in searched:
        found += kind.find(context, budget.share(kind.name), tuple(found))
    kinds_of = {kind.name: kind for kind in searched}
    if any(finding.kind == CHANGE.name for finding in found):
        found = [f for f in found if not kinds_of[f.kind].assumes_steady_agent]
    return ranked_by_harm(context, found, kinds_of)


def ranked_by_harm(
    context: FindingContext, findings: Iterable[Finding], kinds: Mapping[str, FindingKind]
) -> list[Finding]:
    """Return the findings with their harm and the path to them, the most harmful first.

    `kinds` has the kind for each label.
    """
    ranked = [_complete(context, finding, kinds[finding.kind]) for finding in findings]
    return sorted(ranked, key=lambda f: (-f.harm, -f.strength, -f.rate.executions, f.sentence))


def _complete(context: FindingContext, finding: Finding, kind: FindingKind) -> Finding:
    severity = IRREVERSIBLE if finding.irreversible else kind.severity + finding.instead
    rate = finding.rate.missed if kind.counts_success else finding.rate
    harm = severity + min((rate.estimate or 0.0) * _met_in_use(context, finding), 0.999)
    if not finding.examples:
        return replace(finding, harm=harm)
    examples = sorted(finding.examples, key=lambda e: context.rank(e.state, e.count))
    way = context.known_ways.to(examples[0].state)
    return replace(finding, harm=harm, way=way, examples=tuple(examples))


def _met_in_use(context: FindingContext, finding: Finding) -> float:
    """Return the fraction of requests in use that the finding is about."""
    share = sum(context.visits[context.index[state]] for _, state in finding.pairs)
    return float(share) / max(len(context.intents), 1)
