import pytest

from capscope.analysis.planning import Goal
from capscope.errors import VocabularyError
from support.toy_worlds import WORDS


def goal(text):
    return Goal.parse(text, WORDS)


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("lit(a)", {1, 3, 5, 7}),
        ("lit(a) and not lit(b)", {1, 5}),
        ("  not lit( a ) & not lit(b)&not lit(c) ", {0}),
        ("lit(a) and lit(b) or lit(c) and not lit(a)", {3, 7, 4, 6}),
        ("lit(a)|lit(b)", {1, 2, 3, 5, 6, 7}),
    ],
)
def test_a_goal_holds_where_one_of_its_conjunctions_does(text, states):
    assert {state for state in range(8) if goal(text).holds(state)} == states


def test_a_goal_is_written_as_it_is_read():
    text = "lit(a) and not lit(b) or lit(c)"
    assert str(goal(text)) == text
    assert goal("lit(c) or lit(c)") == goal("lit(c)")


def test_an_unknown_atom_comes_with_the_nearest_ones():
    with pytest.raises(VocabularyError, match=r"lite\(a\) is not in the .*, nearest: lit\(a\)"):
        goal("lit(b) and lite(a)")
    with pytest.raises(VocabularyError, match=r"for example lit\(a\), lit\(b\), lit\(c\)"):
        goal("quite-something-else")


@pytest.mark.parametrize("text", ["", "or", "lit(a) and", "(lit(a) or lit(b)) and lit(c)", "not"])
def test_what_is_no_goal_is_refused(text):
    with pytest.raises(VocabularyError):
        goal(text)


def test_a_goal_that_contradicts_itself_is_refused():
    with pytest.raises(VocabularyError, match="names an atom twice"):
        goal("lit(a) and not lit(a)")
