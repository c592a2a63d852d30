"""The rows of the table of capabilities, and the rules that they expand to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from capscope.insight.rates import success_at_once, without_sinks
from capscope.insight.repeated_requests import Persistence
from capscope.insight.tried_rules import TriedOutcome
from capscope.logic import Effect, ExactlyOne, Intent, State, Vocabulary
from capscope.model import StateGraph
from capscope.report.digest.cards import Tone
from capscope.report.digest.size_budget import SizeBudget, brief
from capscope.report.text import CapabilityView, RuleView
from capscope.sanitize import sanitize
from capscope.stats.arrays import Floats
from capscope.wording import first_few, joined

if TYPE_CHECKING:
    from capscope.run import Run

ALMOST_CERTAIN = 0.99
ACHIEVED, OTHER, NOTHING = "achieved", "something else", "nothing changed"
"""What an outcome means for the intent."""
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
    standings: Standings, graph: StateGraph, space: SizeBudget
) -> list[dict[str, Any]]:
    """Describe the capabilities with as many rules as fit, without their draws."""
    rows = [_row(standings, number, graph) for number in range(len(standings.views))]
    space.take(*rows)
    # The first rule of each, then the second of each: a long list must not displace the others.
    for rank in range(max((len(view.rules) for view in standings.views), default=0)):
        for view, row in zip(standings.views, rows, strict=True):
            if len(row["rules"]) == rank < len(view.rules):
                rule = _rule(view.rules[rank], graph.vocabulary)
                if space.take(rule):
                    row["rules"].append(rule)
    for view, row in zip(standings.views, rows, strict=True):
        row["rules_omitted"] = len(view.rules) - len(row["rules"])
    return rows


def _row(standings: Standings, number: int, graph: StateGraph) -> dict[str, Any]:
    view = standings.views[number]
    success = success_at_once(graph, view.intent)
    lowest = min((rule.achieving for rule in view.rules if not rule.held), default=0.0)
    return {
        "intent": sanitize(str(view.intent)),
        "standing": standings.each[number],
        # Whether it would be lower without what the model infers about untried pairs.
        "standing_inferred": view.intent in standings.inferred,
        "executions": view.executions,
        "states_tried": view.states_tried,
        "states_untried": view.states_seen - view.states_tried,
        "success": None if success is None else brief(success),
        # The lowest of a rule in which the intent did not hold already.
        "success_low": brief(lowest),
        # The mean over the same states as `success`; None if executions do not end with changes.
        "gets_there": standings.gets_there[number] if standings.repeated else None,
        "after_reset": None,
        "side_effects": max((rule.most_side_effects for rule in view.rules), default=0),
        "inferred": 0,
        "harm": None,
        "rules": [],
        "rules_omitted": 0,
    }


def _rule(view: RuleView, vocabulary: Vocabulary) -> dict[str, Any]:
    outcomes = zip(view.rule.outcomes, view.side_effects, strict=True)
    conditions = [tuple(sanitize(str(literal)) for literal in term) for term in view.when]
    return {
        "when": tuple(conditions[:_MOST_CONDITIONS]),
        "conditions_omitted": max(len(conditions) - _MOST_CONDITIONS, 0),
        "states_count": len(view.rule.states),
        "draws_count": view.rule.executions,
        "held_already": view.held and not view.acts,
        "outcomes": [_outcome(*outcome, vocabulary) for outcome in outcomes],
        "draws": [],
    }


def _outcome(outcome: TriedOutcome, beyond: Effect, vocabulary: Vocabulary) -> dict[str, Any]:
    changed = outcome.effect.literals(vocabulary)
    side_effects = beyond.literals(vocabulary)
    return {
        "mark": ACHIEVED if outcome.achieved else OTHER if changed else NOTHING,
        "probability": brief(outcome.probability),
        "low": brief(outcome.interval[0]),
        "high": brief(outcome.interval[1]),
        "count": outcome.count,
        "changes": [
            {"literal": sanitize(str(x)), "side_effect": x in side_effects} for x in changed
        ],
    }


def add_run_facts(
    rows: Sequence[dict[str, Any]], run: Run, cards: Sequence[Mapping[str, Any]]
) -> None:
    """Add to each capability its success after a reset, inferred states, and first card of harm."""
    harmful = [(i, card) for i, card in enumerate(cards) if card["tone"] is Tone.HARM]
    harm = {intent: i for i, card in reversed(harmful) for intent in card["intents"]}
    each = run.model.coverage_by_capability() if run.infers else ()
    inferred = dict(zip(run.capabilities, (own.inferred for own in each), strict=False))
    named = {sanitize(str(intent)): intent for intent in run.capabilities}
    for row in rows:
        intent = named[row["intent"]]
        row["after_reset"] = run.success.get(intent)
        row["inferred"] = inferred.get(intent, 0)
        row["harm"] = harm.get(row["intent"])


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
