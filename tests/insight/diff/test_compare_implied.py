from capscope.insight.diff import compare_data
from capscope.insight.diff.matching import match
from capscope.insight.diff.strata import Questions
from capscope.logic import ExactlyOne, Intent, Predicate, Vocabulary
from support.tiny_run_data import run_data, tried

ROOMS = Vocabulary([Predicate("at", ("cell",)), Predicate("lit")], dict.fromkeys("abcd", "cell"))
A, B, C, D, LIT = (ROOMS.state([atom]) for atom in ROOMS.atoms)
LIGHT, LEAVE, COME = INTENTS = [Intent.parse(text) for text in ("lit", "not at(a)", "at(b)")]
KNOWN = [(0, place, place) for place in (A, B, C, D)]


def reported(mine, theirs):
    runs = [run_data([*KNOWN, *rows], ROOMS, INTENTS) for rows in (mine, theirs)]
    found = compare_data(*runs).differences
    return [(str(d.change), str(d.capability), [str(x) for x in d.literals]) for d in found]


def test_where_an_agent_goes_is_reported_and_not_that_it_left():
    stays, goes = tried(0, A, [A | LIT] * 40), tried(0, A, [B | LIT] * 40)
    assert reported(stays, goes) == [("new side effect", "lit()", ["at(b)"])]
    assert reported(goes, stays) == [("side effect gone", "lit()", ["at(b)"])]


def test_that_an_agent_leaves_is_reported_if_no_place_it_goes_to_is():
    # Twelve comparisons show that it leaves; six for each of two places show nothing.
    mine, theirs = tried(0, A, [A | LIT] * 12), tried(0, A, [B | LIT, C | LIT] * 6)
    assert reported(mine, theirs) == [("new side effect", "lit()", ["not at(a)"])]


def test_leaving_is_reported_in_addition_to_a_place_reached_only_from_elsewhere():
    mine = [*tried(0, A, [A | LIT] * 14), *tried(0, D, [D | LIT] * 40)]
    theirs = [*tried(0, A, [C | LIT, D | LIT] * 7), *tried(0, D, [B | LIT] * 40)]
    assert sorted(reported(mine, theirs)) == [
        ("new side effect", "lit()", ["at(b)"]),
        ("new side effect", "lit()", ["not at(a)"]),
    ]


def test_to_be_elsewhere_is_asked_for_where_an_agent_is_asked_for_a_place():
    matched = match(*[run_data([*KNOWN, *tried(2, A, [B, C])], ROOMS, INTENTS)] * 2)
    groups = ExactlyOne.seen_in(matched.states, ROOMS)
    assert [str(x) for x in Questions(matched, 2).literals_changed(groups)] == ["at(c)"]


def test_where_an_agent_goes_that_is_asked_to_leave_may_differ():
    one, other = tried(1, A, [B] * 40), tried(1, A, [C] * 40)
    assert reported(one, other) == [
        ("new side effect", "not at(a)", ["at(c)"]),
        ("side effect gone", "not at(a)", ["at(b)"]),
    ]
