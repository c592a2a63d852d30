"""The two extreme models that fit what was seen, kept up to date together.

For each capability the states tried so far fall into blocks: two states share a block when they
showed the same set of effects. Each block is one rule. The pessimistic model says that a rule holds
in the states of its block and nowhere else; the optimistic model says that it holds wherever no
other rule was seen. So both agree on every pair that was tried, and on an untried pair the
pessimist says nothing while the optimist believes all rules of the capability at once.

Building both from 𝒟 after each query costs more with each query. Here an observation touches one
pair: it raises a count in the pair's block or, when the effect is new for the pair, moves the pair
from one block to another. Conditions are not built at all: whether a state lies in a block is a
lookup, and a symbolic form is made on demand (`symbolic`).

The result is also the graph on which queries are searched for: a `Place` for each state seen, with
a `Pair` for each capability tried there and the places it led to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import ClassVar

from capscope.errors import CapscopeError
from capscope.model.capability_model import ConditionalRule, Prediction, RuleModel
from capscope.model.html import escaped, rules_html
from capscope.model.rules import Outcome, Rule
from capscope.record.transitions import Transition
from capscope.symbolic import Effect, ExactlyOne, Intent, State, Vocabulary
from capscope.symbolic.condition import ConditionSpace
from capscope.symbolic.spelling import nearest

Spread = tuple[tuple[Effect, float], ...]
"""A distribution over effects."""


class OutcomeGroup:
    """The states of one capability that showed the same effects, their counts pooled."""

    __slots__ = ("counts", "effects", "states", "total")

    def __init__(self, effects: tuple[Effect, ...]) -> None:
        self.effects = effects
        self.counts = [0] * len(effects)
        self.total = 0
        self.states: dict[State, None] = {}

    def probabilities(self) -> list[float]:
        """Return the relative frequency of each effect."""
        return [count / self.total for count in self.counts]

    def spread(self) -> Spread:
        """Return the distribution over effects."""
        return tuple(zip(self.effects, self.probabilities(), strict=True))


Probabilities = dict[OutcomeGroup, tuple[int, list[float] | None]]
"""Of each block that an update touches: its capability and what it said before; None if new."""


class PairStats:
    """A capability tried in a state: what was seen, its block, and where it led."""

    __slots__ = ("counts", "group", "only", "successors", "total")

    def __init__(self) -> None:
        self.counts: dict[Effect, int] = {}
        self.total = 0
        self.group: OutcomeGroup
        self.successors: tuple[StateNode, ...] = ()
        """Parallel to the effects of the block."""
        self.only: StateNode | None = None
        """The successor, where there is just one."""


class StateNode:
    """A state that was seen, with what is known of each capability in it."""

    __slots__ = ("leaves", "open", "pairs", "state", "tried")

    def __init__(self, state: State, capabilities: int) -> None:
        self.state = state
        self.pairs: list[PairStats | None] = [None] * capabilities
        self.open = list(range(capabilities))
        """The capabilities not known to be idle here: untried ones and those that do something."""
        self.tried = 0
        self.leaves = False
        """Whether some execution from here ended elsewhere."""

    @property
    def sink(self) -> bool:
        """Every capability was tried here and none led away."""
        return not self.leaves and self.tried == len(self.pairs)


@dataclass(frozen=True, slots=True)
class Learned:
    """What a query taught the models."""

    new_pairs: int = 0
    new_transitions: int = 0
    largest_shift: float = 0.0
    """The largest change of an effect's probability in a rule that kept its effects."""


