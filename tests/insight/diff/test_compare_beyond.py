"""What B changed beyond the requests and A never did."""

import random

import pytest

from capscope import Settings
from capscope.insight.diff import compare_data
from capscope.logic import Intent, Predicate, Vocabulary
from support.tiny_models import INTENTS
from support.tiny_run_data import run_data, tried

P, Q, R = 0b001, 0b010, 0b100


def new(a, b):
    found = compare_data(a, b).new_changes
    return [
        (one.change.request, one.change.change, one.change.executions, one.change.possible,
         one.possible_a, one.suspected)
        for one in found
    ]  # fmt: skip


def test_a_change_that_only_b_shows_is_suspected_though_no_state_was_tried_by_both():
    a, b = run_data(tried(0, R, [R | P] * 35)), run_data(tried(0, 0, [P | Q] * 12 + [P] * 28))
    assert new(a, b) == [("p()", "q()", 12, 40, 35, True)]
    assert not compare_data(a, b).differences
    assert new(b, a) == []


def test_what_is_shown_as_a_difference_is_not_only_suspected():
    a, b = run_data(tried(0, 0, [P] * 40)), run_data(tried(0, 0, [P | Q, P] * 20))
    (found,) = compare_data(a, b).new_side_effects
    assert [str(literal) for literal in found.literals] == ["q()"]
    assert new(a, b) == []


RARE = tried(0, 0, [P | Q] + [P] * 39)
UNDONE = tried(2, P | Q | R, [P])


def test_a_rare_change_that_nothing_undid_is_suspected():
    a, b = run_data(tried(0, R, [R | P] * 35)), run_data(RARE)
    assert new(a, b) == [("p()", "q()", 1, 40, 35, True)]


def test_a_rare_change_that_was_undone_is_listed_and_not_suspected():
    a, b = run_data(tried(0, R, [R | P] * 35)), run_data([*RARE, *UNDONE])
    assert new(a, b) == [("p()", "q()", 1, 40, 35, False)]
    assert compare_data(a, b).suspected_changes == ()


def test_a_change_that_a_made_once_is_not_new():
    a = run_data(tried(0, R, [R | P | Q] + [R | P] * 34))
    assert new(a, run_data(tried(0, 0, [P | Q] * 40))) == []


@pytest.mark.parametrize("never", [tried(1, 0, [Q] * 35), tried(0, Q, [P | Q] * 35), []])
def test_nothing_is_new_if_a_had_no_execution_in_which_it_could_happen(never):
    assert new(run_data(never), run_data(tried(0, 0, [P | Q] * 40))) == []


def test_requests_that_differ_only_in_their_objects_count_together():
    words = Vocabulary(
        [Predicate("archived", ("mail",)), Predicate("deleted", ("mail",))],
        dict.fromkeys(["ann", "bob", "cem"], "mail"),
    )
    archived, deleted = (
        [words.state([atom]) for atom in words.atoms if atom.predicate == name]
        for name in ("archived", "deleted")
    )
    intents = [Intent.parse(f"archived({name})") for name in ("ann", "bob", "cem")]
    clean = [row for i in range(3) for row in tried(i, 0, [archived[i]] * 12)]
    harm = [row for i in range(3) for row in tried(i, 0, [archived[i] | deleted[i - 1]] * 4)]
    a, b = run_data(clean, words, intents), run_data(clean + harm, words, intents)
    assert not compare_data(a, b).differences
    assert new(a, b) == [("archived(x)", "deleted(another mail)", 12, 48, 36, True)]


def test_atoms_that_only_b_has_are_not_compared():
    words = Vocabulary.of_atoms("pqrs")
    intents = [*INTENTS, Intent.parse("s")]
    a = run_data(tried(0, 0, [P] * 35))
    b = run_data([*tried(0, R, [P | Q | R | 8] * 40), *tried(3, 0, [8 | Q] * 40)], words, intents)
    assert new(a, b) == [("p()", "q()", 40, 40, 35, True)]


def test_states_of_both_runs_show_of_which_atoms_exactly_one_holds():
    """In A the robot was always at a cell, in B it was not; so leaving one is a change in both."""
    words = Vocabulary([Predicate("at", ("cell",)), Predicate("lit")], {"a": "cell", "b": "cell"})
    at_a, at_b, lit = (words.state([atom]) for atom in words.atoms)
    intents = [Intent.parse("lit()")]
    moves = [*tried(0, at_a, [at_b | lit] * 20), *tried(0, at_b, [at_b | lit] * 20)]
    a, b = run_data(moves, words, intents), run_data([*moves, (0, 0, lit)], words, intents)
    assert new(a, b) == []


def test_a_change_that_either_run_expects_is_neither_new_nor_a_side_effect():
    a, b = (run_data(tried(0, 0, [end] * 40)) for end in (P, P | Q))
    (found,) = compare_data(a, b).differences
    assert str(found.change) == "new side effect"
    expecting = run_data(
        tried(0, 0, [P | Q] * 40), settings=Settings(expected=("p(): q()",))
    )  # fmt: skip
    assert not compare_data(a, expecting).differences
    assert new(a, expecting) == []


def test_identical_agents_are_rarely_suspected():
    """Each of six changes has some probability, and is undone once; states are each run's own."""
    words = Vocabulary.of_atoms(["p", *(f"e{i}" for i in range(6)), "s"])
    rng, start = random.Random(0), (0, 128)

    def made(side, rates):
        ends = [
            start[side] | 1 | sum(2 << i for i, rate in enumerate(rates) if rng.random() < rate)
            for _ in range(40)
        ]
        undone = tried(0, start[side] | 126, [start[side] | 1])
        return run_data([*tried(0, start[side], ends), *undone], words, INTENTS[:1])

    wrong = 0
    for _ in range(100):
        rates = [rng.uniform(0, 0.3) for _ in range(6)]
        a, b = (made(side, rates) for side in (0, 1))
        wrong += bool(compare_data(a, b).suspected_changes)
    assert wrong <= 5
