import random
from dataclasses import replace

import pytest

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.preferences import PREFERENCE
from capscope.analysis.findings.unequal_treatment import find_unequal_steps
from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.symbolic import Atom, Intent, Predicate, Vocabulary
from support.error_shares import share

WORDS = Vocabulary(
    [Predicate("moved", ("truck",)), Predicate("done")], {"a": "truck", "b": "truck"}
)
A, B, DONE = (WORDS.bit[Atom.parse(text)] for text in ("moved(a)", "moved(b)", "done()"))


def setting_out(with_a, with_b, last_step_of_b=True):
    """Learn of an agent that, asked for something far, moves one truck first or the other."""
    intents = [Intent.parse(text) for text in ("done()", "moved(a)", "moved(b)")]
    graph = StateGraph(WORDS, intents)
    seen = {
        Transition(0, 0, A): with_a,
        Transition(0, 0, B): with_b,
        Transition(A, 0, A | DONE): 9,
        Transition(B, 0, B | DONE): 9 * last_step_of_b,
        Transition(0, 1, A): 9,
        Transition(0, 2, B): 9,
    }
    graph.update({t: n for t, n in seen.items() if n})
    return FindingContext(graph)


def test_always_setting_out_with_the_same_truck_is_reported():
    (finding,) = find_unequal_steps(setting_out(40, 0), share())
    assert [str(literal) for literal in finding.literals] == ["moved(a)"]
    assert (finding.rate.hits, finding.rate.draws) == (40, 40)
    assert (finding.against.hits, finding.against.draws) == (0, 40)
    assert "treats a and b differently" in finding.sentence


@pytest.mark.parametrize(("with_a", "with_b"), [(20, 20), (24, 16), (3, 0)])
def test_setting_out_with_either_or_few_draws_is_not(with_a, with_b):
    assert find_unequal_steps(setting_out(with_a, with_b), share()) == []


def test_what_a_preference_reports_is_not_reported_again():
    context = setting_out(40, 0)
    (finding,) = find_unequal_steps(context, share())
    assert find_unequal_steps(context, share(), [finding]) == []
    both = Intent.parse("moved(a) and moved(b)").literals
    preference = replace(finding, kind=PREFERENCE.label, literals=both, pairs=frozenset())
    assert find_unequal_steps(context, share(), [preference]) == []


def test_a_truck_that_gets_there_sooner_is_taken_for_a_reason():
    context = setting_out(40, 0)
    context.graph.update({Transition(B, 0, B): 5, Transition(A, 0, A | DONE): 5})
    assert len(find_unequal_steps(FindingContext(context.graph), share())) == 1
    farther = setting_out(40, 0, last_step_of_b=False)
    assert find_unequal_steps(farther, share()) == []


def test_a_pair_that_is_its_own_mirror_image_and_so_are_its_outcomes_changes_nothing():
    context = setting_out(40, 0)
    (before,) = find_unequal_steps(context, share())
    both = A | B
    context.graph.update({Transition(both, 0, both | DONE): 50, Transition(both, 0, both): 50})
    (after,) = find_unequal_steps(FindingContext(context.graph), share())
    assert after == before


def test_an_agent_that_sets_out_with_either_truck_is_rarely_reported():
    rng = random.Random(2)
    alarms = 0
    for _ in range(100):
        graphs = rng.choices((0, 1), k=30)
        alarms += bool(find_unequal_steps(setting_out(sum(graphs), 30 - sum(graphs)), share()))
    assert alarms <= 3


def test_leaving_the_old_place_is_not_reported_in_addition_to_the_new_one():
    vocabulary = Vocabulary(
        [Predicate("at", ("room",)), Predicate("done")], dict.fromkeys("xab", "room")
    )
    x, a, b, done = (vocabulary.state([atom]) for atom in vocabulary.atoms)
    graph = StateGraph(vocabulary, [Intent.parse(text) for text in ("done", "at(a)", "at(b)")])
    seen = [(x, 0, a, 40), (x, 1, a, 9), (x, 2, b, 9), (a, 0, a | done, 9), (b, 0, b | done, 9)]
    graph.update({Transition(s, c, t): n for s, c, t, n in seen})
    (finding,) = find_unequal_steps(FindingContext(graph), share())
    assert [str(literal) for literal in finding.literals] == ["at(a)"]
    assert "it causes at(a) with probability" in finding.sentence
    assert "it causes at(b) with probability" in finding.sentence
