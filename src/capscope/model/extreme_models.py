"""The paper's two extreme models that fit what was seen.

Each outcome group of the state graph is one rule. The pessimistic model says that a rule holds in
the states of its group and nowhere else; the optimistic model says that it holds wherever no other
rule was seen. So both agree on every pair that was tried. On an untried pair the pessimist says
nothing, and the optimist believes all rules of the capability at once, in equal shares.

Conditions are never built: whether a state is in a group is a lookup.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from capscope.logic import Effect, Intent, State
from capscope.model.state_graph import EffectDistribution, StateGraph

Prediction = Mapping[State, float]
"""A distribution over successors; empty if the model says nothing."""


class CapabilityModel(Protocol):
    """Anything that predicts the outcome of asking for an intent in a state."""

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model covers."""

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Return the full distribution over the state after the execution."""


@dataclass(frozen=True)
class ExtremeModel:
    """One of the two models; it follows the updates of its graph."""

    graph: StateGraph
    untried: Callable[[int], EffectDistribution]
    """The prediction of a capability for every state in which it was not tried."""

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model covers."""
        return self.graph.capabilities

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Return the distribution of the state's group, or what is believed of an untried pair."""
        index = self.graph.index[capability]
        pair = self.graph.pair(state, index)
        if pair is not None:
            # Different effects lead from one state to different states: nothing needs merging.
            shares = zip(pair.successors, pair.group.probabilities(), strict=True)
            return {node.state: probability for node, probability in shares}
        prediction: dict[State, float] = {}
        for effect, probability in self.untried(index):
            after = effect.apply(state)
            prediction[after] = prediction.get(after, 0.0) + probability
        return prediction


class ExtremeModels:
    """The pessimistic and the optimistic model over one state graph."""

    def __init__(self, graph: StateGraph) -> None:
        self.graph = graph
        self.pessimistic = ExtremeModel(graph, lambda capability: ())
        """h∧: what was seen, and nothing else."""
        self.optimistic = ExtremeModel(graph, self._all_rules)
        """h∨: where nothing was tried, everything that was seen elsewhere."""
        self._cached: dict[int, tuple[int, EffectDistribution]] = {}

    def _all_rules(self, capability: int) -> EffectDistribution:
        """Return all rules of a capability with equal probabilities."""
        revision = self.graph.revisions[capability]
        cached = self._cached.get(capability)
        if cached is None or cached[0] != revision:
            cached = self._cached[capability] = revision, self._average(capability)
        return cached[1]

    def _average(self, capability: int) -> EffectDistribution:
        groups = self.graph.groups(capability)
        if not groups:
            # Nothing was seen yet: believe that the intent, and nothing else, comes true.
            tests = self.graph.capabilities[capability].tests(self.graph.vocabulary)
            return tuple((Effect(*test), 1.0 / len(tests)) for test in tests)
        shares: dict[Effect, float] = {}
        for group in groups:
            for effect, probability in group.distribution():
                shares[effect] = shares.get(effect, 0.0) + probability / len(groups)
        return tuple(shares.items())
