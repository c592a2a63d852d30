from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capscope.insight.evaluation.reference import Reference, TrueModel, columns_of
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary

WORDS = Vocabulary.of_atoms(["p", "q"])
P, Q, NOT_P = INTENTS = list(map(Intent.parse, ("p", "q", "not p")))
TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 3), st.integers(0, 2), st.integers(0, 3)),
    st.integers(1, 5),
    max_size=12,
)


def of_counts(transitions):
    return Reference.of_counts(transitions, INTENTS, WORDS)


def unrolled(reference):
    """Write a reference as a dictionary: pair → (weight, {end: (probability, weight)})."""
    table = {}
    position = 0
    for number, (state, intent, ends) in enumerate(reference.rows()):
        outcomes = {}
        for end in ends:
            share, weight = reference.probability[position], reference.weight[position]
            outcomes[end] = (float(share), float(weight))
            position += 1
        table[state, INTENTS[intent]] = (float(reference.pair_weight[number]), outcomes)
    assert position == len(reference.after)
    return table


@given(TRANSITIONS)
def test_counts_become_frequencies_with_weights(transitions):
    expected = {}
    for (s, c, after), count in transitions.items():
        tried = sum(n for t, n in transitions.items() if t[:2] == (s, c))
        expected.setdefault((s, INTENTS[c]), (tried, {}))[1][after] = (count / tried, count)
    assert unrolled(of_counts(transitions)) == expected


def test_the_truth_weighs_every_pair_and_every_transition_alike():
    table = {(0, P): {1: 0.75, 0: 0.25}, (1, Q): {3: 1.0}, (1, NOT_P): {}}
    reference = Reference.of_truth(TrueModel(INTENTS, [0, 1], table), WORDS)
    assert unrolled(reference) == {
        (0, P): (1, {1: (0.75, 1), 0: (0.25, 1)}),
        (1, Q): (1, {3: (1.0, 1)}),
        (1, NOT_P): (1, {}),
    }


@given(TRANSITIONS)
def test_it_is_known_where_the_intent_holds_before_and_after(transitions):
    reference = of_counts(transitions)
    rows = list(reference.rows())
    held = [INTENTS[c].holds(s, WORDS) for s, c, _ in rows]
    achieved = [INTENTS[c].holds(end, WORDS) for _, c, ends in rows for end in ends]
    assert reference.held.tolist() == held
    assert reference.achieved.tolist() == achieved


@given(TRANSITIONS)
def test_the_filter_keeps_the_pairs_in_which_the_intent_was_achieved_at_least_once(transitions):
    whole = unrolled(of_counts(transitions))
    expected = {
        (s, intent): row
        for (s, intent), row in whole.items()
        if any(intent.holds(end, WORDS) for end in row[1])
    }
    assert unrolled(of_counts(transitions).achieving()) == expected


def test_the_filter_takes_an_intent_that_holds_before_and_after_as_achieved():
    kept = unrolled(of_counts({Transition(1, 0, 1): 2, Transition(0, 0, 0): 2}).achieving())
    assert list(kept) == [(1, P)]


def test_an_outcome_of_probability_zero_achieves_nothing():
    truth = TrueModel(INTENTS, [0], {(0, P): {1: 0.0, 0: 1.0}})
    assert not unrolled(Reference.of_truth(truth, WORDS).achieving())


def test_counts_do_not_depend_on_the_order_in_which_transitions_were_met():
    met = Counter({Transition(2, 0, 1): 3, Transition(0, 1, 2): 1, Transition(0, 0, 2**90): 2})
    one, other = columns_of(met), columns_of(dict(reversed(met.items())))
    assert one[0] == other[0] == [0, 1, 2, 2**90]
    assert all(np.array_equal(a, b) for a, b in zip(one[1:], other[1:], strict=True))


def test_of_nothing_there_is_a_reference_too():
    assert unrolled(of_counts({})) == {}
    assert unrolled(of_counts({}).achieving()) == {}
