from collections import Counter
from fractions import Fraction
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.insight.evaluation.metrics import (
    compare,
    distance,
    learned_weights,
)
from capscope.insight.evaluation.reference import Reference, TrueModel
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import StateGraph
from capscope.model.extreme_models import ExtremeModels
from capscope_experiments.measure import exact_distance, mean_total_variation

WORDS = Vocabulary.of_atoms(["p", "q"])
P, Q, NOT_P = map(Intent.parse, ("p", "q", "not p"))
INTENTS = [P, Q]

TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)),
    st.integers(1, 5),
    max_size=12,
)
SPREADS = st.dictionaries(st.integers(0, 3), st.integers(1, 4), min_size=1).map(
    lambda counts: {after: n / sum(counts.values()) for after, n in counts.items()}
)
TRUTHS = st.dictionaries(
    st.tuples(st.integers(0, 3), st.sampled_from([P, Q, NOT_P])), SPREADS, max_size=8
).map(lambda table: TrueModel([P, Q, NOT_P], range(4), table))


def learned(transitions, intents=INTENTS):
    graph = StateGraph(WORDS, intents)
    graph.update(Counter(transitions))
    return graph


# Exactly.


def test_the_exact_distance_of_a_model_made_by_hand():
    truth = TrueModel(
        INTENTS,
        [0b00, 0b01],
        {
            (0b00, P): {0b01: 0.75, 0b00: 0.25},
            (0b01, P): {0b01: 1.0},
            (0b00, Q): {0b10: 0.5, 0b11: 0.5},
            (0b01, Q): {0b11: 1.0},
        },
    )
    graph = learned(
        {
            Transition(0b00, 0, 0b01): 1,  # both outcomes seen, but 1 : 1
            Transition(0b00, 0, 0b00): 1,
            Transition(0b01, 0, 0b01): 9,  # right
            Transition(0b00, 1, 0b10): 4,  # one outcome was never seen
        }
    )
    # |.5 - .75| + |.5 - .25|, 0, |1 - .5| + |0 - .5|, and the pair never tried counts in full.
    assert exact_distance(ExtremeModels(graph).pessimistic, truth) == pytest.approx(
        (0.5 + 0 + 1.0 + 1.0) / 6
    )


@given(TRANSITIONS, TRUTHS)
def test_the_exact_distance_is_the_mean_over_all_true_transitions(transitions, truth):
    graph = learned(transitions)
    distances = [
        abs(
            probability
            - (ExtremeModels(graph).pessimistic.predict(s, c).get(after, 0) if c in INTENTS else 0)
        )
        for (s, c), spread in truth.table.items()
        for after, probability in spread.items()
    ]
    mean = sum(distances) / len(distances) if distances else 0.0
    assert exact_distance(ExtremeModels(graph).pessimistic, truth) == pytest.approx(mean)
    assert sum(map(len, truth.table.values())) == len(distances)


@given(TRUTHS)
def test_a_model_that_saw_nothing_is_off_by_all_there_is(truth):
    everything = sum(p for spread in truth.table.values() for p in spread.values())
    transitions = sum(map(len, truth.table.values()))
    expected = everything / transitions if truth.table else 0.0
    assert exact_distance(ExtremeModels(learned({})).pessimistic, truth) == pytest.approx(expected)


@given(st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 1)), st.integers(0, 3)))
def test_a_model_that_saw_every_pair_of_a_deterministic_agent_is_not_off_at_all(outcomes):
    graph = learned({Transition(s, c, after): 1 for (s, c), after in outcomes.items()})
    table = {(s, INTENTS[c]): {after: 1.0} for (s, c), after in outcomes.items()}
    assert (
        exact_distance(ExtremeModels(graph).pessimistic, TrueModel(INTENTS, range(4), table)) == 0
    )


def test_an_intent_that_the_learner_never_met_counts_as_disagreement():
    known = {(0, P): {1: 1.0}}
    graph = learned({Transition(0, 0, 1): 5}, [P])
    assert exact_distance(ExtremeModels(graph).pessimistic, TrueModel([P], [0], known)) == 0
    more = known | {(0, Q): {2: 1.0}, (0, NOT_P): {0: 1.0}}
    truth = TrueModel([P, Q, NOT_P], [0], more)
    assert exact_distance(ExtremeModels(graph).pessimistic, truth) == pytest.approx(2 / 3)


@given(TRANSITIONS, TRUTHS)
def test_the_exact_distance_is_the_weighted_mean_with_equal_weights(transitions, truth):
    model = ExtremeModels(learned(transitions)).pessimistic
    mean = distance(compare(model, Reference.of_truth(truth, WORDS)))
    assert (mean or 0.0) == pytest.approx(exact_distance(model, truth))
    assert (mean is None) == (not any(truth.table.values()))


