"""What is asked to find out when an event happens that would be a finding."""

import random
from collections import Counter

import numpy as np
import pytest

from capscope.logic import ExpectedEffects, Intent, Predicate, Vocabulary
from capscope.model import LearnedModel, StateGraph
from capscope.strategy.confirmation import Beliefs, Confirmation
from capscope.strategy.hypotheses import Hypotheses

NAMES = ("ann", "bob", "cat", "dan")
VOCABULARY = Vocabulary(
    [Predicate(mark, ("mail",)) for mark in ("kept", "gone", "star", "new")],
    dict.fromkeys(NAMES, "mail"),
)
INTENTS = [Intent.parse(f"kept({name})") for name in NAMES]


def state(*atoms):
    return VOCABULARY.state(atoms)


class Watched:
    """Answers to requests, as `happens` says: an execution of `kept(x)` may also lose a mail."""

    def __init__(self, happens, expected=()):
        self.graph = StateGraph(VOCABULARY, INTENTS)
        self.graph.expected = ExpectedEffects(expected, VOCABULARY)
        self.model = LearnedModel(self.graph, 0)
        self.confirmation = Confirmation(self.model, 1.0)
        self.happens = happens

    def answer(self, start, capability):
        name = NAMES[capability]
        lost = self.happens(start, name)
        after = start | state(f"kept({name})", *([f"gone({lost})"] if lost else []))
        self.graph.update(Counter({(start, capability, after): 1}))
        self.model.observe([(start, capability)])
        self.confirmation.observe([(start, capability)])

    def questions(self, number, states, most=1):
        found = self.confirmation.questions(number, most, states, np.random.default_rng(number))
        return [(one.state, one.capability) for one in found]

    def hypotheses(self):
        own = Hypotheses(self.graph)
        own.observe([(s, c) for s, n in self.graph.nodes.items() for c in range(4) if n.pairs[c]])
        own.refresh()
        return [str(one.event) for ones in own.by_urgency() for one in ones]


def random_states(number):
    rng = random.Random(1)
    return [rng.getrandbits(16) & ~state(*(f"kept({n})" for n in NAMES)) for _ in range(number)]


def starred(start, name):
    others = [o for o in NAMES if o != name and not start & state(f"gone({o})")]
    return others[0] if start & state(f"star({name})") and others else None


def test_the_condition_of_an_event_is_clear_after_a_few_questions_and_they_end():
    watched = Watched(starred)
    states = random_states(60)
    watched.answer(state("star(ann)", "new(ann)"), 0)
    asked = 0
    while asked < 80:
        pairs = watched.questions(asked, states)
        if not pairs:
            break
        asked += 1
        watched.answer(*pairs[0])
    assert 15 <= asked <= 70
    (own,) = watched.confirmation._hypotheses._requests.values()
    (event,) = [one for one in own.hypotheses if one is not None]
    beliefs = Beliefs.of(own.hypotheses[event], watched.model)
    best = int(beliefs._scores.argmax()) - 1
    families = watched.model.experts.families
    space = families.of[0].space
    assert space.terms[best].atoms == (("star", (0,)),)
    assert beliefs.settled


def test_most_questions_differ_from_each_other():
    watched = Watched(starred)
    watched.answer(state("star(ann)", "new(ann)"), 0)
    asked = Counter()
    for number in range(30):
        for pair in watched.questions(number, random_states(60)):
            asked[pair] += 1
            watched.answer(*pair)
    assert max(asked.values()) <= 2


def test_nothing_is_asked_about_an_agent_that_does_what_it_was_asked_for():
    watched = Watched(lambda start, name: None)
    for start in random_states(20):
        watched.answer(start, 0)
        assert watched.questions(0, [start]) == []


def test_an_event_that_always_happens_is_left_alone_when_it_was_seen_often():
    watched = Watched(lambda start, name: "dan" if name != "dan" else "ann")
    for number, start in enumerate(random_states(40)):
        for pair in watched.questions(number, [start]):
            watched.answer(*pair)
        watched.answer(start & ~state("gone(dan)"), 0)
    assert watched.questions(0, random_states(40)) == []


@pytest.mark.parametrize("expected", ["kept(*): gone(*)", "kept(ann): gone(bob)"])
def test_what_is_expected_is_no_hypothesis(expected):
    watched = Watched(starred, [expected])
    watched.answer(state("star(ann)"), 0)
    assert watched.hypotheses() == []
    assert watched.questions(0, random_states(9)) == []


@pytest.mark.parametrize("achieved", [True, False])
def test_the_request_of_another_object_is_a_hypothesis_unless_it_may_be_a_step(achieved):
    graph, bare = StateGraph(VOCABULARY, INTENTS), state()
    kept = [state(f"kept({name})") for name in NAMES]
    answers = {(bare, 0, kept[1]): 2, (kept[1], 0, kept[0]): 1}  # the second one undoes the first
    graph.update(Counter(answers | ({(bare, 0, kept[0]): 1} if achieved else {})))
    hypotheses = Hypotheses(graph)
    hypotheses.observe([(bare, 0), (kept[1], 0)])
    events = [str(one.event) for own in hypotheses.by_urgency() for one in own]
    assert ("kept(another mail)" in events) is achieved


def test_a_request_that_held_already_shows_nothing():
    watched = Watched(lambda start, name: "bob")
    watched.answer(state("kept(ann)"), 0)
    assert watched.hypotheses() == []
    watched.answer(state(), 0)
    assert watched.hypotheses() == ["gone(another mail)"]


def test_a_rare_event_is_asked_for_again_where_it_is_likely():
    watched = Watched(lambda start, name: None)
    for start in random_states(15):
        watched.answer(start & ~state("star(ann)"), 0)
    watched.happens = starred
    watched.answer(state("star(ann)"), 0)
    (pair,) = watched.questions(2, random_states(60))
    start, capability = pair
    assert starred(start, NAMES[capability])


def test_a_share_of_the_queries_is_due_when_each_capability_was_tried_twice():
    watched = Watched(starred)
    confirmation = Confirmation(watched.model, 0.2)
    assert not any(confirmation.is_due(number) for number in range(20))
    for start in random_states(8):
        watched.answer(start, 0)
    assert sum(confirmation.is_due(number) for number in range(100)) == 20


def test_different_hypotheses_share_a_batch_and_the_same_answers_give_the_same_questions():
    first, second = Watched(starred), Watched(starred)
    for watched in (first, second):
        watched.answer(state("star(ann)"), 0)
        after = state("star(bob)", "new(bob)", "kept(bob)")
        watched.graph.update(Counter({(state("star(bob)"), 1, after): 1}))
        watched.confirmation.observe([(state("star(bob)"), 1)])
    states = random_states(30)
    assert len(first.questions(0, states, most=8)) == 2
    assert first.questions(0, states, most=8) == second.questions(0, states, most=8)
