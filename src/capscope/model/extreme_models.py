"""The paper's two extreme models that fit what was seen.

Each outcome group of the state graph is one rule. The pessimistic model says that a rule holds in
the states of its group and nowhere else; the optimistic model says that it holds wherever no other
rule was seen. So both agree on every pair that was tried. On an untried pair the pessimist says
nothing, and the optimist believes all rules of the capability at once, in equal shares.

Conditions are never built: whether a state is in a group is a lookup.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from capscope.logic import Effect, Intent, State
from capscope.model.state_graph import EffectDistribution, PairStats, StateGraph

Prediction = Mapping[State, float]
"""A distribution over successors; empty if the model says nothing."""


class CapabilityModel(Protocol):
    """Anything that predicts the outcome of asking for an intent in a state."""

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model covers."""

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Return the full distribution over the state after the execution."""


class ExtremeModels:
    """The pessimistic and the optimistic model over one state graph; they follow its updates."""

    def __init__(self, graph: StateGraph) -> None:
        self.graph = graph
        self.pessimistic = PessimisticModel(graph)
        """h∧: what was seen, and nothing else."""
        self.optimistic = OptimisticModel(self)
        """h∨: where nothing was tried, everything that was seen elsewhere."""
        self._cached: dict[int, tuple[int, EffectDistribution]] = {}

    def optimistic_distribution(self, capability: int) -> EffectDistribution:
        """Return what the optimist believes of every untried state: all rules in equal shares."""
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


def _seen(pair: PairStats) -> dict[State, float]:
    # Different effects lead from one state to different states, so nothing needs merging.
    return {
        node.state: probability
        for node, probability in zip(pair.successors, pair.group.probabilities(), strict=True)
    }


class PessimisticModel:
    """h∧: what was seen, and nothing else."""

    def __init__(self, graph: StateGraph) -> None:
        self.graph = graph

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model covers."""
        return self.graph.capabilities

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Return the distribution of the state's group; empty for an untried pair."""
        pair = self.graph.pair(state, self.graph.index[capability])
        return {} if pair is None else _seen(pair)


class OptimisticModel:
    """h∨: where nothing was tried, everything that was seen elsewhere."""

    def __init__(self, models: ExtremeModels) -> None:
        self._models = models

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model covers."""
        return self._models.graph.capabilities

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Return the distribution of the state's group, or of all rules for an untried pair."""
        graph = self._models.graph
        index = graph.index[capability]
        pair = graph.pair(state, index)
        if pair is not None:
            return _seen(pair)
        prediction: dict[State, float] = {}
        for effect, probability in self._models.optimistic_distribution(index):
            after = effect.apply(state)
            prediction[after] = prediction.get(after, 0.0) + probability
        return prediction
