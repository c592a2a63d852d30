from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Predicate, Vocabulary
from capscope.model import LearnedModel, StateGraph
from capscope.report.text import capability_views

WORDS = Vocabulary(
    [Predicate("lit", ("lamp",)), Predicate("broken")], {"a": "lamp", "b": "lamp"}
)  # lit(a) is bit 0, lit(b) bit 1, broken() bit 2
INTENTS = [Intent.parse(text) for text in ("lit(a)", "lit(b)", "not lit(a)", "broken()")]


def models_of(transitions, intents=INTENTS):
    graph = StateGraph(WORDS, intents)
    graph.update(Counter(transitions))
    return graph


TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 7), st.integers(0, 3), st.integers(0, 7)),
    st.integers(1, 9),
)


@given(TRANSITIONS)
@settings(max_examples=40)
def test_every_rule_has_draws_behind_it_and_they_add_up(transitions):
    for view in capability_views(LearnedModel.fitted(models_of(transitions))):
        assert all(rule.rule.states and rule.rule.executions > 0 for rule in view.rules)
        executed = sum(n for t, n in transitions.items() if INTENTS[t.capability] == view.intent)
        assert sum(rule.rule.executions for rule in view.rules) == executed == view.executions


@given(TRANSITIONS)
@settings(max_examples=40)
def test_every_capability_is_shown_once(transitions):
    views = capability_views(LearnedModel.fitted(models_of(transitions)))
    assert sorted(str(view.intent) for view in views) == sorted(map(str, INTENTS))


def order(transitions):
    return [
        str(view.intent) for view in capability_views(LearnedModel.fitted(models_of(transitions)))
    ]


def test_the_most_interesting_come_first():
    without_success = {Transition(0b000, 0, 0b010): 1}
    by_chance = {Transition(0b000, 1, 0b010): 1, Transition(0b000, 1, 0b000): 1}
    as_asked = {Transition(0b001, 2, 0b000): 100}
    idle = {Transition(0b000, 3, 0b000): 100}
    names = ["lit(a)", "lit(b)", "not lit(a)", "broken()"]
    assert order(without_success | by_chance | as_asked | idle) == names
    # What was never tried comes last.
    assert order(without_success | as_asked)[-2:] == ["lit(b)", "broken()"]


def test_side_effects_come_before_none():
    clean = {Transition(0b001, 2, 0b000): 100}
    untidy = {Transition(0b000, 0, 0b111): 1}
    assert order(clean | untidy)[:2] == ["lit(a)", "not lit(a)"]


def test_an_intent_that_held_already_is_distinguished_from_doing_nothing():
    graph = models_of({Transition(0b001, 0, 0b001): 3, Transition(0b010, 0, 0b010): 2})
    idle, held = capability_views(LearnedModel.fitted(graph))[0].rules
    assert (idle.held, idle.achieving, idle.rule.executions) == (False, 0.0, 2)
    assert (held.held, held.achieving, held.rule.executions) == (True, 1.0, 3)
