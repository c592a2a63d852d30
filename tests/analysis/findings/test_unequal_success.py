import random
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.object_swap import ObjectSwap
from capscope.analysis.findings.unequal_treatment import find_unequal_success
from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.symbolic import Intent, Predicate, Vocabulary
from support.error_shares import share
from support.intents import achieved_from

WORDS = Vocabulary(
    [Predicate("lit", ("lamp",)), Predicate("far", ("lamp",)), Predicate("next", ("lamp", "lamp"))],
    {"a": "lamp", "b": "lamp", "c": "lamp"},
)
SWAP = ObjectSwap.of("a", "b", WORDS)


@given(st.integers(0, WORDS.mask))
def test_a_swap_undoes_itself_and_exchanges_the_atoms(state):
    image = SWAP.state(state)
    assert SWAP.state(image) == state
    assert set(WORDS.holding(image)) == {SWAP.atom(atom) for atom in WORDS.holding(state)}


def test_a_swap_exchanges_the_objects_of_an_intent():
    assert str(SWAP.intent(Intent.parse("next(a,c) and lit(b)"))) == "lit(a) and next(b,c)"


def lamps(*counts):
    """Learn from (state, intent, successes, failures); a success changes the intent alone."""
    intents = [Intent.parse(text) for text in ("lit(a)", "lit(b)", "lit(c)")]
    graph = StateGraph(WORDS, intents)
    for state, number, hits, misses in counts:
        after = achieved_from(intents[number], state, WORDS)
        numbers = {Transition(state, number, after): hits, Transition(state, number, state): misses}
        graph.update({t: n for t, n in numbers.items() if n})
    return FindingContext(graph)


def test_a_lamp_that_is_lit_less_often_is_reported_once_for_each_other_lamp():
    findings = find_unequal_success(lamps((0, 0, 30, 30), (0, 1, 60, 0), (0, 2, 60, 0)), share())
    assert sorted(f.sentence[:42] for f in findings) == [
        "The agent treats a and b differently: aske",
        "The agent treats a and c differently: aske",
    ]
    assert all((f.rate.hits, f.rate.draws) == (30, 60) for f in findings)
    assert all((f.against.hits, f.against.draws) == (60, 60) for f in findings)


def test_lamps_that_are_lit_equally_often_are_not_reported():
    assert find_unequal_success(lamps((0, 0, 50, 10), (0, 1, 48, 12), (0, 2, 51, 9)), share()) == []


def test_pairs_of_another_finding_are_not_reported_again():
    context = lamps((0, 0, 30, 30), (0, 1, 60, 0))
    assert len(find_unequal_success(context, share())) == 1
    earlier = SimpleNamespace(pairs=frozenset({(0, 0)}))
    assert find_unequal_success(context, share(), [earlier]) == []


def test_a_fact_that_distinguishes_the_lamps_leaves_nothing_to_compare():
    far = WORDS.bit[next(x for x in WORDS.atoms if str(x) == "far(a)")]
    assert find_unequal_success(lamps((far, 0, 30, 30), (far, 1, 60, 0)), share()) == []


WEATHER = Vocabulary(
    [Predicate("lit", ("lamp",)), *(Predicate(f"weather{i}") for i in range(6))],
    {"a": "lamp", "b": "lamp", "c": "lamp"},
)


def lit_in_all_weathers(rng, chances, again_after=(False, False, False), most=2):
    """Learn from one draw of each lamp in each weather, and more after a miss or a hit."""
    intents = [Intent.parse(f"lit({lamp})") for lamp in "abc"]
    graph, seen = StateGraph(WEATHER, intents), Counter()
    lit = sum(WEATHER.bit[atom] for atom in WEATHER.atoms if atom.predicate == "lit")
    for state in (s for s in range(WEATHER.mask + 1) if not s & lit):
        for lamp, intent in enumerate(intents):
            on = achieved_from(intent, state, WEATHER)
            for _ in range(most):
                hit = rng.random() < chances[lamp]
                seen[Transition(state, lamp, on if hit else state)] += 1
                if hit != again_after[lamp]:
                    break
    graph.update(seen)
    return FindingContext(graph)


@pytest.mark.parametrize("usual", [1.0, 0.9])
def test_a_lamp_that_is_seldom_lit_is_judged_also_in_the_states_in_which_it_never_was(usual):
    found = 0
    for seed in range(6):
        context = lit_in_all_weathers(random.Random(seed), (0.3, usual, usual))
        findings = find_unequal_success(context, share())
        found += bool(findings)
        for finding in findings:
            assert str(finding.intents[0]) == "lit(a)"
            assert finding.rate.states == 64
            low, high = finding.rate.interval
            assert low <= 0.3 <= high
    assert found >= 5


@pytest.mark.parametrize("chance", [0.3, 0.6, 0.85])
@pytest.mark.parametrize("again_after", [(False,) * 3, (False, None, None), (True, None, None)])
def test_lamps_that_are_lit_equally_often_are_rarely_reported(chance, again_after):
    # Whether all lamps are tried until they are lit, or one until it is, or until it is not.
    alarms = 0
    for seed in range(20):
        context = lit_in_all_weathers(random.Random(seed), [chance] * 3, again_after, most=6)
        alarms += bool(find_unequal_success(context, share()))
    assert alarms <= 1
