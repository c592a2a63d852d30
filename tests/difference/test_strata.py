"""What is compared and counted, against the same by plain loops over lists."""

import random
from collections import defaultdict

import numpy as np
import pytest

from capscope.difference.matching import match
from capscope.difference.strata import Questions
from capscope.errors import CapscopeError
from capscope.symbolic import ExactlyOne, Intent, Literal, Vocabulary
from tiny_models import ALL, INTENTS, WORDS
from tiny_sides import side, tried

P, Q, NOT_R = INTENTS
SEVERAL = {state: {b"here", b"there"} for state in (1, 2, 5)}


def random_side(rng, executions=300):
    rows = [
        (rng.randrange(3), rng.choice(ALL), rng.choice(ALL), rng.randrange(4))
        for _ in range(executions)
    ]
    met = {state for _, *ends, _ in rows for state in ends}
    return side(rows, positions={s: found for s, found in SEVERAL.items() if s in met}), rows


def naive_tosses(rows_a, rows_b, capability, lead):
    """Group the draws of each state by witness, in order, and compare them one to one."""

    def witnesses(rows):
        found = defaultdict(dict)
        for i, (c, before, after, position) in enumerate(rows):
            if c == capability:
                key = position if before in SEVERAL else ("draw", i)
                found[before].setdefault(key, []).append(after)
        return {state: list(heard.values()) for state, heard in found.items()}

    a, b = witnesses(rows_a), witnesses(rows_b)
    for state in sorted(a.keys() & b.keys()):
        sums = [
            sum(lead(x, y) for x, y in zip(mine, theirs, strict=False))
            for mine, theirs in zip(a[state], b[state], strict=False)
        ]
        yield state, len(sums), sum(s > 0 for s in sums), sum(s < 0 for s in sums)


@pytest.mark.parametrize("seed", range(8))
def test_tosses_are_those_of_comparing_draw_by_draw_and_position_by_position(seed):
    rng = random.Random(seed)
    (a, rows_a), (b, rows_b) = random_side(rng), random_side(rng)
    matched = match(a, b)
    for capability, intent in enumerate(INTENTS):

        def achieved(state, intent=intent):
            return intent.holds(state, WORDS)

        strata = Questions(matched, capability).achieved()
        told = zip(
            [matched.states[i] for i in strata.states],
            strata.tosses.tolist(), strata.wins_a.tolist(), strata.wins_b.tolist(), strict=True,
        )  # fmt: skip
        naive = naive_tosses(rows_a, rows_b, capability, lambda x, y: achieved(x) - achieved(y))
        assert sorted(told) == [row for row in naive if not achieved(row[0])]


@pytest.mark.parametrize("seed", range(4))
def test_tallies_count_every_draw_and_every_witness(seed):
    rng = random.Random(seed)
    (a, rows_a), (b, _) = random_side(rng), random_side(rng)
    matched = match(a, b)
    strata = Questions(matched, 1).achieved()
    for i, number in enumerate(strata.states):
        state = matched.states[number]
        made = [(after, at) for c, before, after, at in rows_a if (c, before) == (1, state)]
        assert strata.a.draws[i] == len(made)
        assert strata.a.hits[i] == sum(Q.holds(after, WORDS) for after, _ in made)
        several = len({at for _, at in made})
        assert strata.a.witnesses[i] == (several if state in SEVERAL else len(made))
        assert strata.single[i] == (state not in SEVERAL)


def counts(a, b, literal):
    strata = Questions(match(a, b), 0).comes_about(Literal.parse(literal))
    return int(strata.wins_a.sum()), int(strata.wins_b.sum())


def test_what_comes_along_with_a_capability_gained_is_no_side_effect():
    nothing, both = side(tried(0, 0b000, [0b000] * 9)), side(tried(0, 0b000, [0b011] * 9))
    assert counts(nothing, both, "q") == (0, 0)
    assert counts(both, nothing, "q") == (0, 0)


def test_what_comes_about_instead_of_the_intent_is_a_side_effect():
    achieves, instead = side(tried(0, 0b000, [0b001] * 9)), side(tried(0, 0b000, [0b010] * 9))
    assert counts(achieves, instead, "q") == (0, 9)


def test_what_comes_about_beside_the_intent_where_it_need_not_is_a_side_effect():
    clean, careless = side(tried(0, 0b000, [0b001] * 9)), side(tried(0, 0b000, [0b011] * 9))
    assert counts(clean, careless, "q") == (0, 9)


def test_the_literals_of_the_intent_are_no_side_effects():
    questions = Questions(match(*[side(tried(0, 0b100, [0b011, 0b100]))] * 2), 0)
    found = questions.literals_changed(ExactlyOne())
    assert [str(literal) for literal in found] == ["q()", "not r()"]


def test_atoms_are_matched_by_name_whatever_their_order():
    other = Vocabulary.of_atoms("srqp")
    mine, theirs = side(tried(0, 0b011, [0b111])), side(tried(0, 0b1101, [0b1111]), other)
    matched = match(mine, theirs)
    assert matched.words.only_a == ()
    assert matched.words.only_b == ("s()",)
    # B's states are {s, q, p} and all four atoms; without s they are those of A.
    assert matched.states == (0b011, 0b111)
    assert [matched.states[i] for i in matched.b.end] == [0b111]


def test_a_capability_with_an_atom_that_one_side_lacks_is_not_shared():
    few = Vocabulary.of_atoms("pq")
    matched = match(side(tried(0, 0, [1])), side(tried(0, 0, [1]), few, INTENTS[:2]))
    assert matched.capabilities == (P, Q)


def test_runs_without_a_common_atom_are_refused():
    other = side([(0, 0, 1)], Vocabulary.of_atoms("xyz"), [Intent.parse("x")])
    with pytest.raises(CapscopeError, match="no atom in common"):
        match(side([(0, 0, 1)]), other)


def test_all_positions_count_as_alike_if_the_user_says_so():
    rows = [(0, 1, 1, 7), (0, 1, 0, 7), (0, 1, 1, 7)]
    both = [side(rows, positions=SEVERAL_OF_ONE)] * 2
    assert match(*both).a.witness.tolist() == [0, 0, 0]
    assert match(*both, any_position=True).a.witness.tolist() == [0, 1, 2]


SEVERAL_OF_ONE = {1: {b"here", b"there"}}


def test_a_state_known_in_one_position_by_each_run_but_not_the_same_has_several():
    one, other = (side([(0, 1, 0)], positions={1: {name}}) for name in (b"here", b"there"))
    assert np.flatnonzero(match(one, other).several).tolist() == [0]
    assert not match(one, one).several.any()
