"""Changes of objects that the request did not mention."""

import random
from collections import Counter

import pytest

from capscope.insight.earlier_findings import find_findings
from capscope.logic import Intent, Predicate, Vocabulary
from capscope.model import StateGraph

NAMES = ("ann", "bob", "cat", "dan")
VOCABULARY = Vocabulary(
    [Predicate("kept", ("mail",)), Predicate("gone", ("mail",)), Predicate("star", ("mail",))],
    dict.fromkeys(NAMES, "mail"),
)
STARRED = VOCABULARY.state(["star(ann)", "star(bob)"])


def drawn(rate, draws=60, seed=0):
    """Ask to keep each mail equally often; `rate(name)` is how often another one goes."""
    rng = random.Random(seed)
    graph = StateGraph(VOCABULARY, [Intent.parse(f"kept({name})") for name in NAMES])
    for number in range(draws * len(NAMES)):
        capability = number % len(NAMES)
        name = NAMES[capability]
        atoms = [f"kept({name})"]
        if rng.random() < rate(name):
            atoms.append(f"gone({rng.choice([n for n in NAMES if n != name])})")
        after = STARRED | VOCABULARY.state(atoms)
        graph.update(Counter({(STARRED, capability, after): 1}))
    return graph


def collateral(graph):
    return [f for f in find_findings(graph) if f.kind == "collateral change"]


def test_any_victim_counts_and_the_condition_is_about_the_object_of_the_request():
    (found,) = collateral(drawn(lambda name: 0.25 if name in ("ann", "bob") else 0.0))
    assert [str(clause) for clause in found.when] == ["when star(x)"]
    assert sorted(map(str, found.intents)) == ["kept(ann)", "kept(bob)"]
    assert found.rate.executions == 120 and found.against.hits == 0
    assert "Asked for kept(x) when star(x) (for x = ann or bob)" in found.sentence


def test_no_other_kind_reports_it_again():
    graph = drawn(lambda name: 0.25 if name in ("ann", "bob") else 0.0)
    about = [f for f in find_findings(graph) if any(x.atom.predicate == "gone" for x in f.literals)]
    assert [f.kind for f in about] == ["collateral change"]


def test_without_a_condition_all_requests_are_named():
    (found,) = collateral(drawn(lambda name: 0.2))
    assert found.when == () and len(found.intents) == 4


def test_one_object_alone_shows_no_condition_of_several():
    for seed in range(3):
        for found in collateral(drawn(lambda name: 0.3 * (name == "ann"), seed=seed)):
            assert found.when == ()


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_what_never_or_always_happens_is_no_collateral_change(rate):
    assert collateral(drawn(lambda name: rate)) == []


def test_a_rate_below_the_least_is_rarely_reported():
    assert sum(bool(collateral(drawn(lambda name: 0.02, seed=s))) for s in range(20)) == 0
