"""Requests that are refused, that succeed less often under a condition or over time, or break down.

An execution *fails* if the request does not hold at its end, unless it ended with a change on the
way. Failures of all requests of one form are searched for a condition, alone and with those of the
opposite. If nothing changed in nearly all of them, the agent refuses. Without a condition, failures
are told if all executions failed, or if the same request in the same state was achieved at other
times. Executions that ended because the agent failed, or at the horizon, are named with their
number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from capscope.insight.conditions import (
    FoundCondition,
    LiftedFeatures,
    find_condition,
    sure_conditions,
)
from capscope.insight.drift import Drift
from capscope.insight.findings.confuses import confusion, confusions, mistakes
from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.finding import Finding, Kind
from capscope.insight.findings.requests import FormRequests, requests
from capscope.journal.draws import ENDINGS
from capscope.logic import Effect
from capscope.logic.footprint import Footprint
from capscope.problem.attempt import Ending
from capscope.stats.arrays import Mask
from capscope.stats.error_budget import Share
from capscope.stats.rate import Rate
from capscope.wording import joined

_MOSTLY = 0.9
"""From this share on, failures are refusals if nothing changed, and a refusal is one."""
_LEAST_FAILURES = 2
_BREAKDOWNS = {
    Ending.HORIZON: "reached the horizon",
    Ending.AGENT_RAISED: "ended because the agent raised an exception",
    Ending.INVALID_ACTION: "ended with an action that is not available",
    Ending.REFUSED: "ended because the server of the model refused the conversation",
}


def find_success(context: FindingContext, share: Share) -> list[Finding]:
    """Find requests that are refused, succeed less often, or break down."""
    mistaken = list(mistakes(context))
    forms = [form for form in context.once(requests) if form.failed.any()]
    asked = [form for form in forms if form.failed.sum() >= _LEAST_FAILURES]
    both = [own for own in _either_sign(asked) if len(own) > 1]
    sure = sure_conditions(
        [partial(confusion, parts) for parts in mistaken]
        + [partial(form.condition, form.failed) for form in asked]
        + [partial(_condition, own) for own in both],
        share,
    )
    number = max(len(sure), 1)
    found = [
        one
        for parts, condition in zip(mistaken, sure, strict=False)
        for one in confusions(parts, condition, number)
    ]
    told = {intent for finding in found for intent in finding.intents}
    best: dict[str, FoundCondition] = {}
    for own, condition in zip([*([f] for f in asked), *both], sure[len(mistaken) :], strict=True):
        for form in own if condition is not None else ():
            assert condition is not None
            inside = form.features.holding(condition.when)
            known = best.get(form.text)
            if form.failed[inside].any() and (not known or condition.evidence > known.evidence):
                best[form.text] = replace(condition, inside=inside)
    others = (one for form in forms for one in _of_form(form, best.get(form.text), number))
    return found + [
        one for one in others if one.kind != Kind.EXCEPTION or not told.issuperset(one.intents)
    ]


def _either_sign(forms: Sequence[FormRequests]) -> Iterable[Sequence[FormRequests]]:
    """Put requests together that differ in whether something shall become true or false."""
    found: dict[str, list[FormRequests]] = {}
    for form in forms:
        found.setdefault(form.text.removeprefix("not "), []).append(form)
    return found.values()


def _condition(forms: Sequence[FormRequests], error_rate: float) -> FoundCondition | None:
    """Return the condition under which requests of several forms fail more often."""
    features = LiftedFeatures.joined([form.features for form in forms])
    return find_condition(features, np.concatenate([form.failed for form in forms]), error_rate)


def _of_form(form: FormRequests, found: FoundCondition | None, questions: int) -> Iterator[Finding]:
    table, rows, failed = form.context.table, form.rows, form.failed
    ending = table.ending[rows]
    idle: Mask = failed & (table.before[rows] == table.after[rows])
    broken: Mask = failed & np.isin(ending, [ENDINGS.index(one) for one in _BREAKDOWNS])
    if found is None:
        every: Mask = np.ones(len(rows), dtype=bool)
        if failed.all() and idle.mean() >= _MOSTLY:
            yield _finding(form, Kind.REFUSES, idle, every, (), questions)
        elif broken.any() or (failed & form.by_chance).any():
            happened = broken if broken.any() else failed
            yield _finding(form, Kind.LESS, happened, every, (), questions)
        return
    inside = found.inside
    refuses = idle[inside].sum() >= _MOSTLY * failed[inside].sum()
    refuses = refuses and failed[inside].mean() >= _MOSTLY
    kind = Kind.REFUSES if refuses else Kind.LESS
    if any(literal.atoms[0][0] == "=" for literal in found.when):
        kind = Kind.EXCEPTION
    happened = idle if refuses else failed
    yield _finding(form, kind, happened, inside, found.when, questions)


def _finding(
    form: FormRequests,
    kind: Kind,
    happened: Mask,
    inside: Mask,
    when: tuple[object, ...],
    questions: int,
) -> Finding:
    context, hits = form.context, happened & inside
    example = context.nearest(form.rows[hits].tolist())
    rate = form.rate(happened, inside, questions)
    against = form.rate(happened, ~inside, questions)
    return Finding(
        kind,
        form.text,
        "",
        form.asked(hits),
        int(hits.sum()),
        int(inside.sum()),
        when,
        rate,
        against,
        lasting=False,
        harmless=_is_harmless(form, inside),
        path=context.path(example.before),
        example=example,
        note=_breakdowns(form, hits),
    )


def _breakdowns(form: FormRequests, hits: Mask) -> str:
    """Say how many of some executions ended because of the agent, or at the horizon."""
    ending = form.context.table.ending[form.rows[hits]]
    counts = {text: int((ending == ENDINGS.index(e)).sum()) for e, text in _BREAKDOWNS.items()}
    return joined(f"{number:,} {text}" for text, number in counts.items() if number)


def _is_harmless(form: FormRequests, inside: Mask) -> bool:
    """Return whether nobody would ask for it there, or nothing can be done any more."""
    table, nodes = form.context.table, form.context.graph.nodes
    states = np.unique(table.before[form.rows[inside]]).tolist()
    return not form.wished_for(inside) or all(nodes[table.states[number]].sink for number in states)


SUCCESS = FindingKind("success", "requests that are refused or succeed less often", find_success)


def find_change(context: FindingContext, share: Share) -> list[Finding]:
    """Report the change of the agent during the run, if there is one.

    The test for drift has an error rate of its own, which does not count the questions of a report.
    Here its evidence must reach the threshold of this kind as well.
    """
    drift, threshold = context.run.drift, share.threshold(2)
    return [] if drift is None or drift.evidence < threshold else [_drift(context, drift)]


def _drift(context: FindingContext, drift: Drift) -> Finding:
    """Describe a change by the pair that shows it most clearly, chosen among many."""
    usual = next(iter(drift.before))
    capability = context.graph.index[drift.intent]
    table, words = context.table, context.vocabulary
    rows = np.flatnonzero((table.capability == capability) & (table.transition >= 0))
    example = next(one for one in map(context.example, rows.tolist()) if one.before == drift.state)
    before, after = (
        Rate.of_pairs([(counts[usual], counts.total())], 1, max(2 * drift.pairs, 1))
        for counts in (drift.before, drift.after)
    )
    effect = context.exactly_one.without_implied(Effect.between(drift.state, usual))
    did = joined(effect.literals(words)) or "nothing"
    which = "" if drift.capability is None else f" when it is asked for {drift.capability}"
    return Finding(
        Kind.DRIFT,
        str(drift.intent.renamed(Footprint(drift.intent, words).lift)),
        "",
        (drift.intent,),
        drift.after.total() - drift.after[usual],
        drift.after.total(),
        rate=after.missed,
        against=before.missed,
        path=context.path(drift.state),
        example=example,
        text=(
            f"After about {drift.executions:,} executions the agent changed what it does{which}: "
            f"asked for {drift.intent} in one state, it caused {did} with probability "
            f"{before.text} before, and {after.text} since."
        ),
    )


DRIFT = FindingKind("change over time", "changes of the agent during the run", find_change, 0.2)