# Total variation.


def largest_difference(prediction, outcomes):
    """The total variation distance by its definition: over all events, the largest difference."""
    nothing = {"nothing": 1 - sum(prediction.values())}
    outcomes, prediction = dict(outcomes), prediction | nothing
    ends = list(prediction | outcomes)
    events = chain.from_iterable(combinations(ends, n) for n in range(len(ends) + 1))
    return max(
        abs(sum(prediction.get(e, 0) - outcomes.get(e, 0) for e in event)) for event in events
    )


@given(TRANSITIONS, TRUTHS)
def test_the_mean_total_variation_is_that_of_the_definition(transitions, truth):
    graph = learned(transitions)
    distances = [
        largest_difference(
            dict(ExtremeModels(graph).pessimistic.predict(s, c)) if c in INTENTS else {}, spread
        )
        for (s, c), spread in truth.table.items()
    ]
    mean = sum(distances) / len(distances) if distances else 0.0
    assert mean_total_variation(ExtremeModels(graph).pessimistic, truth) == pytest.approx(mean)


def test_a_pair_never_tried_is_off_by_one_and_every_pair_weighs_alike():
    truth = TrueModel(
        [P, Q, NOT_P],
        [0, 1],
        {
            (0, P): {1: 0.75, 0: 0.25},
            (1, P): {1: 1.0},
            (0, Q): {2: 0.25, 3: 0.25, 0: 0.25, 1: 0.25},
            (0, NOT_P): {0: 1.0},
        },
    )
    seen = {Transition(0, 0, 1): 1, Transition(0, 0, 0): 1, Transition(1, 0, 1): 1}
    # Off by a quarter, right, never tried, and an intent never met.
    found = mean_total_variation(ExtremeModels(learned(seen)).pessimistic, truth)
    assert found == pytest.approx((0.25 + 0 + 1 + 1) / 4)


class HalfSure:
    """A model that knows one outcome and leaves the rest open."""

    capabilities = (P,)

    def predict(self, state, capability):
        return {0: 0.5}


def test_probability_that_a_model_leaves_open_is_an_outcome_that_never_happens():
    def off_by(outcomes):
        return mean_total_variation(HalfSure(), TrueModel([P], [0], {(0, P): outcomes}))

    assert off_by({0: 1.0}) == 0.5
    assert off_by({0: 0.5, 1: 0.5}) == 0.5
    assert off_by({1: 1.0}) == 1.0


# From samples.


def sampled_distance(model, sample, learned_from=None):
    reference = Reference.of_counts(sample, INTENTS, WORDS)
    if learned_from is None:
        return distance(compare(model, reference))
    weights = learned_weights(reference, learned(learned_from))
    return distance(compare(model, reference), weights)


def formula(graph, sample, weight):
    """VD_s as it is printed, in fractions: weights are counts of `weight`."""
    total = weights = Fraction(0)
    for (s, c, after), count in sample.items():
        tried = sum(n for t, n in sample.items() if (t.before, t.capability) == (s, c))
        predicted = Fraction(
            ExtremeModels(graph).pessimistic.predict(s, INTENTS[c]).get(after, 0.0)
        )
        share = weight.get((s, c, after), 0)
        total += share * abs(Fraction(count, tried) - predicted)
        weights += share
    return float(total / weights) if weights else None


@given(TRANSITIONS, TRANSITIONS)
def test_the_sampled_distance_follows_the_printed_formula_in_both_weightings(seen, sample):
    graph = learned(seen)
    by_sample = sampled_distance(ExtremeModels(graph).pessimistic, sample)
    by_learner = sampled_distance(ExtremeModels(graph).pessimistic, sample, seen)
    for found, weight in ((by_sample, sample), (by_learner, seen)):
        expected = formula(graph, sample, weight)
        assert found == (None if expected is None else pytest.approx(expected))


@given(TRANSITIONS, TRANSITIONS)
def test_the_sampled_distance_is_the_mean_over_single_executions(seen, sample):
    """The twin: every execution of 𝒟′ on its own, uncounted."""
    model = ExtremeModels(learned(seen)).pessimistic
    executions = [t for t, count in sample.items() for _ in range(count)]
    gaps = []
    for s, c, after in executions:
        alike = [t.after for t in executions if (t.before, t.capability) == (s, c)]
        predicted = model.predict(s, INTENTS[c]).get(after, 0.0)
        gaps.append(abs(predicted - alike.count(after) / len(alike)))
    found = sampled_distance(model, sample)
    assert found == (pytest.approx(sum(gaps) / len(gaps)) if gaps else None)


