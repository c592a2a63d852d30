from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.journal.execution_table import Transition
from capscope.logic import ExactlyOne, Intent, Predicate, Vocabulary
from capscope.model import LearnedModel, StateGraph
from capscope.report.digest.capabilities import (
    ACHIEVED,
    OTHER,
    Standing,
    Standings,
    capability_digests,
    marks_note,
)
from capscope.report.digest.size_budget import SizeBudget
from capscope.report.text import capability_views
from support.small_runs import LAMPS, WISHES
from support.tiny_digests import by_attribute

BOTH = Intent.parse("lit(a) and not lit(b)")


def digests(transitions, intents=WISHES, space=1_000_000):
    graph = StateGraph(LAMPS, intents)
    graph.update(Counter(transitions))
    return {
        d.intent: d for d in described(graph, capability_views(LearnedModel.fitted(graph)), space)
    }


def described(graph, views, space=10**6):
    return by_attribute(capability_digests(Standings.at_once(views), graph, SizeBudget(space)))


SEEN = {
    # lit(a): works from the dark, with a side effect now and then; nothing to do if it is lit.
    Transition(0b000, 0, 0b001): 15,
    Transition(0b000, 0, 0b101): 5,
    Transition(0b001, 0, 0b001): 4,
    # lit(b): acts without success.
    Transition(0b000, 1, 0b001): 8,
    # not lit(a): works in one state, and does nothing in the other.
    Transition(0b001, 2, 0b000): 3,
    Transition(0b101, 2, 0b101): 9,
}


def test_a_capability_is_judged_where_its_intent_did_not_hold():
    shown = digests(SEEN)
    assert {intent: d.standing for intent, d in shown.items()} == {
        "lit(a)": Standing.RELIABLE,
        "lit(b)": Standing.NEVER,
        "not lit(a)": Standing.SOMETIMES,
        "broken()": Standing.UNTRIED,
    }
    assert (shown["lit(a)"].success, shown["lit(a)"].success_low) == (1.0, 1.0)
    # Two states, however many draws in each.
    assert shown["not lit(a)"].success == pytest.approx(0.5, abs=0.02)
    assert shown["not lit(a)"].success_low == 0.0
    assert (shown["broken()"].success, shown["broken()"].success_low) == (None, 0.0)
    assert shown["lit(a)"].executions == 24
    assert [(d.states_tried, d.states_untried) for d in shown.values()] == [
        (1, 2), (2, 1), (2, 1), (0, 3),
    ]  # fmt: skip


def ended(state):
    return {Transition(state, capability, state): 2 for capability in range(len(WISHES))}


def test_failing_in_a_dead_end_does_not_count():
    alive = {Transition(0b000, 0, 0b001): 2, Transition(0b000, 0, 0b100): 8}
    shown = digests(alive | ended(0b100))
    assert (shown["lit(a)"].success, shown["lit(a)"].success_low) == (0.2, 0.0)
    # Another capability leads away from the state, so it is not a dead end, and failing counts.
    shown = digests(alive | ended(0b100) | {Transition(0b100, 1, 0b110): 1})
    assert 0.1 <= shown["lit(a)"].success < 0.2


def test_a_capability_tried_only_in_dead_ends_never_succeeded():
    shown = digests(ended(0b100))
    assert (shown["lit(a)"].success, shown["lit(a)"].standing) == (0.0, Standing.NEVER)


def test_an_intent_that_held_already_counts_neither_as_success_nor_as_failure():
    shown = digests({Transition(0b001, 0, 0b001): 5, Transition(0b001, 0, 0b011): 5})
    assert shown["lit(a)"].standing is Standing.UNTRIED
    (rule,) = shown["lit(a)"].rules
    assert not rule.held_already  # something changed
    shown = digests({Transition(0b001, 0, 0b001): 5, Transition(0b000, 0, 0b000): 5})
    assert shown["lit(a)"].standing is Standing.NEVER
    assert [rule.held_already for rule in shown["lit(a)"].rules] == [False, True]


def test_changes_beyond_the_intent_are_marked():
    shown = digests(SEEN)
    rule = next(r for r in shown["lit(a)"].rules if not r.held_already)
    clean, spoiled = rule.outcomes
    assert [(c.literal, c.side_effect) for c in clean.changes] == [("lit(a)", False)]
    assert [(c.literal, c.side_effect) for c in spoiled.changes] == [
        ("lit(a)", False), ("broken()", True),
    ]  # fmt: skip
    graph = StateGraph(LAMPS, WISHES)
    graph.update(Counter(SEEN))
    predicted = LearnedModel.fitted(graph).predict(0b000, WISHES[0])
    assert (clean.mark, clean.count) == (ACHIEVED, 15)
    assert clean.probability == pytest.approx(predicted[0b001], abs=1e-5)
    assert 0.75 <= clean.probability < 0.85
    assert (clean.low, clean.high) == pytest.approx(predicted.interval([0b001]), abs=1e-5)
    assert shown["lit(a)"].side_effects == 1
    (vain,) = shown["lit(b)"].rules
    assert (vain.outcomes[0].mark, shown["lit(b)"].success_low) == (OTHER, 0.0)


