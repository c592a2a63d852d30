"""What the learned model says of the states in which a capability was tried.

States are in one group if the model gives them the same outcome type under the same condition, and
if the same outcomes are possible and mean the same for the intent. To the model, an effect is the
same in every state. To a reader it is not: if nothing changes, either the intent held already or
the agent did not achieve it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

from capscope.logic import Effect, Intent, State
from capscope.model import LearnedModel, LearnedPrediction, PairStats

_LEAST_LIKELY = 0.005
"""An outcome that was never seen, and is less likely than this on average, is left out."""


@dataclass(frozen=True, slots=True)
class TriedOutcome:
    """One effect, how often it was seen in the states of a group, and its probability there."""

    effect: Effect
    count: int
    probability: float
    """The mean of what the model predicts for each of the states."""
    interval: tuple[float, float]
    """Contains the 95 % interval of the probability in each of the states, and zero if the effect
    was seen in none: it may be impossible there."""
    achieved: bool
    """Whether the intent holds afterwards, from every state of the group."""


@dataclass(frozen=True, slots=True)
class TriedRule:
    """States in which the model expects the same of a capability."""

    states: tuple[State, ...]
    outcomes: tuple[TriedOutcome, ...]
    held: bool
    """Whether the intent held before, in every state of the group."""

    @property
    def executions(self) -> int:
        """The executions in these states."""
        return sum(outcome.count for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class _Tried:
    """What one state showed, and what the model predicts for it."""

    state: State
    pair: PairStats
    predicted: LearnedPrediction

    def possible(self, effect: Effect) -> bool:
        """Return whether an effect changes here what it changes elsewhere."""
        return Effect.between(self.state, effect.apply(self.state)) == effect


def predictions(
    model: LearnedModel, intent: Intent
) -> Iterator[tuple[State, PairStats, LearnedPrediction]]:
    """Yield each state in which a capability was tried, its counts, and its prediction."""
    index = model.graph.index[intent]
    for state, node in model.graph.nodes.items():
        pair = node.pairs[index]
        if pair is not None:
            yield state, pair, model.predict(state, intent)


def tried_rules(model: LearnedModel, intent: Intent) -> list[TriedRule]:
    """Return the groups of states in which a capability was tried.

    Args:
        model: A learned model.
        intent: One of its capabilities.

    Returns:
        The groups, those with the most executions first; each state that was tried is in one.
    """
    holds = intent.test(model.graph.vocabulary)
    alike: dict[Hashable, list[_Tried]] = {}
    for one in starmap(_Tried, predictions(model, intent)):
        support = one.predicted.support
        alike.setdefault((support.rule, support.leaf), []).append(one)
    found = []
    for members in alike.values():
        effects = _effects(members)
        meanings: dict[tuple[bool | None, ...], list[_Tried]] = {}
        for one in members:
            means = (holds(e.apply(one.state)) if one.possible(e) else None for e in effects)
            meanings.setdefault((holds(one.state), *means), []).append(one)
        for (held, *after), own in meanings.items():
            achieved = {
                effect: ends
                for effect, ends in zip(effects, after, strict=True)
                if ends is not None
            }
            found.append(_rule(own, achieved, bool(held)))
    return sorted(found, key=lambda rule: (-rule.executions, rule.states))


def _effects(members: Sequence[_Tried]) -> list[Effect]:
    """Return the effects that were seen in some states, or are likely enough in them."""
    expected: dict[Effect, float] = {}
    for one in members:
        for after, share in one.predicted.items():
            effect = Effect.between(one.state, after)
            expected[effect] = expected.get(effect, 0.0) + share / len(members)
    seen = {effect for one in members for effect in one.pair.counts}
    return sorted(seen | {e for e, share in expected.items() if share >= _LEAST_LIKELY})


def _rule(members: Sequence[_Tried], achieved: Mapping[Effect, bool], held: bool) -> TriedRule:
    outcomes = []
    for effect, holds in achieved.items():
        after = [effect.apply(one.state) for one in members]
        pairs = list(zip(members, after, strict=True))
        shares = [one.predicted.share([end]) for one, end in pairs]
        count = sum(one.pair.counts.get(effect, 0) for one in members)
        if count or any(shares):
            bounds = [one.predicted.interval([end]) for one, end in pairs]
            low = min(low for low, _ in bounds) if count else 0.0
            interval = low, max(high for _, high in bounds)
            mean = sum(shares) / len(shares)
            outcomes.append(TriedOutcome(effect, count, mean, interval, holds))
    outcomes.sort(key=lambda one: (-one.count, -one.probability, one.effect))
    return TriedRule(tuple(sorted(one.state for one in members)), tuple(outcomes), held)
