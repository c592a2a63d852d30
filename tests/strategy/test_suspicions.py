"""Which pairs are drawn again because they sometimes change other objects."""

from collections import Counter

import pytest

from capscope.logic import ExpectedEffects, Intent, Predicate, Vocabulary
from capscope.model import StateGraph
from capscope.strategy.suspicions import Suspicions

NAMES = ("ann", "bob", "cat", "dan")
VOCABULARY = Vocabulary(
    [Predicate("kept", ("mail",)), Predicate("gone", ("mail",)), Predicate("star", ("mail",))],
    dict.fromkeys(NAMES, "mail"),
)
STARRED = VOCABULARY.state(["star(ann)", "star(bob)"])


class Watched:
    def __init__(self, expected=()):
        intents = [Intent.parse(f"kept({name})") for name in NAMES]
        self.graph = StateGraph(VOCABULARY, intents)
        self.graph.expected = ExpectedEffects(expected, VOCABULARY)
        self.suspicions = Suspicions(self.graph)

    def draw(self, name, *atoms, start=STARRED):
        """Execute `kept(name)` with the given changes; return the pairs to draw next."""
        capability = NAMES.index(name)
        after = start | VOCABULARY.state([f"kept({name})", *atoms])
        self.graph.update(Counter({(start, capability, after): 1}))
        return self.suspicions.observe([(start, capability)])


def names(pairs):
    return Counter(NAMES[capability] for _, capability in pairs)


def test_a_change_that_always_comes_with_the_request_is_no_suspicion():
    watched = Watched()
    for name in ("ann", "bob", "ann", "bob"):
        assert watched.draw(name, "gone(cat)") == []


def test_a_change_that_like_objects_were_spared_is_probed_and_then_drawn_in_rounds():
    watched = Watched()
    assert watched.draw("bob") == []
    probes = watched.draw("ann", "gone(cat)")
    assert names(probes) == {"ann": 3}
    assert watched.draw("ann", "gone(dan)") == []
    first = watched.draw("ann")
    # Itself, the other starred one, and those without a star in turn.
    assert names(first) == {"ann": 6, "bob": 6, "cat": 5, "dan": 5}
    rounds = 1
    queue = [*probes[2:], *first]
    while queue:
        _, capability = queue.pop()
        more = watched.draw(NAMES[capability])
        rounds += bool(more)
        queue += more
    assert rounds == 5, "a suspicion is not followed forever"


def test_a_pair_that_always_does_it_is_only_probed():
    watched = Watched()
    watched.draw("bob")
    assert names(watched.draw("ann", "gone(cat)")) == {"ann": 3}
    for _ in range(5):
        assert watched.draw("ann", "gone(cat)") == []


def test_an_earlier_pair_is_looked_at_again_when_the_change_is_avoided():
    watched = Watched()
    assert watched.draw("ann", "gone(cat)") == []
    assert names(watched.draw("bob")) == {"ann": 3}


@pytest.mark.parametrize("expected", ["kept(*): gone(*)", "kept(ann): gone(cat)"])
def test_what_is_expected_is_no_suspicion(expected):
    watched = Watched([expected])
    watched.draw("bob")
    assert watched.draw("ann", "gone(cat)") == []
    assert watched.draw("ann") == []


def test_a_failure_is_no_suspicion():
    watched = Watched()
    watched.draw("bob")
    after = STARRED | VOCABULARY.state(["gone(cat)"])
    watched.graph.update(Counter({(STARRED, 0, after): 1}))
    assert watched.suspicions.observe([(STARRED, 0)]) == []


def suspected(watched, start):
    """Let a request do both; return the round that follows."""
    watched.draw("ann", start=start)
    return watched.draw("ann", "gone(bob)", start=start)


def test_a_request_that_cannot_succeed_is_no_contrast():
    watched = Watched()
    start = STARRED | VOCABULARY.state(["gone(cat)", "gone(dan)", "kept(bob)"])
    for name in ("cat", "dan"):  # fails: nothing changes
        capability = NAMES.index(name)
        watched.graph.update(Counter({(start, capability, start): 1}))
        watched.suspicions.observe([(start, capability)])
    assert names(suspected(watched, start)) == {"ann": 6}


def test_without_a_contrast_in_this_state_those_met_elsewhere_are_drawn():
    watched = Watched()
    watched.draw("dan")  # without a star, in another state
    start = STARRED | VOCABULARY.state(["gone(cat)", "gone(dan)", "kept(bob)"])
    drawn = suspected(watched, start)
    assert (STARRED, NAMES.index("dan")) in drawn and names(drawn)["dan"] == 10