def test_making_the_opposite_true_is_a_side_effect_and_a_negative_intent_is_none():
    shown = digests({Transition(0b001, 0, 0b000): 1, Transition(0b001, 2, 0b000): 1})
    assert [c.side_effect for c in shown["lit(a)"].rules[0].outcomes[0].changes] == [True]
    (rule,) = shown["not lit(a)"].rules
    assert [(c.literal, c.side_effect) for c in rule.outcomes[0].changes] == [("not lit(a)", False)]
    assert (rule.outcomes[0].mark, shown["not lit(a)"].side_effects) == (ACHIEVED, 0)


def test_an_implied_deletion_is_not_marked_as_a_side_effect():
    words = Vocabulary([Predicate("at", ("cell",)), Predicate("lit")], dict.fromkeys("ab", "cell"))
    a, b, lit = (words.state([atom]) for atom in words.atoms)
    graph = StateGraph(words, [Intent.parse(text) for text in ("at(b)", "not at(a)", "lit")])
    seen = {Transition(a, 0, b): 9, Transition(a, 1, b): 9, Transition(a, 2, b | lit): 9}
    graph.update(Counter(seen))
    shown = {d.intent: d for d in described(graph, capability_views(LearnedModel.fitted(graph)))}
    marks = {
        intent: [(c.literal, c.side_effect) for c in d.rules[0].outcomes[0].changes]
        for intent, d in shown.items()
    }
    assert marks == {
        "at(b)": [("at(b)", False), ("not at(a)", False)],
        "not at(a)": [("at(b)", False), ("not at(a)", False)],
        "lit()": [("at(b)", True), ("lit()", False), ("not at(a)", False)],
    }
    assert {intent: d.side_effects for intent, d in shown.items()} == {
        "at(b)": 0, "not at(a)": 0, "lit()": 1,
    }  # fmt: skip
    assert "Exactly one of at(…) held" in marks_note(graph.exactly_one, words)
    assert marks_note(ExactlyOne(), words) == ""


def test_a_rule_that_achieves_its_intent_only_in_some_states_is_shown_in_two_parts():
    # lit(a) comes on in both states; lit(b) was off in one of them only.
    shown = digests({Transition(0b000, 0, 0b001): 6, Transition(0b010, 0, 0b011): 2}, [BOTH])
    rules = shown["lit(a) and not lit(b)"].rules
    assert sorted((r.when, r.outcomes[0].mark, r.draws_count) for r in rules) == [
        ((("lit(b)",),), OTHER, 2),
        ((("not lit(b)",),), ACHIEVED, 6),
    ]
    assert shown["lit(a) and not lit(b)"].standing is Standing.SOMETIMES
    assert shown["lit(a) and not lit(b)"].success == pytest.approx(0.5, abs=0.01)


TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 7), st.integers(0, 4), st.integers(0, 7)),
    st.integers(1, 9),
)


@given(TRANSITIONS)
@settings(max_examples=40)
def test_what_a_rule_says_about_its_intent_is_true_of_every_state_and_draw(transitions):
    intents = [*WISHES, BOTH]
    graph = StateGraph(LAMPS, intents)
    graph.update(Counter(transitions))
    views = capability_views(LearnedModel.fitted(graph))
    for view, digest in zip(views, described(graph, views), strict=True):
        capability = graph.index[view.intent]
        fresh = []  # (state, draw succeeded) where the intent did not hold
        for rule, part in zip(view.rules, digest.rules, strict=True):
            draws = [
                (view.intent.holds(after, LAMPS), count)
                for (before, c, after), count in transitions.items()
                if c == capability and before in rule.rule.states
            ]
            total = sum(count for _, count in draws)
            assert total == part.draws_count == sum(o.count for o in part.outcomes)
            achieved = sum(count for holds, count in draws if holds)
            if len(part.outcomes) == 1:
                assert rule.achieving == achieved / total
            marked = sum(o.count for o in part.outcomes if o.mark == ACHIEVED)
            assert marked == achieved
            held = {view.intent.holds(state, LAMPS) for state in rule.rule.states}
            assert held == {rule.held}
            if not rule.held:
                fresh += [holds for holds, _ in draws]
        expected = (
            Standing.UNTRIED if not fresh else Standing.RELIABLE if all(fresh)
            else Standing.SOMETIMES if any(fresh) else Standing.NEVER
        )  # fmt: skip
        assert digest.standing is expected


def test_rules_that_do_not_fit_are_counted_and_every_capability_keeps_its_row():
    everything = {Transition(s, c, (s * 3 + c) % 8): 1 for s in range(8) for c in range(4)}
    whole = digests(everything)
    cut = digests(everything, space=4_500)
    assert cut.keys() == whole.keys()
    assert all(d.rules for d in cut.values())
    assert any(d.rules_omitted for d in cut.values())
    for intent, digest in cut.items():
        assert digest.rules == whole[intent].rules[: len(digest.rules)]
        assert len(digest.rules) + digest.rules_omitted == len(whole[intent].rules)
        assert (digest.standing, digest.success) == (whole[intent].standing, whole[intent].success)
