import random

import pytest

from capscope.analysis.planning.mdp import fitted_mdp, observed_mdp
from capscope.model import ExtremeModels
from capscope.record.execution_table import Transition
from capscope.symbolic import Effect
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


def test_choices_of_the_fitted_process_have_the_frequencies_of_the_fitted_rules():
    for seed in range(5):
        graph = random_models(random.Random(seed), share=0.6)
        mdp = fitted_mdp(graph)
        for state in graph.nodes:
            expected = {}
            for c, intent in enumerate(INTENTS):
                pair = graph.pair(state, c)
                if pair is None or set(pair.counts) == {Effect(0, 0)}:
                    continue
                (rule,) = (rule for rule in graph.rules(intent) if state in rule.states)
                ends = expected.setdefault(c, {})
                for one in rule.outcomes:
                    after = one.effect.apply(state)
                    ends[after] = ends.get(after, 0.0) + one.count / rule.executions
            found = choices_in(mdp, state)
            assert found.keys() == expected.keys()
            for c, ends in expected.items():
                assert found[c] == pytest.approx(ends)


def test_a_rare_outcome_that_was_drawn_once_is_certain_as_observed_and_rare_as_fitted():
    seen = {Transition(0, 0, 1): 9, Transition(0, 0, 5): 1, Transition(2, 0, 7): 1}
    graph = learned(seen)
    assert choices_in(observed_mdp(graph), 2) == {0: {7: 1.0}}
    fitted = fitted_mdp(graph)
    assert choices_in(fitted, 2) == {0: pytest.approx({3: 9 / 11, 7: 2 / 11})}
    # Nothing was tried in 3, which was never seen.
    assert choices_in(fitted, 3) == {}


def test_if_all_states_of_a_rule_showed_the_same_both_processes_are_the_same():
    seen = {Transition(s, 0, s | 1): 6 for s in (0, 2)} | {Transition(s, 0, s): 2 for s in (0, 2)}
    graph = learned(seen)
    for state in graph.nodes:
        assert choices_in(fitted_mdp(graph), state) == choices_in(observed_mdp(graph), state)
