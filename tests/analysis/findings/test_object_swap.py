import random
from collections import Counter

import pytest

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.object_swap import (
    MOST_SWAPS,
    mirror_pairs,
    structured_types,
    swaps,
)
from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.symbolic import Intent, Predicate, Vocabulary


@pytest.mark.parametrize("objects", ["abxy", "baxy"])
def test_a_pair_is_compared_with_its_mirror_image_once_however_the_intent_is_written(objects):
    kinds = {o: "box" if o in "ab" else "place" for o in objects}
    vocabulary = Vocabulary([Predicate("at", ("box", "place"))], kinds)
    # Exchanging a and b turns these two into each other, and both name a first.
    intents = [Intent.parse("at(a,x) & at(b,y)"), Intent.parse("at(a,y) & at(b,x)")]
    graph = StateGraph(vocabulary, intents)
    graph.update(Counter({Transition(0, capability, 0): 10 for capability in (0, 1)}))
    context = FindingContext(graph)
    (swap,) = (s for s in swaps(context) if {s.one, s.other} == {"a", "b"})
    (pair,) = mirror_pairs(context, swap)
    assert set(pair.sides) == {(0, 0), (1, 0)}


@pytest.mark.parametrize("seed", range(10))
def test_mirror_pairs_are_the_pairs_whose_mirror_images_were_tried(seed):
    rng = random.Random(seed)
    vocabulary = Vocabulary(
        [Predicate("lit", ("lamp",)), Predicate("dark")], dict.fromkeys("abc", "lamp")
    )
    intents = [Intent.parse(text) for text in ("lit(a)", "lit(b)", "lit(c)", "dark")]
    graph = StateGraph(vocabulary, intents)
    pairs = [(s, c) for s in range(16) for c in range(4) if rng.random() < 0.7]
    graph.update(Counter({Transition(s, c, s): 1 for s, c in pairs}))
    context = FindingContext(graph)
    tried = {(c, s) for s, c in pairs if not context.holds(c, s)}
    for swap in swaps(context):
        image = {c: graph.index[swap.intent(intent)] for c, intent in enumerate(intents)}
        expected = {
            frozenset([(c, s), (image[c], swap.state(s))])
            for c, s in tried
            if (image[c], swap.state(s)) in tried
        }
        found = [frozenset(pair.sides) for pair in mirror_pairs(context, swap)]
        assert len(found) == len(set(found))
        assert set(found) == expected


def moving(places, moves):
    """Learn of something that was at each place and went from some to others."""
    vocabulary = Vocabulary([Predicate("at", ("place",))], dict.fromkeys(places, "place"))
    graph = StateGraph(vocabulary, [Intent.parse(f"at({p})") for p in places])
    states = {p: vocabulary.state([f"at({p})"]) for p in places}
    graph.update(Counter({Transition(states[a], places.index(b), states[b]): 5 for a, b in moves}))
    return FindingContext(graph)


def test_floors_between_which_only_neighbors_are_reached_have_a_structure():
    floors = "abcde"
    neighbors = [(a, b) for a in floors for b in floors if abs(ord(a) - ord(b)) == 1]
    assert structured_types(moving(floors, neighbors)) == {"place"}
    assert list(swaps(moving(floors, neighbors))) == []
    every = [(a, b) for a in floors for b in floors if a != b]
    assert structured_types(moving(floors, every)) == set()
    assert len(list(swaps(moving(floors, every)))) == 10


def test_only_a_bounded_number_of_swaps_is_tried():
    vocabulary = Vocabulary([Predicate("lit", ("lamp",))], {f"lamp{i}": "lamp" for i in range(130)})
    graph = StateGraph(vocabulary, [Intent.parse(f"lit(lamp{i})") for i in range(130)])
    graph.update(Counter({Transition(0, i, 1 << i): 1 for i in range(130)}))
    assert len(list(swaps(FindingContext(graph)))) == MOST_SWAPS


@pytest.mark.parametrize(("marked", "compared"), [((), {"stage", "pile"}), (("stage",), {"pile"})])
def test_objects_of_types_that_are_marked_as_distinct_are_not_compared(marked, compared):
    objects = {"s1": "stage", "s2": "stage", "p1": "pile", "p2": "pile"}
    vocabulary = Vocabulary(
        [Predicate("in", ("stage",)), Predicate("at", ("pile",))],
        objects,
        {"pile": "place"},
        distinct_types=marked,
    )
    graph = StateGraph(vocabulary, [Intent.parse("in(s1)"), Intent.parse("at(p1)")])
    graph.update(Counter({Transition(0, capability, 0): 10 for capability in (0, 1)}))
    assert {objects[swap.one] for swap in swaps(FindingContext(graph))} == compared


def test_a_mark_on_a_type_does_not_include_its_subtypes():
    vocabulary = Vocabulary(
        [Predicate("at", ("place",))],
        {"pot": "place", "table": "place", "p1": "pile", "p2": "pile"},
        {"pile": "place"},
        distinct_types=["place"],
    )
    graph = StateGraph(vocabulary, [Intent.parse("at(pot)"), Intent.parse("at(p1)")])
    graph.update(Counter({Transition(0, capability, 0): 10 for capability in (0, 1)}))
    assert [(swap.one, swap.other) for swap in swaps(FindingContext(graph))] == [("p1", "p2")]


def test_objects_of_several_types_are_not_compared_if_one_of_these_is_marked_as_distinct():
    def compared(marked):
        types = ("place", "tool")
        vocabulary = Vocabulary(
            [Predicate("at", ("place",)), Predicate("has", ("tool",))],
            {"bench": types, "oven": types},
            distinct_types=marked,
        )
        graph = StateGraph(vocabulary, [Intent.parse("at(bench)")])
        graph.update(Counter({Transition(0, 0, 0): 10}))
        return [(swap.one, swap.other) for swap in swaps(FindingContext(graph))]

    assert compared([]) == [("bench", "oven")]
    assert compared(["place"]) == []
