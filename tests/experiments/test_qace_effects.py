from hypothesis import given
from hypothesis import strategies as st

from capscope.logic import Effect
from capscope_experiments.baselines.qace.effects import EffectHypothesis, EffectList
from support.rule_worlds import all_effects

MASK = 0b111
STATE = st.integers(0, MASK)


def naive(transitions):
    """Return every effect that explains all transitions."""
    return {
        effect
        for effect in all_effects()
        if all(effect.apply(before) == after for before, after in transitions)
    }


def allowed(hypothesis):
    """Return every effect that a hypothesis allows, atom by atom."""

    def fits(effect):
        left_alone = MASK & ~(effect.adds | effect.deletes)
        return (
            not effect.adds & ~hypothesis.adds
            and not effect.deletes & ~hypothesis.deletes
            and not left_alone & ~hypothesis.keeps
        )

    return {effect for effect in all_effects() if fits(effect)}


@given(st.sampled_from(list(all_effects())), st.lists(STATE, min_size=1, max_size=5))
def test_a_hypothesis_allows_exactly_the_effects_that_explain_all_it_has_seen(effect, states):
    transitions = [(state, effect.apply(state)) for state in states]
    hypothesis = EffectHypothesis.of(*transitions[0], MASK)
    for before, after in transitions[1:]:
        hypothesis = hypothesis.meet(EffectHypothesis.of(before, after, MASK))
    assert allowed(hypothesis) == naive(transitions)
    assert hypothesis.effect in naive(transitions)


@given(STATE, STATE, STATE, STATE)
def test_two_transitions_meet_exactly_if_one_effect_explains_both(before, after, other, then):
    met = EffectHypothesis.of(before, after, MASK).meet(EffectHypothesis.of(other, then, MASK))
    assert (met is None) == (not naive([(before, after), (other, then)]))


def test_an_atom_that_was_true_already_becomes_part_of_the_effect_once_it_is_observed():
    found = EffectList(MASK)
    found.absorb(0b001, [0b011])
    assert found.effects == (Effect(0b010, 0),)
    assert found.explains(0b000, 0b011)
    found.absorb(0b000, [0b011])
    assert found.effects == (Effect(0b011, 0),)


def test_an_outcome_that_no_effect_fits_is_one_more_effect():
    found = EffectList(MASK)
    found.absorb(0b000, [0b001, 0b010])
    found.absorb(0b100, [0b000])
    assert found.effects == (Effect(1, 0), Effect(2, 0), Effect(0, 4))


def test_an_outcome_that_two_effects_fit_narrows_neither():
    found = EffectList(MASK)
    found.absorb(0b001, [0b001, 0b011])
    # From 0b010 both lead to 0b011 if they add the first atom; there is no telling which it was.
    found.absorb(0b010, [0b011])
    assert found.effects == (Effect(0, 0), Effect(2, 0))


def test_doing_nothing_explains_no_change():
    found = EffectList(MASK)
    found.absorb(0b001, [0b001])
    assert not found.explains(0b000, 0b001)
