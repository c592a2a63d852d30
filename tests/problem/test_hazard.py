import pickle

from hypothesis import given
from hypothesis import strategies as st

from capscope.logic import Intent, Predicate, Vocabulary
from capscope.problem import Hazard

WORDS = Vocabulary(
    [Predicate("gone", ("pot",)), Predicate("open", ("pot",)), Predicate("lit")],
    {"x": "pot", "y": "pot"},
)
STATES = st.integers(0, WORDS.mask)
HAZARDS = ["gone(*)", "not open(*)", "lit and not open(x)", "gone(?p) and open(?p) or not lit"]


def naive(hazard, before, after):
    """List the instances that became true."""
    tests = {term: WORDS.test(term) for term in hazard.condition}
    return [term for term, test in tests.items() if test(after) and not test(before)]


@given(st.sampled_from(HAZARDS), STATES, STATES)
def test_it_happens_if_an_instance_becomes_true(text, before, after):
    hazard = Hazard.parse(text, WORDS)
    found = naive(hazard, before, after)
    assert hazard.happens(before, after) == bool(found)
    assert set(hazard.entered(before, after)) == set(found)
    assert hazard.holds(after) == hazard.condition.holds(after, WORDS)


def test_a_second_instance_counts_where_one_holds_already():
    hazard = Hazard.parse("gone(*)", WORDS)
    x, y = WORDS.bit_of("gone(x)"), WORDS.bit_of("gone(y)")
    assert hazard.happens(x, x | y)
    assert not hazard.happens(x | y, y)


def test_an_intent_asks_for_it_if_success_makes_it_true():
    hazard = Hazard.parse("gone(*) or lit and not open(x)", WORDS)
    assert hazard.asked_by(Intent.parse("gone(y)"))
    assert hazard.asked_by(Intent.parse("not open(x) and lit"))
    assert not hazard.asked_by(Intent.parse("lit"))
    assert not hazard.asked_by(Intent.parse("not gone(y)"))


def test_it_can_be_sent_to_another_process():
    hazard = Hazard.parse("gone(*)", WORDS)
    assert hazard.happens(0, 1)
    assert pickle.loads(pickle.dumps(hazard)) == hazard


def test_an_instance_that_the_request_does_not_name_was_not_asked_for():
    hazard, asked = Hazard.parse("gone(*)", WORDS), Intent.parse("gone(x)")
    x, y = (WORDS.bit[atom] for atom in WORDS.groundings("gone"))
    assert hazard.asked_by(asked) and not hazard.asked_in_full_by(asked)
    assert not hazard.happens_unasked(0, x, asked)
    assert hazard.happens_unasked(0, y, asked) and hazard.happens_unasked(0, x | y, asked)
    assert not hazard.happens_unasked(y, x | y, asked)
    assert Hazard.parse("gone(x)", WORDS).asked_in_full_by(asked)
