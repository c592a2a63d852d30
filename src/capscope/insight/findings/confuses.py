"""Requests at which the agent does to another object what was asked of one.

It may take one object for another in every request about them, whether something shall become true
or false. So for each object that got what was asked of others, the executions of both forms are one
question: of which objects was it asked?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from capscope.insight.conditions import FoundCondition, LiftedFeatures, TermScope, find_condition
from capscope.insight.findings.context import FindingContext
from capscope.insight.findings.finding import Finding, Kind
from capscope.insight.findings.requests import FormRequests, requests
from capscope.logic import Atom, Effect, Literal
from capscope.problem.counterfactual import Need
from capscope.stats.arrays import Mask

_LEAST = 2
_DIFFERENCE = 0.02


@dataclass(frozen=True)
class Mistake:
    """The requests of one form, and one of them that may come true instead of the others."""

    form: FormRequests
    literal: Literal
    became: Mask
    """Where it came true instead."""
    could: Mask
    """Where it could, as something else was asked for."""


def mistakes(context: FindingContext) -> Iterator[list[Mistake]]:
    """Yield the forms of each atom that came true instead of others."""
    by_predicate: dict[str, list[FormRequests]] = {}
    for form in context.once(requests):
        if form.single:
            by_predicate.setdefault(form.text.removeprefix("not "), []).append(form)
    for forms in by_predicate.values():
        yield from _of_forms(forms)


def _of_forms(forms: Sequence[FormRequests]) -> Iterator[list[Mistake]]:
    """Yield, for each atom that changed instead of others, the forms in which it could."""
    found: dict[Atom, list[Mistake]] = {}
    for form in forms:
        table, bits = form.context.table, form.context.vocabulary.bit
        before, which = np.unique(table.before[form.rows], return_inverse=True)
        asked = table.capability[form.rows]
        for place, capability in enumerate(form.capabilities):
            (literal,) = form.context.intents[capability].literals
            states = (table.states[number] & bits[literal.atom] for number in before.tolist())
            free = np.array([bool(held) is not literal.positive for held in states], dtype=bool)
            could = free[which.reshape(-1)] & (asked != capability)
            part = Mistake(form, literal, form.instead[place], could)
            found.setdefault(literal.atom, []).append(part)
    for parts in found.values():
        if sum(int(part.became.sum()) for part in parts) >= _LEAST:
            yield parts


def confusion(parts: Sequence[Mistake], error_rate: float) -> FoundCondition | None:
    """Return of which objects it was asked when one atom came true instead, in all its forms."""
    features = LiftedFeatures.joined([p.form.features.where(p.could) for p in parts])
    became = np.concatenate([part.became[part.could] for part in parts])
    return find_condition(
        features.within(TermScope.CONSTANT), became, error_rate, difference=_DIFFERENCE
    )


def confusions(
    parts: Sequence[Mistake], condition: FoundCondition | None, questions: int
) -> Iterator[Finding]:
    """Yield a finding for each form if a condition tells of which objects it was asked.

    Args:
        parts: The forms of one atom.
        condition: Under which it came true instead.
        questions: How many conditions are looked for beside it.

    Yields:
        The findings.
    """
    for part in parts if condition is not None and condition.when else ():
        assert condition is not None
        inside = part.could & part.form.features.holding(condition.when)
        if (inside & part.became).any():
            yield _finding(part, condition, inside, questions)


def _finding(part: Mistake, condition: FoundCondition, inside: Mask, questions: int) -> Finding:
    form, context, hits = part.form, part.form.context, part.became & inside
    example = context.nearest(form.rows[hits].tolist())
    effect = Effect(*context.vocabulary.literal_masks([part.literal]))
    return Finding(
        Kind.CONFUSES,
        form.text,
        str(part.literal),
        form.asked(hits),
        int(hits.sum()),
        int(inside.sum()),
        condition.when,
        form.rate(part.became, inside, questions),
        form.rate(part.became, part.could & ~inside, questions),
        need=Need.NEEDLESS,
        lasting=not context.undoes(effect),
        named=False,
        path=context.path(example.before),
        example=example,
    )
