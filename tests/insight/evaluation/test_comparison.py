from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.insight.evaluation.metrics import calibration, compare, distance
from capscope.insight.evaluation.reference import Reference, TrueModel
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import StateGraph
from capscope.model.extreme_models import ExtremeModels

WORDS = Vocabulary.of_atoms(["p", "q"])
P, Q, NOT_P = INTENTS = list(map(Intent.parse, ("p", "q", "not p")))
SPREADS = st.dictionaries(st.integers(0, 3), st.integers(1, 4), min_size=1).map(
    lambda counts: {after: n / sum(counts.values()) for after, n in counts.items()}
)
TRUTHS = st.dictionaries(
    st.tuples(st.integers(0, 3), st.sampled_from(INTENTS)), SPREADS, min_size=1, max_size=8
).map(lambda table: TrueModel(INTENTS, range(4), table))
TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 3), st.integers(0, 2), st.integers(0, 3)),
    st.integers(1, 5),
    min_size=1,
    max_size=12,
)


def learned(transitions, intents=INTENTS):
    graph = StateGraph(WORDS, intents)
    graph.update(Counter(transitions))
    return ExtremeModels(graph).pessimistic


def in_truth(model, truth):
    return compare(model, Reference.of_truth(truth, WORDS))


def in_sample(model, transitions):
    return compare(model, Reference.of_counts(transitions, INTENTS, WORDS))


TRUTH = TrueModel(
    INTENTS,
    [0, 1],
    {
        (0, P): {1: 0.5, 0: 0.5},
        (0, Q): {2: 1.0},
        (1, P): {1: 1.0},
        (1, NOT_P): {0: 0.9, 1: 0.1},
    },
)
SEEN = {
    Transition(0, 0, 1): 9,  # both outcomes, odds of their own
    Transition(0, 0, 0): 1,
    Transition(0, 1, 2): 1,  # one outcome too many
    Transition(0, 1, 3): 1,
    Transition(1, 2, 0): 3,  # one too few
}


def test_the_shares_of_a_model_made_by_hand():
    found = in_truth(learned(SEEN), TRUTH)
    assert found.unknown_share == pytest.approx(1 / 4)  # of four pairs: p in state 1
    assert found.support_right == pytest.approx(2 / 6)  # of six transitions: those of (0, p)
    assert found.outcomes_foreseen == pytest.approx(4 / 6)


def test_in_a_sample_the_shares_are_of_executions():
    sample = {
        Transition(0, 0, 1): 6,
        Transition(0, 1, 2): 1,
        Transition(1, 0, 1): 2,  # never tried
        Transition(1, 2, 1): 1,  # held impossible
    }
    found = in_sample(learned(SEEN), sample)
    assert found.unknown_share == pytest.approx(2 / 10)
    assert found.outcomes_foreseen == pytest.approx(7 / 10)


@given(TRUTHS)
def test_the_truth_as_a_model_is_right_in_every_way(truth):
    found = in_truth(truth, truth)
    assert distance(found) == 0
    assert found.support_right == found.outcomes_foreseen == 1
    assert found.unknown_share == 0
    assert calibration(found)[0] in (None, pytest.approx(0))


@given(TRUTHS)
def test_a_model_that_saw_nothing_knows_nothing(truth):
    found = in_truth(learned({}), truth)
    assert found.support_right == found.outcomes_foreseen == 0
    assert found.unknown_share == 1
    assert calibration(found)[0] is None


@given(TRANSITIONS, TRANSITIONS)
def test_the_shares_are_those_of_single_executions(seen, sample):
    """The twin: every execution of 𝒟′ on its own."""
    model = learned(seen)
    found = in_sample(model, sample)
    executions = [t for t, count in sample.items() for _ in range(count)]
    predictions = [model.predict(s, INTENTS[c]) for s, c, _ in executions]
    ends = [t.after for t in executions]
    asked = [{t.after for t in sample if t[:2] == one[:2]} for one in executions]
    unknown = [not prediction for prediction in predictions]
    foreseen = [end in p for end, p in zip(ends, predictions, strict=True)]
    right = [set(p) == outcomes for p, outcomes in zip(predictions, asked, strict=True)]
    for share, flags in (
        (found.unknown_share, unknown),
        (found.outcomes_foreseen, foreseen),
        (found.support_right, right),
    ):
        assert share == pytest.approx(sum(flags) / len(flags))


def test_an_intent_that_the_model_does_not_know_is_one_never_tried():
    found = in_truth(learned({Transition(0, 0, 1): 1, Transition(0, 0, 0): 1}, [P]), TRUTH)
    assert found.unknown_share == pytest.approx(3 / 4)
    assert found.support_right == pytest.approx(2 / 6)


def test_where_there_is_nothing_to_compare_there_is_no_share():
    found = in_sample(learned(SEEN), {})
    assert found.unknown_share is found.outcomes_foreseen is found.support_right is None
    assert distance(found) is None
    assert calibration(found)[0] is None


def test_an_outcome_predicted_with_probability_zero_is_not_foreseen():
    class Sure(TrueModel):
        def predict(self, state, capability):
            return {0: 1.0, 1: 0.0}

    model = Sure(INTENTS, [], {})
    found = in_truth(model, TrueModel(INTENTS, [0], {(0, P): {0: 0.5, 1: 0.5}}))
    assert found.outcomes_foreseen == 0.5
    assert found.support_right == 0
    assert in_truth(model, TrueModel(INTENTS, [0], {(0, P): {0: 1.0}})).support_right == 1
