from contextlib import closing

import pytest

from capscope import load
from capscope.assessment import RunSpec
from capscope.errors import CapscopeError, RunError, VocabularyError
from capscope.insight.planning import matching_states
from capscope.journal.execution_table import Transition
from capscope.journal.run_directory import RunDirectory
from capscope.logic import Condition
from support.tiny_models import learned
from support.toy_worlds import WORDS, board_problem

GRAPH = learned({Transition(0, 0, 1): 3, Transition(1, 1, 3): 9, Transition(3, 2, 3): 2})


def goal(text):
    return Condition.parse(text, WORDS)


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
def test_a_goal_holds_if_one_of_its_conjunctions_does(text, states):
    assert {state for state in range(8) if goal(text).holds(state, WORDS)} == states


def test_a_goal_survives_a_round_trip():
    text = "lit(a) and not lit(b) or lit(c)"
    assert str(goal(text)) == text
    assert goal("lit(c) or lit(c)") == goal("lit(c)")


def test_the_error_for_an_unknown_atom_suggests_others():
    with pytest.raises(VocabularyError, match=r"lite\(a\) is not in the .*, nearest: lit\(a\)"):
        goal("lit(b) and lite(a)")
    with pytest.raises(VocabularyError, match=r"for example lit\(a\), lit\(b\), lit\(c\)"):
        goal("quite-something-else")


@pytest.mark.parametrize("text", ["", "or", "lit(a) and", "(lit(a) or lit(b)) and lit(c)", "not"])
def test_an_invalid_goal_is_rejected(text):
    with pytest.raises(VocabularyError):
        goal(text)


def test_a_contradictory_goal_is_rejected():
    with pytest.raises(VocabularyError, match="names an atom twice"):
        goal("lit(a) and not lit(a)")


# Starts.


def test_a_description_matches_observed_states_most_visited_first():
    assert matching_states("p", GRAPH) == (1, 3)
    assert matching_states("not p or q", GRAPH) == (0, 3)


def test_a_number_matches_that_state():
    assert matching_states(" 0x3 ", GRAPH) == (3,)
    assert matching_states("0X1", GRAPH) == (1,)


def test_a_start_that_was_never_seen_is_rejected():
    with pytest.raises(CapscopeError, match=r"r\(\) holds in no state that was seen"):
        matching_states("r", GRAPH)
    with pytest.raises(CapscopeError, match="state 0x7 was never seen"):
        matching_states("0x7", GRAPH)


def test_a_run_without_queries_has_no_first_state(tmp_path):
    with closing(RunDirectory.create(tmp_path / "run", RunSpec(board_problem(), "board").meta())):
        pass
    run = load(tmp_path / "run")
    with pytest.raises(RunError, match="has asked nothing yet; continue it with"):
        _ = run.first_state
    with pytest.raises(RunError, match="has asked nothing yet"):
        run.plan("lit(a)")
