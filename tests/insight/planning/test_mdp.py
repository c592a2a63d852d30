import random

import pytest

from capscope.insight.planning.mdp import fitted_mdp
from capscope.journal.execution_table import Transition
from capscope.model import ExtremeModels, LearnedModel
from support.naive_planning import tried_process
from support.tiny_models import INTENTS, learned, random_models


def model_of(seen):
    return LearnedModel.fitted(learned(seen))


def choices_in(mdp, state):
    here = mdp.choices[mdp.states.index(state)]
    return {
        c.capability: {mdp.states[j]: p for j, p in zip(c.successors, c.probabilities, strict=True)}
        for c in here
    }


def test_choices_match_the_naive_twin_that_asks_the_model_about_each_pair():
    for seed in range(10):
        graph = random_models(random.Random(seed), share=0.6)
        model = LearnedModel.fitted(graph)
        mdp, naive = fitted_mdp(model), tried_process(model)
        assert set(mdp.states) == set(naive.states)
        for state in naive.states:
            found, expected = choices_in(mdp, state), choices_in(naive, state)
            assert found.keys() == expected.keys()
            for c, ends in expected.items():
                assert found[c] == pytest.approx(ends)


def test_a_pair_that_was_never_tried_is_not_a_choice():
    mdp = fitted_mdp(model_of({Transition(0, 0, 1): 5}))
    assert choices_in(mdp, 0) == {0: {1: 1.0}}
    assert choices_in(mdp, 1) == {}


def test_states_of_one_type_share_its_executions_and_have_their_own_count():
    seen = {Transition(0, 0, 1): 3, Transition(2, 0, 3): 4, Transition(4, 0, 4): 9}
    mdp = fitted_mdp(model_of(seen))
    (first,), (second,) = (mdp.choices[mdp.states.index(state)] for state in (0, 2))
    assert first.rule == second.rule
    assert (first.draws, first.executions, first.draws_here) == (7, 7, 3)
    assert (second.draws, second.executions, second.draws_here) == (7, 7, 4)


def test_other_changes_are_of_another_type_whatever_was_asked_for():
    seen = {Transition(0, 0, 1): 3, Transition(0, 1, 1): 4, Transition(2, 0, 1): 9}
    mdp = fitted_mdp(model_of(seen))
    effects = {(choice.capability, choice.rule[0]) for here in mdp.choices for choice in here}
    assert len({rule for _, rule in effects}) == 2


def test_fulfilled_counts_how_often_the_intent_held_afterwards():
    # Asked for p: 6 of 8 draws made p true, the others made q true.
    mdp = fitted_mdp(model_of({Transition(0, 0, 1): 6, Transition(0, 0, 2): 2}))
    ((choice,),) = (mdp.choices[mdp.states.index(0)],)
    assert (choice.fulfilled, choice.draws) == (pytest.approx(6), pytest.approx(8))


def test_a_rare_outcome_that_was_drawn_once_is_as_rare_as_in_similar_states():
    seen = {Transition(0, 0, 1): 9, Transition(0, 0, 5): 1, Transition(2, 0, 7): 1}
    graph = learned(seen)
    # The pessimistic model takes it for certain.
    assert ExtremeModels(graph).pessimistic.predict(2, INTENTS[0]) == {7: 1.0}
    assert choices_in(fitted_mdp(LearnedModel.fitted(graph)), 2)[0] == pytest.approx(
        LearnedModel.fitted(graph).predict(2, INTENTS[0])
    )
    assert choices_in(fitted_mdp(LearnedModel.fitted(graph)), 2)[0][7] < 0.5


def test_states_that_were_never_seen_come_last_and_have_no_choices():
    seen = {Transition(0, 0, 1): 9, Transition(0, 0, 5): 1, Transition(2, 0, 7): 1}
    graph = learned(seen)
    mdp = fitted_mdp(LearnedModel.fitted(graph))
    assert mdp.states == (*graph.nodes, 3)
    assert mdp.choices[-1] == ()


def test_a_capability_that_never_changed_a_state_is_not_a_choice_there():
    # In 2 nothing happened in two draws, although the model says that something may.
    seen = {Transition(0, 0, 1): 9, Transition(0, 0, 0): 9, Transition(2, 0, 2): 2}
    graph = learned(seen)
    model = LearnedModel.fitted(graph)
    assert set(model.predict(2, INTENTS[0])) == {2, 3}
    mdp = fitted_mdp(model)
    assert choices_in(mdp, 0)[0].keys() == {0, 1}
    assert choices_in(mdp, 2) == {}


def test_if_all_states_of_a_type_showed_the_same_choices_are_as_in_the_pessimistic_model():
    seen = {Transition(s, 0, s | 1): 6 for s in (0, 2)} | {Transition(s, 0, s): 2 for s in (0, 2)}
    graph = learned(seen)
    predict = ExtremeModels(graph).pessimistic.predict
    for state in (0, 2):
        found = choices_in(fitted_mdp(LearnedModel.fitted(graph)), state)
        assert found == {0: pytest.approx(predict(state, INTENTS[0]))}
