from hypothesis import given
from hypothesis import strategies as st

from capscope.logic import Effect, Vocabulary

STATES = st.integers(0, 2**70 - 1)


@given(STATES, STATES)
def test_the_effect_between_two_states_leads_from_the_one_to_the_other(before, after):
    effect = Effect.between(before, after)
    assert effect.apply(before) == after
    assert not effect.adds & effect.deletes


@given(STATES, STATES)
def test_the_effect_between_two_states_has_only_what_changed(before, after):
    effect = Effect.between(before, after)
    assert effect.adds | effect.deletes == before ^ after


@given(STATES, STATES, STATES)
def test_applying_an_effect_twice_is_applying_it_once(state, adds, deletes):
    effect = Effect(adds, deletes)
    assert effect.apply(effect.apply(state)) == effect.apply(state)


@given(STATES, STATES, STATES)
def test_applying_an_effect_deletes_and_then_adds(state, adds, deletes):
    def members(bits):
        return {i for i in range(bits.bit_length()) if bits >> i & 1}

    expected = (members(state) - members(deletes)) | members(adds)
    assert members(Effect(adds, deletes).apply(state)) == expected


@given(STATES, STATES)
def test_an_effect_that_deletes_an_absent_atom_changes_nothing(state, bits):
    assert Effect(0, bits & ~state).apply(state) == state


@given(STATES, STATES)
def test_an_effect_that_adds_a_present_atom_changes_nothing(state, bits):
    assert Effect(bits & state, 0).apply(state) == state


@given(STATES, STATES, STATES)
def test_different_observed_effects_lead_from_one_state_to_different_states(state, one, other):
    assert (Effect.between(state, one) == Effect.between(state, other)) is (one == other)


def test_an_effect_is_read_additions_first():
    vocabulary = Vocabulary.of_atoms(["p", "q", "r"])
    literals = Effect(adds=0b100, deletes=0b011).literals(vocabulary)
    assert list(map(str, literals)) == ["r()", "not p()", "not q()"]
