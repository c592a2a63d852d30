import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Predicate, Vocabulary
from capscope.model import StateGraph
from capscope.report.text import capability_lines, capability_views

WORDS = Vocabulary(
    [Predicate("lit", ("lamp",)), Predicate("broken")], {"a": "lamp", "b": "lamp"}
)  # lit(a) is bit 0, lit(b) bit 1, broken() bit 2
INTENTS = [Intent.parse(text) for text in ("lit(a)", "lit(b)", "not lit(a)", "broken()")]
SEEN = {
    # lit(a): works from the dark, with a side effect now and then; nothing to do if it is lit.
    Transition(0b000, 0, 0b001): 15,
    Transition(0b000, 0, 0b101): 5,
    Transition(0b001, 0, 0b001): 4,
    # lit(b): acts without success.
    Transition(0b000, 1, 0b001): 8,
    # not lit(a): works.
    Transition(0b001, 2, 0b000): 1200,
}


def models_of(transitions, intents=INTENTS):
    graph = StateGraph(WORDS, intents)
    graph.update(Counter(transitions))
    return graph


def text_of(graph, width=96):
    views = capability_views(graph)
    return "\n".join("\n".join(capability_lines(v, graph.vocabulary, width)) for v in views)


GOLDEN = """\
lit(b)   (8 executions in 1 state)
  when always  [1 state, 8 executions]
    ! 1.00 [0.74, 1.00]  lit(a)
  never tried in 2 other states seen
lit(a)   (24 executions in 2 states)
  when not lit(a)  [1 state, 20 executions]
    + 0.75 [0.54, 0.90]  lit(a)
    + 0.25 [0.10, 0.46]  lit(a), broken()
  when lit(a)  [1 state, 4 executions]
    + 1.00 [0.56, 1.00]  nothing changes
  never tried in 1 other state seen
not lit(a)   (1,200 executions in 1 state)
  when always  [1 state, 1,200 executions]
    + 1.00 [1.00, 1.00]  not lit(a)
  never tried in 2 other states seen
broken()
  unknown: never tried in any of the 3 states seen"""


def test_a_tiny_model_as_text():
    assert text_of(models_of(SEEN)) == GOLDEN


TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 7), st.integers(0, 3), st.integers(0, 7)),
    st.integers(1, 9),
)


@given(TRANSITIONS)
def test_what_was_never_tried_is_named_and_never_cannot(transitions):
    graph = models_of(transitions)
    text = text_of(graph)
    assert "cannot" not in text
    assert "impossible" not in text
    for view in capability_views(graph):
        lines = list(capability_lines(view, WORDS))
        tried = {s for s, c, _ in transitions if INTENTS[c] == view.intent}
        assert view.states_tried == len(tried)
        complete = len(tried) == len(graph.nodes) and tried
        assert any("never tried" in line for line in lines) is not bool(complete)


@given(TRANSITIONS)
def test_every_rule_has_draws_behind_it_and_they_add_up(transitions):
    for view in capability_views(models_of(transitions)):
        lines = list(capability_lines(view, WORDS, width=1000))
        behind = [re.search(r"\[(\d+) states?, (\d+) executions?\]$", line) for line in lines]
        rules = [line for line in lines if line.startswith("  when ")]
        found = [match for match in behind if match]
        assert len(found) == len(rules) == len(view.rules)
        assert all(
            int(states) > 0 and int(draws) > 0 for states, draws in (m.groups() for m in found)
        )
        executed = sum(n for t, n in transitions.items() if INTENTS[t.capability] == view.intent)
        assert sum(int(match[2]) for match in found) == executed == view.executions


@given(TRANSITIONS)
def test_every_capability_is_shown_once(transitions):
    views = capability_views(models_of(transitions))
    assert sorted(str(view.intent) for view in views) == sorted(map(str, INTENTS))


def order(transitions):
    return [str(view.intent) for view in capability_views(models_of(transitions))]


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
    assert "\n".join(capability_lines(capability_views(graph)[0], WORDS)) == (
        "lit(a)   (5 executions in 2 states)\n"
        "  when lit(b)  [1 state, 2 executions]\n"
        "    - 1.00 [0.33, 1.00]  nothing changes\n"
        "  when lit(a)  [1 state, 3 executions]\n"
        "    + 1.00 [0.46, 1.00]  nothing changes"
    )


@pytest.mark.parametrize("width", [60, 96])
def test_lines_are_wrapped_between_literals_only(width):
    words = Vocabulary.of_atoms([f"a-rather-long-atom-{i}" for i in range(12)])
    graph = StateGraph(words, [Intent.parse("a-rather-long-atom-3")])
    graph.update(Counter({Transition(0, 0, 0b111111): 7, Transition(1, 0, 1): 2}))
    lines = list(capability_lines(capability_views(graph)[0], words, width))
    assert all(len(line) <= width for line in lines)
    for line in lines:
        names = re.findall(r"[a-z0-9-]*atom[a-z0-9-]*", line)
        assert all(re.fullmatch(r"a-rather-long-atom-\d+", name) for name in names)