class StateGraph:
    """The pessimistic and the optimistic model of every capability."""

    def __init__(self, vocabulary: Vocabulary, capabilities: Sequence[Intent] = ()) -> None:
        self.vocabulary = vocabulary
        self.capabilities: list[Intent] = []
        self.index: dict[Intent, int] = {}
        self.nodes: dict[State, StateNode] = {}
        self.pairs_tried = 0
        self._groups: list[dict[tuple[Effect, ...], OutcomeGroup]] = []
        self._wishes: list[Spread] = []
        self._spreads: list[Spread | None] = []
        self.pessimistic = Pessimistic(self)
        self.optimistic = Optimistic(self)
        self.extend(capabilities)

    def extend(self, capabilities: Sequence[Intent]) -> None:
        """Take up further capabilities; those known already are passed over."""
        for intent in capabilities:
            if intent in self.index:
                continue
            self.index[intent] = len(self.capabilities)
            self.capabilities.append(intent)
            self._groups.append({})
            # Nothing was seen yet: believe that the intent, and nothing else, comes true.
            self._wishes.append(((Effect(*self.vocabulary.literal_masks(intent.literals)), 1.0),))
            self._spreads.append(None)
        for node in self.nodes.values():
            node.open += range(len(node.pairs), len(self.capabilities))
            node.pairs += [None] * (len(self.capabilities) - len(node.pairs))

    def resolve_capability(self, name: str | Intent) -> Intent:
        """Read the name of a capability, or say that there is none of that name."""
        intent = Intent.parse(name) if isinstance(name, str) else name
        if intent not in self.index:
            number = len(self.capabilities)
            raise CapscopeError(
                f"no capability {intent} among the {number} that were assessed; "
                f"{nearest(intent, self.capabilities)}"
            )
        return intent

    def node(self, state: State) -> StateNode:
        """Return the place of a state, made on first sight."""
        node = self.nodes.get(state)
        if node is None:
            node = self.nodes[state] = StateNode(state, len(self.capabilities))
        return node

    @property
    def first_state(self) -> State | None:
        """The state that was seen first, where the run began; None before anything was seen."""
        return next(iter(self.nodes), None)

    def update(self, transitions: Mapping[Transition, int]) -> Learned:
        """Take in transitions with their counts; say what was new."""
        new_pairs = new_transitions = 0
        before: Probabilities = {}
        for (state, capability, after), count in transitions.items():
            node = self.node(state)
            pair = node.pairs[capability]
            if pair is None:
                pair = node.pairs[capability] = PairStats()
                node.tried += 1
                self.pairs_tried += 1
                new_pairs += 1
            elif pair.group not in before:
                before[pair.group] = capability, pair.group.probabilities()
            effect = Effect.between(state, after)
            known = effect in pair.counts
            if known:
                group = pair.group
                group.counts[group.effects.index(effect)] += count
                group.total += count
            pair.counts[effect] = pair.counts.get(effect, 0) + count
            pair.total += count
            if not known:
                new_transitions += 1
                self._assign(node, capability, pair, before)
            self._spreads[capability] = None
        return Learned(new_pairs, new_transitions, self._largest_shift(before))

    def _largest_shift(self, before: Probabilities) -> float:
        largest = 0.0
        for group, (capability, olds) in before.items():
            now = self._groups[capability].get(group.effects)
            if now is not None and olds is not None:
                news = now.probabilities()
                shifts = (abs(new - old) for old, new in zip(olds, news, strict=True))
                largest = max(largest, *shifts)
        return largest

    def _assign(
        self, node: StateNode, capability: int, pair: PairStats, before: Probabilities
    ) -> None:
        """Put a pair into the block of its present effects; note what a block was like before."""
        groups = self._groups[capability]
        if pair.successors:
            old = pair.group
            del old.states[node.state]
            # The newest effect is not in the old block; the others leave with their counts.
            for i, effect in enumerate(old.effects):
                old.counts[i] -= pair.counts[effect]
                old.total -= pair.counts[effect]
            if not old.states:
                del groups[old.effects]
        effects = tuple(sorted(pair.counts))
        group = groups.get(effects)
        if group is None:
            group = groups[effects] = OutcomeGroup(effects)
            before[group] = capability, None
        elif group not in before:
            before[group] = capability, group.probabilities()
        for i, effect in enumerate(effects):
            group.counts[i] += pair.counts[effect]
            group.total += pair.counts[effect]
        group.states[node.state] = None
        pair.group = group
        pair.successors = tuple(self.node(effect.apply(node.state)) for effect in effects)
        pair.only = pair.successors[0] if len(effects) == 1 else None
        node.leaves = node.leaves or any(s is not node for s in pair.successors)
        if pair.only is node:
            node.open.remove(capability)
        elif node in pair.successors and capability not in node.open:
            node.open.append(capability)

    def pair(self, state: State, capability: int) -> PairStats | None:
        """Return what is known of a capability in a state; None where it was never tried."""
        node = self.nodes.get(state)
        return None if node is None else node.pairs[capability]

    def group(self, capability: int, effects: tuple[Effect, ...]) -> OutcomeGroup:
        """Return the block of the pairs that showed exactly these effects."""
        return self._groups[capability][effects]

    def optimistic_spread(self, capability: int) -> Spread:
        """Return what the optimist believes of every untried state: all rules, in equal shares."""
        spread = self._spreads[capability]
        if spread is None:
            spread = self._spreads[capability] = self._average(capability)
        return spread

    def _average(self, capability: int) -> Spread:
        groups = self._groups[capability]
        if not groups:
            return self._wishes[capability]
        shares: dict[Effect, float] = {}
        for group in groups.values():
            for effect, probability in group.spread():
                shares[effect] = shares.get(effect, 0.0) + probability / len(groups)
        return tuple(shares.items())

    def rules(self, capability: Intent) -> tuple[Rule, ...]:
        """Return the rules of a capability, best supported first."""
        groups = self._groups[self.index[capability]].values()
        rules = [
            Rule(
                tuple(sorted(group.states)),
                tuple(
                    Outcome(effect, count, count / group.total)
                    for count, effect in sorted(
                        zip(group.counts, group.effects, strict=True),
                        key=lambda pair: (-pair[0], pair[1]),
                    )
                ),
            )
            for group in groups
        ]
        return tuple(sorted(rules, key=lambda rule: (-rule.executions, rule.states)))

    @property
    def always(self) -> State:
        """The atoms that held in every state seen: they tell states apart for nobody."""
        return reduce(and_, self.nodes) if self.nodes else 0

    @property
    def exactly_one(self) -> ExactlyOne:
        """The groups of atoms of which exactly one held in every state seen."""
        return ExactlyOne.seen_in(self.nodes.keys(), self.vocabulary)

    @property
    def sinks(self) -> frozenset[State]:
        """The states in which every capability was tried and none led away."""
        return frozenset(state for state, node in self.nodes.items() if node.sink)

    def _repr_html_(self) -> str:
        rules = {intent: self.rules(intent) for intent in self.capabilities}
        return rules_html(rules, len(self.nodes), self.sinks, self.vocabulary)

    def symbolic(self, space: ConditionSpace, *, optimistic: bool) -> RuleModel:
        """Write one of the two models out with symbolic conditions."""
        written: dict[Intent, tuple[ConditionalRule, ...]] = {}
        for intent in self.capabilities:
            rules = self.rules(intent)
            if not rules and optimistic:
                effect = self._wishes[self.index[intent]][0][0]
                written[intent] = (ConditionalRule(space.anything, (Outcome(effect, 0, 1.0),)),)
                continue
            within = [space.of_states(rule.states) for rule in rules]
            tried = space.of_states(s for rule in rules for s in rule.states)
            written[intent] = tuple(
                ConditionalRule(own | ~tried if optimistic else own, rule.outcomes)
                for own, rule in zip(within, rules, strict=True)
            )
        return RuleModel(written)


