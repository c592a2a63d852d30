import json

import pytest

from capscope import Settings, assess
from capscope.analysis.aliasing import AliasedPair, Aliasing, Position
from capscope.present.aliasing import aliasing_notes
from capscope.symbolic import Intent
from support.tiny_models import WORDS
from support.toy_worlds import Board, BoardLaidOutAnew, board_problem

SETTINGS = Settings(resets=5, intents=("lit(a)", "not lit(b)"))
DEPENDS = "what happens depends on the position, and so on something that the words leave out"


def told(one, other, state=0, constant=0):
    contrast = Position(one), Position(other)
    dependence = AliasedPair(Intent.parse("p"), state, 5, 12.5, contrast, WORDS)
    (note,) = aliasing_notes(Aliasing(20, (dependence,) * 3), constant)
    return note


def test_the_note_has_the_numbers_and_the_clearest_example():
    assert told({4: 40}, {5: 35}, state=4) == (
        "in 3 of 20 pairs drawn from several positions of the simulator, what happens depends on "
        "the position, and so on something that the words leave out: asked for p() when r(), all "
        "40 draws from one position ended with nothing changed, and all 35 from another with p(); "
        "odds there are mixtures over positions, and a further predicate would tell them apart"
    )


def test_shares_are_told_as_they_are_and_one_outcome_is_named_once():
    assert (
        "asked for p() when no atom holds, 38 of the 40 draws from one position ended with p() and "
        "q(), against 20 of the 35 from another;" in told({3: 38, 0: 2}, {3: 20, 0: 15})
    )


def test_atoms_that_always_hold_are_named_only_where_no_other_does():
    assert "when q()," in told({0: 9}, {1: 9}, state=3, constant=1)
    assert "when p()," in told({0: 9}, {1: 9}, state=1, constant=1)


def test_nothing_is_said_where_nothing_was_found():
    assert list(aliasing_notes(Aliasing(7))) == []


@pytest.mark.parametrize("strategy", ["adaptive", "random"])
def test_a_wiring_that_no_atom_speaks_of_is_told_wherever_a_run_is(strategy, capscope, tmp_path):
    run = tmp_path / "run"
    result = assess(
        board_problem(BoardLaidOutAnew()), strategy=strategy, settings=SETTINGS, run=run
    )
    assert DEPENDS in result._repr_html_()
    assert DEPENDS in (run / "report.html").read_text(encoding="utf-8")
    assert DEPENDS in capscope("show", run).out
    assert DEPENDS in capscope("show", run, "--surprises").out
    shown = json.loads(capscope("show", run, "--surprises", "--json").out)["left_out"]
    assert shown == result.aliasing.as_dict()
    assert len(shown["dependences"]) > 0


def test_chance_alone_is_nothing_that_was_left_out():
    result = assess(board_problem(Board(slip=0.3)), settings=SETTINGS)
    assert result.aliasing == Aliasing()
