"""The rows of the table of capabilities, and the rules that they expand to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from capscope.insight.rates import success_at_once, without_sinks
from capscope.insight.repeated_requests import Persistence
from capscope.insight.success import ResetSuccess
from capscope.logic import Effect, ExactlyOne, Intent, State, Vocabulary
from capscope.model import Outcome, StateGraph
from capscope.report.digest.card import CardDigest, Tone
from capscope.report.digest.shape import (
    CapabilityDigest,
    LiteralChange,
    Mark,
    OutcomeDigest,
    RuleDigest,
    Standing,
    SuccessDigest,
)
from capscope.report.digest.size_budget import SizeBudget, brief
from capscope.report.text import CapabilityView, RuleView, success_text
from capscope.sanitize import sanitize
from capscope.stats.arrays import Floats
from capscope.wording import first_few, joined

if TYPE_CHECKING:
    from capscope.run import Run

ALMOST_CERTAIN = 0.99
MOST_STATES = 24
"""States listed for one rule."""
_LARGE_INDEX = 99_999
_MOST_GROUPS = 3
_MOST_CONDITIONS = 8
"""Conjunctions shown of one condition."""


@dataclass(frozen=True)
class Standings:
    """How reliable each capability is: asked once or, if executions end with changes, repeatedly.

    A planner whose executions end with the first change achieves most intents only at the end of
    several; what counts is whether it gets there.
    """

    views: tuple[CapabilityView, ...]
    each: tuple[Standing, ...]
    """Parallel to the views."""
    eventual: tuple[Mapping[State, float], ...] | None
    """Parallel to the views, see `Persistence`; None if executions do not end with changes."""
    gets_there: tuple[float | None, ...] = ()
    """Parallel to the views: the mean over the states tried; None if there are none."""
    inferred: frozenset[Intent] = frozenset()
    """Those whose standing would be lower without what the model infers."""

    @classmethod
    def at_once(cls, views: Sequence[CapabilityView]) -> Standings:
        """Judge each capability by single executions."""
        return cls(tuple(views), tuple(map(standing_of, views)), None)

    @classmethod
    def of_run(cls, run: Run, views: Sequence[CapabilityView]) -> Standings:
        """Judge each capability."""
        if run.identity.temporal_length is None:
            return cls.at_once(views)
        chains = [run.persistences[view.intent] for view in views]
        own = tuple(_by_state(chain.states, chain.share) for chain in chains)
        each = tuple(map(_eventual_standing, own))
        measured = [_eventual_standing(_by_state(c.states, c.measured)) for c in chains]
        by_model = (v.intent for v, a, b in zip(views, each, measured, strict=True) if a is not b)
        means = tuple(_mean(run.graph, chain) for chain in chains)
        return cls(tuple(views), each, own, means, frozenset(by_model))

    @property
    def repeated(self) -> bool:
        """Whether they are about asking until the intent holds."""
        return self.eventual is not None

    def of(self, standing: Standing) -> list[CapabilityView]:
        """List the capabilities of a standing, those with the most executions first."""
        pairs = zip(self.views, self.each, strict=True)
        own = [view for view, each in pairs if each is standing]
        return sorted(own, key=lambda view: -view.executions)


def _mean(graph: StateGraph, chain: Persistence) -> float | None:
    counted = without_sinks(graph, chain.states)
    return chain.mean(dict.fromkeys(counted, 1)) if counted else None


def _by_state(states: Sequence[State], shares: Floats) -> Mapping[State, float]:
    return dict(zip(states, shares.tolist(), strict=True))


def _eventual_standing(probabilities: Mapping[State, float]) -> Standing:
    if not probabilities:
        return Standing.UNTRIED
    if min(probabilities.values()) >= ALMOST_CERTAIN:
        return Standing.RELIABLE
    return Standing.SOMETIMES if max(probabilities.values()) > 0 else Standing.NEVER


def capability_digests(
    standings: Standings,
    graph: StateGraph,
    space: SizeBudget,
    success: Mapping[Intent, ResetSuccess] = MappingProxyType({}),
) -> list[CapabilityDigest]:
    """Describe every capability with as many of its rules as fit, without their draws."""
    views = standings.views
    plain = [_capability(view, graph, success.get(view.intent)) for view in views]
    described = [
        replace(
            one,
            standing=standing,
            standing_inferred=views[number].intent in standings.inferred,
            gets_there=_gets_there(standings, number),
        )
        for number, (one, standing) in enumerate(zip(plain, standings.each, strict=True))
    ]
    kept: list[list[RuleDigest]] = [[] for _ in views]
    space.take(*described)
    # The first rule of each, then the second of each: a long list must not displace the others.
    most = max((len(view.rules) for view in views), default=0)
    for rank in range(most):
        for view, rules in zip(views, kept, strict=True):
            if len(rules) == rank < len(view.rules):
                rule = _rule(view.rules[rank], graph.vocabulary)
                if space.take(rule, [_LARGE_INDEX] * min(rule.states_count, MOST_STATES)):
                    rules.append(rule)
    return [
        replace(one, rules=tuple(rules), rules_omitted=len(view.rules) - len(rules))
        for one, view, rules in zip(described, views, kept, strict=True)
    ]


def _gets_there(standings: Standings, number: int) -> float | None:
    mean = standings.gets_there[number] if standings.repeated else None
    return None if mean is None else brief(mean)


def with_harm(
    capabilities: Sequence[CapabilityDigest], cards: Sequence[CardDigest]
) -> list[CapabilityDigest]:
    """Add to each capability the first card that says that it does harm."""
    first: dict[str, int] = {}
    for number, card in enumerate(cards):
        if card.tone is Tone.HARM:
            for intent in card.intents:
                first.setdefault(intent, number)
    return [replace(one, harm=first.get(one.intent)) for one in capabilities]


def marks_note(groups: ExactlyOne, vocabulary: Vocabulary) -> str:
    """Say which changes are not marked as side effects because another change implies them.

    >>> from capscope.logic import Predicate
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
    view: CapabilityView, graph: StateGraph, after_reset: ResetSuccess | None
) -> CapabilityDigest:
    success = success_at_once(graph, view.intent)
    lowest = min((rule.achieving for rule in view.rules if not rule.held), default=0.0)
    return CapabilityDigest(
        intent=sanitize(str(view.intent)),
        standing=standing_of(view),
        executions=view.executions,
        states_tried=view.states_tried,
        states_untried=view.states_seen - view.states_tried,
        success=None if success is None else brief(success),
        success_low=brief(lowest),
        after_reset=_after_reset(after_reset),
        side_effects=max((rule.most_side_effects for rule in view.rules), default=0),
        rules=(),
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
