"""A learned model that is written down: what it infers of each pair."""

from capscope.logic import Effect
from capscope.model import LearnedPrediction, Provenance, Support


class WrittenModel:
    """Infers what is in a table of (state, intent) → (successors, doubt), and knows nothing else.

    The effects behind a prediction are its own changes, unless others are given.
    """

    def __init__(self, table, draws=50, effects=None):
        self.table = table
        self.draws = draws
        self.effects = effects

    def anticipate(self, states):
        """A table needs no preparation."""

    def predict(self, state, capability):
        ends, doubt = self.table.get((state, capability), ({}, 1.0))
        changes = {Effect.between(state, after) for after in ends if after != state}
        support = Support(tuple(sorted(self.effects or changes)), self.draws, 0)
        provenance = Provenance.INFERRED if ends else Provenance.UNKNOWN
        return LearnedPrediction(ends, provenance, lambda: doubt, support)
