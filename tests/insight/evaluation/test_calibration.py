import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.insight.evaluation.metrics import calibration, compare
from capscope.insight.evaluation.reference import Reference, TrueModel
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary

WORDS = Vocabulary.of_atoms("pqrs")
P, Q = INTENTS = [Intent.parse("p"), Intent.parse("q")]
STATES = range(2 ** len(WORDS.atoms))
WITHOUT_P = [state for state in STATES if not state & 1]


def coin(chances):
    """An agent that brings p about with a chance for each state."""
    table = {(s, P): {s | 1: chance, s: 1 - chance} for s, chance in chances.items()}
    return TrueModel(INTENTS, STATES, table)


def bin_of(predicted, observed, weight):
    return {"predicted": predicted, "observed": observed, "weight": weight}


def calibrated(model, truth):
    return calibration(compare(model, Reference.of_truth(truth, WORDS)))


def in_sample(model, sample):
    reference = Reference.of_counts(sample, INTENTS, WORDS)
    return calibration(compare(model, reference))


@pytest.mark.parametrize("bias", [0.05, 0.2, -0.15])
def test_a_model_that_promises_too_much_or_too_little_is_off_by_its_bias(bias):
    truth = coin({s: 0.2 + 0.07 * i for i, s in enumerate(WITHOUT_P)})
    biased = coin({s: 0.2 + 0.07 * i + bias for i, s in enumerate(WITHOUT_P)})
    assert calibrated(biased, truth)[0] == pytest.approx(abs(bias))
    assert calibrated(truth, truth)[0] == pytest.approx(0)


def test_errors_of_pairs_with_like_predictions_make_up_for_each_other():
    truth = coin({0: 0.4, 2: 0.8})
    assert calibrated(coin({0: 0.6, 2: 0.6}), truth)[0] == pytest.approx(0)
    assert calibrated(coin({0: 0.6, 2: 0.7}), truth)[0] == pytest.approx(0.15)


def test_the_bins_of_an_example_by_hand():
    model = coin({0: 0.62, 2: 0.68, 4: 0.1, 6: 1.0})
    sample = {
        Transition(0, 0, 1): 2,  # foretold 0.62; 2 of 4 succeed
        Transition(0, 0, 0): 2,
        Transition(2, 0, 3): 2,  # foretold 0.68; 2 of 2
        Transition(4, 0, 4): 3,  # foretold 0.1; 0 of 3
        Transition(6, 0, 7): 1,  # foretold 1; 1 of 1
    }
    found = in_sample(model, sample)
    assert found[1] == [
        bin_of(pytest.approx(0.1), pytest.approx(0.0), 3),
        bin_of(pytest.approx((4 * 0.62 + 2 * 0.68) / 6), pytest.approx(4 / 6), 6),
        bin_of(pytest.approx(1.0), pytest.approx(1.0), 1),
    ]
    gap = abs((4 * 0.62 + 2 * 0.68) / 6 - 4 / 6)
    assert found[0] == pytest.approx((3 * 0.1 + 6 * gap + 1 * 0.0) / 10)


def test_pairs_without_a_prediction_and_pairs_whose_intent_holds_already_are_left_out():
    truth = coin({0: 0.5, 2: 0.5, 1: 1.0, 3: 1.0})
    model = coin({0: 0.7, 1: 1.0})
    assert calibrated(model, truth)[1] == [bin_of(pytest.approx(0.7), pytest.approx(0.5), 1)]


def test_success_is_that_the_intent_holds_whatever_else_changes():
    truth = TrueModel(INTENTS, STATES, {(0, P): {1: 0.25, 3: 0.25, 2: 0.5}})
    model = TrueModel(INTENTS, STATES, {(0, P): {5: 0.5, 9: 0.25, 0: 0.25}})
    assert calibrated(model, truth)[1] == [bin_of(0.75, 0.5, 1)]


CHANCES = st.dictionaries(st.sampled_from(STATES), st.floats(0, 1), max_size=10)
SAMPLES = st.dictionaries(
    st.builds(Transition, st.sampled_from(STATES), st.integers(0, 1), st.sampled_from(STATES)),
    st.integers(1, 4),
    max_size=12,
)


@given(CHANCES, SAMPLES)
def test_the_error_is_that_of_single_executions_put_into_bins(chances, sample):
    """The twin: every execution of 𝒟′ on its own."""
    model = coin(chances)
    bins = {}
    for (s, c, after), count in sample.items():
        prediction = model.predict(s, INTENTS[c])
        if any(prediction.values()) and not INTENTS[c].holds(s, WORDS):
            chance = sum(p for end, p in prediction.items() if INTENTS[c].holds(end, WORDS))
            success = INTENTS[c].holds(after, WORDS)
            bins.setdefault(min(int(chance * 10), 9), []).extend([(chance, success)] * count)
    total = sum(map(len, bins.values()))
    gaps = [abs(sum(chance - success for chance, success in one)) for one in bins.values()]
    expected = sum(gaps) / total if total else None
    found = in_sample(model, sample)
    assert found[0] == (None if expected is None else pytest.approx(expected, abs=1e-12))
    assert [one["weight"] for one in found[1]] == [len(bins[i]) for i in sorted(bins)]
