import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from capscope.analysis.findings.asymmetry import Tally, asymmetries, evidence_of_asymmetry
from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.mirror import Swap
from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.symbolic import Intent, Predicate, Vocabulary

WORDS = Vocabulary(
    [Predicate("lit", ("lamp",)), Predicate("far", ("lamp",)), Predicate("next", ("lamp", "lamp"))],
    {"a": "lamp", "b": "lamp", "c": "lamp"},
)
SWAP = Swap.of("a", "b", WORDS)


@given(st.integers(0, WORDS.mask))
def test_a_swap_undoes_itself_and_exchanges_the_atoms(state):
    image = SWAP.state(state)
    assert SWAP.state(image) == state
    assert set(WORDS.holding(image)) == {SWAP.atom(atom) for atom in WORDS.holding(state)}


def test_a_swap_exchanges_the_objects_of_an_intent():
    assert str(SWAP.intent(Intent.parse("next(a,c) and lit(b)"))) == "lit(a) and next(b,c)"


def test_the_evidence_is_that_of_the_noncentral_hypergeometric():
    tallies = [Tally(9, 10, 3, 12), Tally(5, 5, 1, 4), Tally(2, 2, 0, 0)]

    def log_pmf(tally, odds):
        total = tally.hits + tally.mirrored_hits
        draws = tally.draws + tally.mirrored_draws
        return stats.nchypergeom_fisher(draws, total, tally.draws, odds).logpmf(tally.hits)

    ratios = [
        math.exp(sum(log_pmf(t, math.exp(x / 2)) - log_pmf(t, 1.0) for t in tallies[:2]))
        for x in range(-10, 11)
        if x
    ]
    assert evidence_of_asymmetry(tallies) == pytest.approx(math.log(sum(ratios) / len(ratios)))


def test_couples_that_differ_from_each_other_are_no_asymmetry():
    """Easy states drawn often on one side, hard ones on the other: each couple is even."""
    assert evidence_of_asymmetry([Tally(90, 100, 9, 10), Tally(1, 10, 10, 100)]) < 0


def lamps(*counts):
    """Learn from (state, intent, successes, failures); a success changes the intent alone."""
    intents = [Intent.parse(text) for text in ("lit(a)", "lit(b)", "lit(c)")]
    graph = StateGraph(WORDS, intents)
    for state, number, hits, misses in counts:
        after = intents[number].achieved_from(state, WORDS)
        numbers = {Transition(state, number, after): hits, Transition(state, number, state): misses}
        graph.update({t: n for t, n in numbers.items() if n})
    return FindingContext(graph)


def test_a_lamp_that_is_lit_less_often_is_reported_once_for_each_other_lamp():
    findings = asymmetries(lamps((0, 0, 30, 30), (0, 1, 60, 0), (0, 2, 60, 0)), frozenset())
    assert sorted(f.sentence[:42] for f in findings) == [
        "The agent does not treat a like b: asked f",
        "The agent does not treat a like c: asked f",
    ]
    assert all((f.rate.hits, f.rate.draws) == (30, 60) for f in findings)
    assert all((f.against.hits, f.against.draws) == (60, 60) for f in findings)


def test_lamps_that_are_lit_alike_are_not_reported():
    assert asymmetries(lamps((0, 0, 50, 10), (0, 1, 48, 12), (0, 2, 51, 9)), frozenset()) == []


def test_what_another_finding_speaks_of_is_not_told_again():
    context = lamps((0, 0, 30, 30), (0, 1, 60, 0))
    assert len(asymmetries(context, frozenset())) == 1
    assert asymmetries(context, frozenset({(0, 0)})) == []


def test_a_fact_that_tells_the_lamps_apart_leaves_nothing_to_compare():
    far = WORDS.bit[next(x for x in WORDS.atoms if str(x) == "far(a)")]
    assert asymmetries(lamps((far, 0, 30, 30), (far, 1, 60, 0)), frozenset()) == []
