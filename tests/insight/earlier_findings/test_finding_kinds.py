import math
import random
from collections import Counter
from dataclasses import replace

import pytest

from capscope.errors import CapscopeError
from capscope.insight.drift import Drift
from capscope.insight.earlier_findings import (
    FINDING_KINDS,
    FindingKind,
    approximate_labels,
    find_findings,
)
from capscope.journal.execution_table import Transition
from capscope.logic import Atom, Intent, Predicate, Vocabulary
from capscope.model import StateGraph
from capscope.stats.error_budget import ERROR_RATE
from support.tiny_models import random_models

ROOM = Vocabulary(
    [Predicate("lit", ("lamp",)), Predicate("dark"), Predicate("noise")],
    {"a": "lamp", "b": "lamp"},
)
A, B, DARK, NOISE = (ROOM.bit[Atom.parse(x)] for x in ("lit(a)", "lit(b)", "dark()", "noise()"))
INTENTS = [
    Intent.parse(x) for x in ("lit(a)", "lit(b)", "not dark", "noise", "not lit(a)", "not lit(b)")
]


def execute(state, capability, rng):
    """Act without any quirk: success does not depend on the state, nor on the lamp."""
    if rng.random() < 0.2:
        return state
    if capability < 2:
        after = (state | (A, B)[capability]) & ~DARK
        # As often as a side effect may come about without being reported.
        return after | NOISE if rng.random() < 0.02 else after
    if capability == 2:
        return (state | rng.choice((A, B, NOISE))) & ~DARK if state & DARK else state
    if capability == 3:
        return (state | NOISE) & ~DARK
    # That it gets dark when the last lamp goes out would be a side effect.
    return state & ~(A, B)[capability - 4]


def alarms_of(rng, kinds, looks=5, draws=120):
    """Draw where answers were worst so far, and look again and again; stop at the first alarm."""
    graph, tried = StateGraph(ROOM, INTENTS), {}
    states = [DARK, A, B, A | B]
    for _ in range(looks):
        seen = {}
        for _ in range(draws):
            if rng.random() < 0.5 or not tried:
                state, capability = rng.choice(states), rng.randrange(len(INTENTS))
            else:
                state, capability = min(tried, key=lambda p: (tried[p][0] + 1) / (tried[p][1] + 2))
            after = execute(state, capability, rng)
            hits, number = tried.get((state, capability), (0, 0))
            tried[state, capability] = hits + INTENTS[capability].holds(after, ROOM), number + 1
            transition = Transition(state, capability, after)
            seen[transition] = seen.get(transition, 0) + 1
        graph.update(seen)
        if found := find_findings(graph, kinds=kinds):
            return found
    return []


def watched(kinds, shares):
    """Let the kinds look as they do, and remember their shares."""

    def watch(kind):
        def find(context, share, earlier):
            shares.append(share)
            return kind.find(context, share, earlier)

        return replace(kind, find=find)

    return [watch(kind) for kind in kinds]


def test_an_agent_without_quirks_raises_an_alarm_as_rarely_as_promised_whenever_one_looks():
    rng, shares, runs = random.Random(4), [], 40
    kinds = watched(list(FINDING_KINDS.all.values()), shares)
    alarms = sum(bool(alarms_of(rng, kinds)) for _ in range(runs))
    assert alarms <= ERROR_RATE * runs
    # Each kind spent its share, and these had more than one question.
    assert all(share.spent == pytest.approx(1) for share in shares)
    empty = dict(
        zip(FINDING_KINDS.all, thresholds_with(kinds, StateGraph(ROOM, INTENTS)), strict=True)
    )
    asked = {share.name for share in shares if sum(share.thresholds) > sum(empty[share.name])}
    assert asked >= {"side effect", "drop"}


def dummy(name="dummy", find=lambda context, share, earlier: []):
    return FindingKind(name, "things that never happen", find)


def thresholds_with(kinds, graph):
    shares = []
    find_findings(graph, kinds=watched(kinds, shares))
    return [share.thresholds for share in shares]


def test_the_thresholds_of_each_built_in_kind_spend_its_share_and_no_more():
    """A threshold t for n questions may be reached by chance with n / exp(t) at most."""
    shares = []
    find_findings(
        StateGraph(ROOM, INTENTS), kinds=watched(list(FINDING_KINDS.all.values()), shares)
    )
    assert [share.name for share in shares] == list(FINDING_KINDS.all)
    for share in shares:
        # An empty graph asks nothing: each threshold is that of one question, or of two.
        spent = sum(math.exp(-threshold) for threshold in share.thresholds)
        assert spent <= ERROR_RATE / len(shares) + 1e-12


def test_a_kind_that_overspends_its_share_is_an_error():
    def greedy(context, share, earlier):
        return [share.threshold(1), share.threshold(1)]

    with pytest.raises(CapscopeError, match="'greedy' asks for 1 of its share"):
        find_findings(StateGraph(ROOM, INTENTS), kinds=[dummy("greedy", greedy)])


def install(monkeypatch, kind):
    monkeypatch.setitem(FINDING_KINDS.all, kind.name, kind)


def test_a_kind_of_another_package_is_found_last(monkeypatch):
    install(monkeypatch, dummy())
    assert list(FINDING_KINDS.all) == [
        "collateral change",
        "side effect",
        "failure",
        "drop",
        "breakdown",
        "change",
        "dummy",
    ]


def test_another_kind_makes_every_threshold_stricter(monkeypatch):
    graph = random_models(random.Random(1), share=0.8)
    own = thresholds_with(list(FINDING_KINDS.all.values()), graph)
    install(monkeypatch, dummy())
    *others, last = thresholds_with(list(FINDING_KINDS.all.values()), graph)
    assert len(own) == 6 and last == []
    for before, after in zip(own, others, strict=True):
        assert after == pytest.approx([x + math.log(7 / 6) for x in before])


def test_the_kinds_with_an_approximate_error_rate_are_listed():
    assert approximate_labels() == ["collateral change"]


def test_draws_of_two_times_are_not_compared_if_the_agent_changed():
    graph = StateGraph(ROOM, INTENTS)
    # With noise, lit(a) works in half of the draws.
    for state in (0, B, DARK, B | DARK):
        graph.update(Counter({Transition(state, 0, state | A): 50}))
        loud = state | NOISE
        graph.update(Counter({Transition(loud, 0, loud): 25, Transition(loud, 0, loud | A): 25}))
    drift = Drift(100, 50.0, None, 8, INTENTS[0], 0, Counter({A: 25}), Counter({A: 5, 0: 20}), ROOM)
    assert [finding.kind for finding in find_findings(graph)] == ["drop"]
    assert [finding.kind for finding in find_findings(graph, drift=drift)] == ["change"]
