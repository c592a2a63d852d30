"""The extreme models written out as rules with symbolic conditions, to check the theorems on."""

from capscope.logic import Effect
from capscope_experiments.baselines.qace.compilation import Outcome, extreme_rules


class RuleModel:
    """Predicts by averaging the rules that hold in a state: lists of (condition, outcomes)."""

    def __init__(self, rules):
        self.rules = rules

    @property
    def capabilities(self):
        return tuple(self.rules)

    def predict(self, state, capability):
        holding = [outcomes for when, outcomes in self.rules[capability] if when.holds(state)]
        prediction = {}
        for outcomes in holding:
            for outcome in outcomes:
                after = outcome.effect.apply(state)
                share = outcome.probability / len(holding)
                prediction[after] = prediction.get(after, 0.0) + share
        return prediction


def written_out(graph, space, *, optimistic):
    """Write one of the two extreme models out with conditions."""
    written = {}
    for intent in graph.capabilities:
        rules = extreme_rules(graph, intent)
        if not rules and optimistic:
            effect = Effect(*graph.vocabulary.literal_masks(intent.literals))
            written[intent] = [(space.anything, (Outcome(effect, 0, 1.0),))]
            continue
        tried = space.of_states(s for rule in rules for s in rule.states)
        written[intent] = [
            (own | ~tried if optimistic else own, rule.outcomes)
            for rule in rules
            for own in [space.of_states(rule.states)]
        ]
    return RuleModel(written)


def predicted_if_tried(model, state, intent):
    """Return what a model predicts of a tried pair; empty if it was never tried."""
    if model.graph.pair(state, model.graph.index[intent]) is None:
        return {}
    return {after: p for after, p in model.predict(state, intent).items() if p > 1e-12}
