"""The rows of the table of capabilities, and the rules that they expand to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from capscope.insight.rates import success_at_once, without_sinks
from capscope.insight.repeated_requests import Persistence
from capscope.logic import Effect, ExactlyOne, Intent, State, Vocabulary
from capscope.model import Outcome, StateGraph
from capscope.report.digest.cards import CardDigest, Tone
from capscope.report.digest.size_budget import SizeBudget, brief
from capscope.report.text import CapabilityView, RuleView
from capscope.sanitize import sanitize
from capscope.stats.arrays import Floats
from capscope.stats.rate import Rate
from capscope.wording import first_few, joined

if TYPE_CHECKING:
    from capscope.run import Run

ALMOST_CERTAIN = 0.99
_MOST_GROUPS = 3
_MOST_CONDITIONS = 8
"""Conjunctions shown of one condition."""


class Standing(StrEnum):
    """How often an intent held after executions from states in which it did not hold.

    If executions end with changes: how probable it is when it is requested until it holds.
    """

    UNTRIED = "untried"
    """There were no such executions."""
    RELIABLE = "reliable"
    SOMETIMES = "sometimes"
    NEVER = "never seen"


class Mark(StrEnum):
    """What an outcome means for the intent."""

    ACHIEVED = "achieved"
    OTHER = "something else"
    NOTHING = "nothing changed"


@dataclass(frozen=True, slots=True)
class LiteralChange:
    """A literal that an outcome makes true."""

    literal: str
    side_effect: bool
    """The intent does not ask for it, and neither the intent nor another change implies it."""


@dataclass(frozen=True, slots=True)
class OutcomeDigest:
    """One outcome of a rule."""

    mark: Mark
    probability: float
    low: float
    high: float
    count: int
    changes: tuple[LiteralChange, ...]


@dataclass(frozen=True, slots=True)
class DrawDigest:
    """One execution that a rule was learned from."""

    query: int
    draw: int
    execution: int
    outcome: int
    """Index among the outcomes of its rule."""
    trajectory: tuple[int, ...]
    """Numbers of states, from the state before to the state after."""
    ending: str
    simulator_steps: int
    llm_tokens: int
    detail: str
    transcript: str
    """Written by the agent: untrusted, possibly shortened, empty if there is none."""


@dataclass(frozen=True, slots=True)
class RuleDigest:
    """A rule: its condition, its outcomes and some of its draws."""

    when: tuple[tuple[str, ...], ...]
    """A disjunction of conjunctions; one empty conjunction means always."""
    states_count: int
    draws_count: int
    achieving: float
    held_already: bool
    """The intent held before, and nothing changed."""
    outcomes: tuple[OutcomeDigest, ...]
    draws: tuple[DrawDigest, ...] = ()
    """Some for each outcome, the earliest first."""
    conditions_omitted: int = 0


@dataclass(frozen=True, slots=True)
class CapabilityDigest:
    """A row of the table, and what it expands to."""

    intent: str
    standing: Standing
    executions: int
    states_tried: int
    states_untried: int
    success: float | None
    """See `capscope.insight.rates.success_at_once`."""
    success_low: float
    """The lowest success of a rule in which the intent did not hold already."""
    side_effects: int
    """The most side effects of an outcome."""
    rules: tuple[RuleDigest, ...] = ()
    gets_there: float | None = None
    """The mean probability that the intent holds in the end if it is requested until it does, over
    the same states as `success`; None if an execution does not end with a change."""
    standing_inferred: bool = False
    """Whether the standing would be lower without what the model infers about untried pairs."""
    inferred: int = 0
    """Of the states untried, those in which the model predicts what happens."""
    harm: int | None = None
    """The first card that says that it does harm."""
    rules_omitted: int = 0
    after_reset: Rate | None = None
    """None if the intent holds after every reset, or where resets led was not recorded."""


@dataclass(frozen=True)
class Standings:
    """How reliable each capability is: asked once or, if executions end with changes, repeatedly.

    A planner whose executions end with the first change achieves most intents only at the end of
    several; what counts is whether it gets there.
    """

    views: tuple[CapabilityView, ...]
    each: tuple[Standing, ...]
    """Parallel to the views."""
    eventual: tuple[Mapping[State, float], ...] | None = None
    """Parallel to the views, see `Persistence`; None if executions do not end with changes."""
    gets_there: tuple[float | None, ...] = ()
    """Parallel to the views: the mean over the states tried; None if there are none."""
    inferred: frozenset[Intent] = frozenset()
    """Those whose standing would be lower without what the model infers."""

    @classmethod
    def at_once(cls, views: Sequence[CapabilityView]) -> Standings:
        """Judge each capability by single executions."""
        return cls(tuple(views), tuple(map(standing_of, views)))

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
    mean = chain.mean(dict.fromkeys(counted, 1)) if counted else None
    return None if mean is None else brief(mean)


def _by_state(states: Sequence[State], shares: Floats) -> Mapping[State, float]:
    return dict(zip(states, shares.tolist(), strict=True))


def _eventual_standing(probabilities: Mapping[State, float]) -> Standing:
    if not probabilities:
        return Standing.UNTRIED
    if min(probabilities.values()) >= ALMOST_CERTAIN:
        return Standing.RELIABLE
    return Standing.SOMETIMES if max(probabilities.values()) > 0 else Standing.NEVER


def standing_of(view: CapabilityView) -> Standing:
    """Return how reliable a capability is where its intent did not hold already."""
    executions = sum(rule.rule.executions for rule in view.rules if not rule.held)
    successes = sum(rule.successes for rule in view.rules if not rule.held)
    if not executions:
        return Standing.UNTRIED
    if successes == executions:
        return Standing.RELIABLE
    return Standing.SOMETIMES if successes else Standing.NEVER


def capability_digests(
    standings: Standings,
    graph: StateGraph,
    space: SizeBudget,
    success: Mapping[Intent, Rate] | None = None,
) -> list[CapabilityDigest]:
    """Describe the capabilities with as many rules as fit, without their draws."""
    views = standings.views
    described = [
        _capability(standings, i, graph, (success or {}).get(view.intent))
        for i, view in enumerate(views)
    ]
    kept: list[list[RuleDigest]] = [[] for _ in views]
    space.take(*described)
    # The first rule of each, then the second of each: a long list must not displace the others.
    for rank in range(max((len(view.rules) for view in views), default=0)):
        for view, rules in zip(views, kept, strict=True):
            if len(rules) == rank < len(view.rules):
                rule = _rule(view.rules[rank], graph.vocabulary)
                if space.take(rule):
                    rules.append(rule)
    return [
        replace(one, rules=tuple(rules), rules_omitted=len(view.rules) - len(rules))
        for one, view, rules in zip(described, views, kept, strict=True)
    ]


def _capability(
    standings: Standings, number: int, graph: StateGraph, after_reset: Rate | None
) -> CapabilityDigest:
    view = standings.views[number]
    success = success_at_once(graph, view.intent)
    lowest = min((rule.achieving for rule in view.rules if not rule.held), default=0.0)
    return CapabilityDigest(
        intent=sanitize(str(view.intent)),
        standing=standings.each[number],
        executions=view.executions,
        states_tried=view.states_tried,
        states_untried=view.states_seen - view.states_tried,
        success=None if success is None else brief(success),
        success_low=brief(lowest),
        side_effects=max((rule.most_side_effects for rule in view.rules), default=0),
        gets_there=standings.gets_there[number] if standings.repeated else None,
        standing_inferred=view.intent in standings.inferred,
        after_reset=after_reset,
    )


def _rule(view: RuleView, vocabulary: Vocabulary) -> RuleDigest:
    outcomes = zip(view.rule.outcomes, view.achieved, view.side_effects, strict=True)
    conditions = [tuple(sanitize(str(literal)) for literal in term) for term in view.when]
    return RuleDigest(
        when=tuple(conditions[:_MOST_CONDITIONS]),
        states_count=len(view.rule.states),
        draws_count=view.rule.executions,
        achieving=brief(view.achieving),
        held_already=view.held and not view.acts,
        outcomes=tuple(_outcome(*outcome, vocabulary) for outcome in outcomes),
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


def with_harm(
    capabilities: Sequence[CapabilityDigest], cards: Sequence[CardDigest]
) -> list[CapabilityDigest]:
    """Add to each capability the first card that says that it does harm."""
    harmful = [(i, card) for i, card in enumerate(cards) if card.tone is Tone.HARM]
    first = {intent: i for i, card in reversed(harmful) for intent in card.intents}
    return [replace(one, harm=first.get(one.intent)) for one in capabilities]


def with_inferred(run: Run, capabilities: Sequence[CapabilityDigest]) -> list[CapabilityDigest]:
    """Add to each capability in how many states the model infers what happens."""
    if not run.infers:
        return list(capabilities)
    by_intent = zip(run.graph.capabilities, run.model.coverage_by_capability(), strict=True)
    inferred = {sanitize(str(intent)): own.inferred for intent, own in by_intent}
    return [replace(one, inferred=inferred[one.intent]) for one in capabilities]


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
