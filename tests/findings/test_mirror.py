from collections import Counter

import pytest

from capscope.data.dataset import Transition
from capscope.findings.graph import Graph
from capscope.findings.mirror import couples, swaps
from capscope.model import Models
from capscope.symbolic import Intent, Predicate, Vocabulary


@pytest.mark.parametrize("objects", ["abxy", "baxy"])
def test_a_pair_is_compared_with_its_mirror_image_once_however_the_intent_is_written(objects):
    kinds = {o: "box" if o in "ab" else "place" for o in objects}
    words = Vocabulary([Predicate("at", ("box", "place"))], kinds)
    # Exchanging a and b turns these two into each other, and both name a first.
    intents = [Intent.parse("at(a,x) & at(b,y)"), Intent.parse("at(a,y) & at(b,x)")]
    models = Models(words, intents)
    models.update(Counter({Transition(0, capability, 0): 10 for capability in (0, 1)}))
    graph = Graph(models)
    (swap,) = (s for s in swaps(words) if {s.one, s.other} == {"a", "b"})
    (couple,) = couples(graph, swap, frozenset())
    assert set(couple.sides) == {(0, 0), (1, 0)}
