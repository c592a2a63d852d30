from collections import Counter

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.side_effects import NOTHING, avoidable, find_side_effects
from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.symbolic import Effect, Intent, Predicate, Vocabulary
from support.error_shares import share
from support.tiny_models import learned

P, Q, R = 1, 2, 4
GET_P, GET_Q, END_R = range(3)


def seen(*transitions):
    return FindingContext(learned(Counter({Transition(*t[:3]): (*t, 10)[3] for t in transitions})))


def test_what_every_way_to_the_intent_changes_was_not_avoidable():
    context = seen((R, GET_P, P), (R, END_R, 0))
    assert avoidable(context, GET_P, R, P) == NOTHING


def test_what_another_outcome_of_the_same_pair_spared_was_avoidable():
    context = seen((0, GET_P, P | Q), (0, GET_P, P))
    assert avoidable(context, GET_P, 0, P | Q) == Effect(adds=Q, deletes=0)
    assert avoidable(context, GET_P, 0, P) == NOTHING


def test_what_another_capability_spared_was_avoidable():
    context = seen((0, GET_P, P | Q), (0, END_R, P))
    assert avoidable(context, GET_P, 0, P | Q) == Effect(adds=Q, deletes=0)


def test_what_a_sequence_spared_was_avoidable_unless_it_was_undone_on_the_way():
    spared = seen((R, GET_P, P | Q), (R, END_R, 0), (0, GET_P, P))
    assert avoidable(spared, GET_P, R, P | Q) == Effect(adds=Q, deletes=0)
    undone = seen((R, GET_P, P | Q), (P | Q, END_R, P))
    assert avoidable(undone, GET_P, R, P | Q) == NOTHING


def test_a_step_towards_the_intent_is_no_side_effect():
    context = seen((0, GET_P, Q), (Q, GET_P, P | Q), *((0, c, 0) for c in (GET_Q, END_R)))
    assert avoidable(context, GET_P, 0, Q) == NOTHING


def test_a_change_that_leads_no_nearer_is_avoidable_as_a_whole():
    stuck = [(Q, c, Q) for c in range(3)]
    context = seen((0, GET_P, Q), (0, GET_P, P), *stuck)
    assert avoidable(context, GET_P, 0, Q) == Effect(adds=Q, deletes=0)


def test_where_nothing_was_tried_nothing_is_said():
    context = seen((0, GET_P, Q, 50), (0, GET_Q, Q, 50))
    assert find_side_effects(context, share()) == []


def test_few_draws_are_not_enough():
    few = seen((0, GET_P, P | Q, 1), (0, END_R, P, 1))
    many = seen((0, GET_P, P | Q, 30), (0, END_R, P, 1))
    assert find_side_effects(few, share()) == []
    (finding,) = [f for f in find_side_effects(many, share()) if str(f.intent) == "p()"]
    assert [str(literal) for literal in finding.literals] == ["q()"]
    assert (finding.rate.hits, finding.rate.draws, finding.rate.states) == (30, 30, 1)


def test_the_rate_counts_the_draws_that_did_not_show_it():
    context = seen((0, GET_P, P | Q, 30), (0, GET_P, P, 70), (R, GET_P, R | P, 100))
    (finding,) = find_side_effects(context, share())
    assert (finding.rate.hits, finding.rate.draws) == (30, 100)
    assert (finding.against.hits, finding.against.draws) == (0, 100)
    assert [str(clause) for clause in finding.when] == ["when not r()"]


def test_each_draw_counts_once_however_many_similar_changes_are_merged():
    vocabulary = Vocabulary([Predicate("at", ("cell",))], dict.fromkeys("abcd", "cell"))
    start, goal, *holes = (vocabulary.state([atom]) for atom in vocabulary.atoms)
    ends = [goal] * 20 + [holes[0]] * 40 + [holes[1]] * 40
    graph = StateGraph(vocabulary, [Intent.parse("at(b)")])
    graph.update(Counter(Transition(start, 0, end) for end in ends))
    graph.update(Counter({Transition(hole, 0, hole): 10 for hole in holes}))
    (finding,) = find_side_effects(FindingContext(graph), share())
    assert "(or similar)" in finding.sentence
    assert finding.rate.hits == sum(end in holes for end in ends)
    assert (finding.rate.draws, finding.rate.states) == (len(ends), 1)


def test_leaving_the_old_place_is_not_reported_in_addition_to_the_new_one():
    vocabulary = Vocabulary(
        [Predicate("at", ("cell",)), Predicate("lit")], dict.fromkeys("abc", "cell")
    )
    a, b, c, lit = (vocabulary.state([atom]) for atom in vocabulary.atoms)
    graph = StateGraph(vocabulary, [Intent.parse("lit")])
    # From wherever it is, the agent goes to c before it puts the light on.
    moves = {(a, c | lit): 30, (b, c | lit): 30, (a, a | lit): 5, (b, b | lit): 5}
    graph.update(Counter({Transition(s, 0, t): n for (s, t), n in moves.items()}))
    (finding,) = find_side_effects(FindingContext(graph), share())
    assert [str(literal) for literal in finding.literals] == ["at(c)"]
    assert "also causes at(c), which was not needed" in finding.sentence
    # One event, whichever place it came from.
    assert (finding.rate.hits, finding.rate.draws, finding.rate.states) == (60, 70, 2)
    assert "not at(" in str(finding.as_dict()["examples"])
