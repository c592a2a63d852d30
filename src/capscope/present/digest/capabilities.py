"""The rows of the table of capabilities, and the rules that they expand to."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from capscope.analysis.findings.finding import joined
from capscope.analysis.success import ResetSuccess
from capscope.model import Outcome
from capscope.present.digest.shape import (
    CapabilityDigest,
    LiteralChange,
    Mark,
    OutcomeDigest,
    RuleDigest,
    Standing,
    SuccessDigest,
)
from capscope.present.digest.size_budget import SizeBudget, brief
from capscope.present.text import (
    CapabilityView,
    RuleView,
    first_few,
    mean_success,
    success_text,
)
from capscope.sanitize import sanitize
from capscope.symbolic import Effect, ExactlyOne, Intent, Vocabulary

MOST_STATES = 24
"""States listed for one rule."""
_LARGE_INDEX = 99_999
_MOST_GROUPS = 3
_MOST_CONDITIONS = 8
"""Conjunctions shown of one condition."""


def capability_digests(
    views: Sequence[CapabilityView],
    vocabulary: Vocabulary,
    space: SizeBudget,
    success: Mapping[Intent, ResetSuccess] = MappingProxyType({}),
) -> list[CapabilityDigest]:
    """Describe every capability with as many of its rules as fit, without their draws."""
    after_reset = [_after_reset(success.get(view.intent)) for view in views]
    kept: list[list[RuleDigest]] = [[] for _ in views]
    for view, own in zip(views, after_reset, strict=True):
        space.take(_capability(view, (), own))
    # The first rule of each, then the second of each: a long list must not displace the others.
    most = max((len(view.rules) for view in views), default=0)
    for rank in range(most):
        for view, rules in zip(views, kept, strict=True):
            if len(rules) == rank < len(view.rules):
                rule = _rule(view.rules[rank], vocabulary)
                if space.take(rule, [_LARGE_INDEX] * min(rule.states_count, MOST_STATES)):
                    rules.append(rule)
    return [
        _capability(view, tuple(rules), own)
        for view, rules, own in zip(views, kept, after_reset, strict=True)
    ]


def marks_note(groups: ExactlyOne, vocabulary: Vocabulary) -> str:
    """Say which changes are not marked as side effects because another change implies them.

    >>> from capscope.symbolic import Predicate
    >>> vocabulary = Vocabulary([Predicate("at", ("cell",))], {"a": "cell", "b": "cell"})
    >>> marks_note(ExactlyOne((0b11,)), vocabulary)
    'Exactly one of at(…) held in every state seen; a change that follows from this is not marked.'
    """
    names = [f"one of {sanitize(name)}" for name in groups.names(vocabulary)]
    if not names:
        return ""
    shown = joined(first_few(names, _MOST_GROUPS, "of {} more sets"))
    return (
        f"Exactly {shown} held in every state seen; a change that follows from this is not marked."
    )


def standing_of(view: CapabilityView) -> Standing:
    """Return how reliable a capability is where its intent did not hold already."""
    executions = sum(rule.rule.executions for rule in view.rules if not rule.held)
    successes = sum(rule.successes for rule in view.rules if not rule.held)
    if not executions:
        return Standing.UNTRIED
    if successes == executions:
        return Standing.RELIABLE
    return Standing.SOMETIMES if successes else Standing.NEVER


def _after_reset(success: ResetSuccess | None) -> SuccessDigest | None:
    if success is None:
        return None
    rate = None if success.rate is None else brief(success.rate)
    return SuccessDigest(rate, brief(success.low), brief(success.high), success_text(success))


def _capability(
    view: CapabilityView, rules: tuple[RuleDigest, ...], after_reset: SuccessDigest | None
) -> CapabilityDigest:
    success = mean_success(view.rules)
    lowest = min((rule.achieving for rule in view.rules if not rule.held), default=0.0)
    return CapabilityDigest(
        intent=sanitize(str(view.intent)),
        standing=standing_of(view),
        executions=view.executions,
        states_tried=view.states_tried,
        states_untried=view.states_seen - view.states_tried,
        success=None if success is None else brief(success),
        success_low=brief(lowest),
        after_reset=after_reset,
        side_effects=max((rule.most_side_effects for rule in view.rules), default=0),
        rules=rules,
        rules_omitted=len(view.rules) - len(rules),
    )


def _rule(view: RuleView, vocabulary: Vocabulary) -> RuleDigest:
    outcomes = zip(view.rule.outcomes, view.achieved, view.side_effects, strict=True)
    conditions = [tuple(sanitize(str(literal)) for literal in term) for term in view.when]
    return RuleDigest(
        when=tuple(conditions[:_MOST_CONDITIONS]),
        states=(),
        states_count=len(view.rule.states),
        draws_count=view.rule.executions,
        achieving=brief(view.achieving),
        held_already=view.held and not view.acts,
        outcomes=tuple(_outcome(*outcome, vocabulary) for outcome in outcomes),
        draws=(),
        conditions_omitted=max(len(conditions) - _MOST_CONDITIONS, 0),
    )


def _outcome(
    outcome: Outcome, achieved: bool, beyond: Effect, vocabulary: Vocabulary
) -> OutcomeDigest:
    changed = outcome.effect.literals(vocabulary)
    mark = Mark.ACHIEVED if achieved else Mark.OTHER if changed else Mark.NOTHING
    low, high = outcome.interval
    side_effects = beyond.literals(vocabulary)
    changes = (LiteralChange(sanitize(str(x)), x in side_effects) for x in changed)
    return OutcomeDigest(
        mark, brief(outcome.probability), brief(low), brief(high), outcome.count, tuple(changes)
    )
