import random

from capscope.analysis.planning.mdp import observed_mdp
from capscope.model import ExtremeModels
from capscope.record.execution_table import Transition
from support.tiny_models import INTENTS, learned, random_models


def choices_in(mdp, state):
    here = mdp.choices[mdp.states.index(state)]
    return {
        c.capability: {mdp.states[j]: p for j, p in zip(c.successors, c.probabilities, strict=True)}
        for c in here
    }


def test_choices_match_the_predictions_of_the_pessimistic_model():
    for seed in range(5):
        graph = random_models(random.Random(seed), share=0.6)
        mdp, model = observed_mdp(graph), ExtremeModels(graph).pessimistic
        assert set(mdp.states) == set(graph.nodes)
        for state in mdp.states:
            predicted = {c: dict(model.predict(state, intent)) for c, intent in enumerate(INTENTS)}
            # Untried pairs predict nothing; pairs without effect predict their own state.
            assert choices_in(mdp, state) == {
                c: ends for c, ends in predicted.items() if ends and set(ends) != {state}
            }


def test_a_pair_that_was_never_tried_is_not_a_choice():
    mdp = observed_mdp(learned({Transition(0, 0, 1): 5}))
    assert choices_in(mdp, 0) == {0: {1: 1.0}}
    assert choices_in(mdp, 1) == {}


def test_states_of_one_rule_share_its_draws_and_have_their_own_count():
    seen = {Transition(0, 0, 1): 3, Transition(2, 0, 3): 4, Transition(4, 0, 4): 9}
    mdp = observed_mdp(learned(seen))
    (first,), (second,) = (mdp.choices[mdp.states.index(state)] for state in (0, 2))
    assert first.rule == second.rule
    assert (first.draws, first.draws_here) == (7, 3)
    assert (second.draws, second.draws_here) == (7, 4)


def test_other_effects_or_capabilities_are_other_rules():
    seen = {Transition(0, 0, 1): 3, Transition(0, 1, 1): 4, Transition(2, 0, 1): 9}
    mdp = observed_mdp(learned(seen))
    assert len({choice.rule for here in mdp.choices for choice in here}) == 3


def test_fulfilled_counts_how_often_the_intent_held_afterwards():
    # Asked for p: 6 of 8 draws made p true, the others made q true.
    mdp = observed_mdp(learned({Transition(0, 0, 1): 6, Transition(0, 0, 2): 2}))
    ((choice,),) = (mdp.choices[mdp.states.index(0)],)
    assert (choice.fulfilled, choice.draws) == (6, 8)
