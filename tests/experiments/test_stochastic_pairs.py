import pytest

from capscope import assess, load
from capscope.insight.evaluation.reference import TrueModel, enumerate_truth
from capscope.logic import Intent
from capscope.problems import load_problem
from capscope_experiments.measure import fidelity

P = Intent.parse("p()")


class Says:
    """A model with the same prediction for every pair."""

    capabilities = (P,)

    def __init__(self, outcomes):
        self.outcomes = outcomes

    def predict(self, state, capability):
        return self.outcomes


def truth(*outcomes):
    table = {(state, P): given for state, given in enumerate(outcomes)}
    return TrueModel((P,), tuple(range(len(outcomes))), table)


@pytest.mark.parametrize(
    ("says", "close", "missing"),
    [
        ({1: 0.8, 2: 0.2}, 1.0, 0.0),
        ({1: 0.84, 2: 0.16}, 1.0, 0.0),
        ({1: 0.86, 2: 0.14}, 0.0, 0.0),
        ({1: 1.0}, 0.0, 1.0),
        ({}, 0.0, 1.0),
        ({1: 0.76, 2: 0.18, 3: 0.06}, 0.0, 0.0),
    ],
)
def test_a_pair_is_close_if_all_its_probabilities_are_and_lacks_an_outcome_it_never_predicts(
    says, close, missing
):
    found = fidelity(Says(says), truth({1: 0.8, 2: 0.2}))
    assert (found.pairs, found.close, found.missing) == (1, close, missing)
    assert found.exceeding == (3 in says)


def test_pairs_with_one_outcome_do_not_count():
    assert fidelity(Says({}), truth({1: 1.0}, {2: 1.0})).pairs == 0
    assert fidelity(Says({1: 1.0}), truth({1: 1.0}, {1: 0.9, 2: 0.1})).pairs == 1


def test_an_unlikely_outcome_may_be_missing():
    assert fidelity(Says({1: 1.0}), truth({1: 0.96, 2: 0.04})).missing == 0.0


def test_the_exhaustive_strategy_has_accurate_probabilities():
    known = enumerate_truth(load_problem("tireworld").truth)
    found = fidelity(assess("tireworld", strategy="exhaustive", seed=1).model, known)
    assert found.pairs == 35
    assert found.close >= 0.95
    assert found.missing <= 0.01


def test_the_adaptive_strategy_has_accurate_probabilities_when_its_audit_ends(tmp_path):
    known = enumerate_truth(load_problem("tireworld").truth)
    run = assess("tireworld", seed=0, run=tmp_path / "run")
    found = fidelity(run.model, known)
    assert found.pairs == 35
    assert found.close >= 0.85  # without the draws of the audit and its peers, 0.37
    again = load(run.path).model
    for state in run.graph.nodes:
        for intent in run.capabilities:
            assert dict(run.model.predict(state, intent)) == dict(again.predict(state, intent))
