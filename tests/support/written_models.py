"""A learned model that is written down: what it infers of each pair."""

from capscope.logic import Effect
from capscope.model import LearnedModel, LearnedPrediction, Provenance, Support


class WrittenModel:
    """Infers what is in a table of (state, intent) → (successors, doubt), and knows nothing else.

    The effects behind a prediction are its own changes, unless others are given. On a graph, tried
    pairs are as a model fitted to it predicts them.
    """

    def __init__(self, table, draws=50, effects=None, graph=None):
        self.table = table
        self.draws = draws
        self.effects = effects
        self.graph = graph
        self.fitted = None if graph is None else LearnedModel.fitted(graph)

    def on(self, graph):
        """Return the same model with a graph of tried pairs."""
        return WrittenModel(self.table, self.draws, self.effects, graph)

    def anticipate(self, states):
        """A table needs no preparation."""

    def predict(self, state, capability):
        graph = self.graph
        if graph is not None and graph.pair(state, graph.index[capability]) is not None:
            return self.fitted.predict(state, capability)
        ends, doubt = self.table.get((state, capability), ({}, 1.0))
        changes = {Effect.between(state, after) for after in ends if after != state}
        support = Support(tuple(sorted(self.effects or changes)), self.draws, 0, self.draws)
        provenance = Provenance.INFERRED if ends else Provenance.UNKNOWN
        return LearnedPrediction(ends, provenance, lambda: doubt, support)
