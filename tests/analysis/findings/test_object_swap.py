import random
from collections import Counter

import pytest

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.object_swap import mirror_pairs, swaps
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
    (swap,) = (s for s in swaps(vocabulary) if {s.one, s.other} == {"a", "b"})
    (pair,) = mirror_pairs(context, swap, frozenset())
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
    reported = frozenset((c, s) for s, c in rng.sample(pairs, 5))
    tried = {(c, s) for s, c in pairs if not context.holds(c, s)}
    for swap in swaps(vocabulary):
        image = {c: graph.index[swap.intent(intent)] for c, intent in enumerate(intents)}
        expected = {
            frozenset([(c, s), (image[c], swap.state(s))])
            for c, s in tried
            if (image[c], swap.state(s)) in tried
        }
        found = [frozenset(pair.sides) for pair in mirror_pairs(context, swap, reported)]
        assert len(found) == len(set(found))
        assert set(found) == {sides for sides in expected if not sides & reported}