class _Extreme:
    SAYS: ClassVar[str]
    """What the model is, for a heading."""

    def __init__(self, graph: StateGraph) -> None:
        self._models = graph

    def _repr_html_(self) -> str:
        return f"<p>{escaped(self.SAYS)}</p>{self._models._repr_html_()}"

    @property
    def graph(self) -> StateGraph:
        """Both models, with the counts behind them."""
        return self._models

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model speaks of."""
        return self._models.capabilities


def _seen(pair: PairStats) -> dict[State, float]:
    # Different effects lead from one state to different states, so nothing needs merging.
    return {
        node.state: probability
        for node, probability in zip(pair.successors, pair.group.probabilities(), strict=True)
    }


class Pessimistic(_Extreme):
    """h∧: what was seen, and nothing else."""

    SAYS = "The pessimistic model: what was seen, and nothing else."

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Return the distribution of the state's block; empty for an untried pair."""
        pair = self._models.pair(state, self._models.index[capability])
        return {} if pair is None else _seen(pair)


class Optimistic(_Extreme):
    """h∨: where nothing was tried, everything that was seen elsewhere."""

    SAYS = (
        "The optimistic model: where a capability was tried, what was seen; "
        "elsewhere, everything that it was seen to do."
    )

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Return the distribution of the state's block, or of all rules for an untried pair."""
        index = self._models.index[capability]
        pair = self._models.pair(state, index)
        if pair is not None:
            return _seen(pair)
        prediction: dict[State, float] = {}
        for effect, probability in self._models.optimistic_spread(index):
            after = effect.apply(state)
            prediction[after] = prediction.get(after, 0.0) + probability
        return prediction