def test_what_was_never_explored_weighs_by_the_sample_and_not_by_the_learner():
    seen = {Transition(0, 0, 1): 10}
    sample = {Transition(0, 0, 1): 3, Transition(2, 1, 3): 1}
    graph = learned(seen)
    assert sampled_distance(ExtremeModels(graph).pessimistic, sample) == pytest.approx(1 / 4)
    assert sampled_distance(ExtremeModels(graph).pessimistic, sample, seen) == 0


def test_what_the_learner_saw_often_weighs_by_the_learner_and_not_by_the_sample():
    seen = {Transition(0, 0, 1): 90, Transition(0, 0, 0): 10, Transition(2, 1, 3): 1}
    sample = {Transition(0, 0, 1): 1, Transition(0, 0, 0): 1, Transition(2, 1, 3): 98}
    model = ExtremeModels(learned(seen)).pessimistic
    # Both outcomes of the first pair are off by 0.4; the second pair is right.
    assert sampled_distance(model, sample) == pytest.approx(2 * 0.4 / 100)
    assert sampled_distance(model, sample, seen) == pytest.approx(100 * 0.4 / 101)


@given(TRANSITIONS, TRANSITIONS, st.integers(1, 5))
def test_the_weightings_agree_where_the_learner_saw_what_is_in_the_sample(seen, sample, times):
    model = ExtremeModels(learned(seen)).pessimistic
    same = {transition: times * count for transition, count in sample.items()}
    by_learner = sampled_distance(model, sample, same)
    by_sample = sampled_distance(model, sample)
    assert by_learner == (None if by_sample is None else pytest.approx(by_sample))


def test_there_is_no_distance_where_the_weights_leave_nothing_to_compare():
    graph = learned({Transition(0, 0, 1): 10})
    sample = {Transition(2, 1, 3): 4}
    assert sampled_distance(ExtremeModels(graph).pessimistic, sample, {}) is None
    assert sampled_distance(ExtremeModels(graph).pessimistic, {}) is None
    assert sampled_distance(ExtremeModels(graph).pessimistic, sample) == 1.0


# The paper's filter.


def test_the_filter_drops_the_rules_that_never_achieve_their_intent():
    graph = learned(
        {
            Transition(0b00, 0, 0b01): 1,  # p is achieved in one case
            Transition(0b00, 0, 0b10): 1,
            Transition(0b10, 0, 0b00): 1,  # acts in vain
            Transition(0b00, 1, 0b00): 1,  # q is never achieved
        }
    )
    # In each of these pairs the intent is sometimes achieved, so the filter keeps it.
    asked = [(0b00, P), (0b00, Q), (0b10, P), (0b11, P)]
    both = {0b00: 0.25, 0b01: 0.25, 0b10: 0.25, 0b11: 0.25}
    truth = TrueModel(INTENTS, range(4), dict.fromkeys(asked, both))
    reference = Reference.of_truth(truth, WORDS)
    whole = compare(ExtremeModels(graph).pessimistic, reference)
    kept = compare(ExtremeModels(graph).pessimistic, reference, achieving_only=True)
    assert whole.successors.tolist() == [2, 1, 1, 0]
    assert kept.successors.tolist() == [2, 0, 0, 0]
    assert kept.predicted[:4].tolist() == whole.predicted[:4].tolist()


@pytest.mark.parametrize("kind", ["truth", "sample"])
def test_a_pair_that_the_filter_keeps_counts_in_full_where_the_filtered_model_is_silent(kind):
    table = {
        (0b00, P): {0b01: 0.5, 0b00: 0.5},  # known, and right
        (0b10, P): {0b11: 0.5, 0b10: 0.5},  # known, but its success was never seen
        (0b00, Q): {0b10: 1.0},  # never tried
        (0b01, Q): {0b01: 1.0},  # never tried, and in vain: not asked about
    }
    if kind == "truth":
        reference = Reference.of_truth(TrueModel(INTENTS, range(4), table), WORDS)
    else:
        counts = {
            Transition(s, INTENTS.index(i), after): round(4 * p)
            for (s, i), spread in table.items()
            for after, p in spread.items()
        }
        reference = Reference.of_counts(counts, INTENTS, WORDS)
    graph = learned({Transition(0, 0, 1): 1, Transition(0, 0, 0): 1, Transition(0b10, 0, 0b10): 5})
    found = distance(compare(ExtremeModels(graph).pessimistic, reference, achieving_only=True))
    of_five_transitions = (0 + 0 + 0.5 + 0.5 + 1.0) / 5
    of_twelve_executions = (0 + 0 + 2 * 0.5 + 2 * 0.5 + 4 * 1.0) / 12
    expected = of_five_transitions if kind == "truth" else of_twelve_executions
    assert found == pytest.approx(expected)
