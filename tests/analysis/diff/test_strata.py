"""What is compared and counted, against the same by plain loops over lists."""

import random
from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
import pytest

from capscope.analysis.diff.histories import histories_of
from capscope.analysis.diff.matching import match
from capscope.analysis.diff.strata import Questions
from capscope.errors import CapscopeError
from capscope.symbolic import ExactlyOne, Intent, Literal, Vocabulary
from support.tiny_models import ALL, INTENTS, WORDS
from support.tiny_sides import side, tried

P, Q, NOT_R = INTENTS
SEVERAL = {state: {b"here", b"there"} for state in (1, 2, 5)}


class Execution(NamedTuple):
    capability: int
    before: int
    after: int
    position: int
    past: object
    """The start's name, or what is like nothing else, with what was asked and seen since."""


def random_side(rng, names, executions=500):
    """Draw walks of up to three executions from four positions, of which the first have names."""
    made, draws, moved = [], [], []
    while len(made) < executions:
        position = rng.randrange(4)
        past = (names[position] if position < len(names) else object(),)
        draw, before = len(made), rng.choice(ALL)
        for _ in range(rng.randint(1, 3)):
            if before not in SEVERAL:
                past = (before,)
            capability, after = rng.randrange(2), rng.choice([before, *ALL])
            made.append(Execution(capability, before, after, position, past))
            draws.append(draw)
            moved.append(after != before or rng.random() < 0.5)
            before = after
            if moved[-1]:
                past = (*past, capability, after)
    rows = [execution[:4] for execution in made]
    walks = np.array(draws), np.array(moved), names
    return side(rows, positions=SEVERAL, walks=walks), made


def two_sides(seed):
    rng = random.Random(seed)
    a, made_a = random_side(rng, (b"near", b"far", b"left"))
    b, made_b = random_side(rng, (b"right", b"near"))
    return match(a, b), made_a, made_b


def listed(made, capability, key):
    """Return the ends of the executions of each state and key, in order."""
    found = defaultdict(dict)
    for i, execution in enumerate(made):
        if execution.capability == capability:
            found[execution.before].setdefault(key(execution, i), []).append(execution.after)
    return found


def naive_draw_by_draw(made_a, made_b, capability, lead):
    """Compare the draws of each past, or of each state with one position, one to one."""

    def past(execution, i):
        return execution.past if execution.before in SEVERAL else None

    a, b = (listed(made, capability, past) for made in (made_a, made_b))
    for state in a.keys() & b.keys():
        for key in a[state].keys() & b[state].keys():
            leads = [lead(x, y) for x, y in zip(a[state][key], b[state][key], strict=False)]
            yield state, len(leads), leads.count(1), leads.count(-1)


def naive_position_by_position(made_a, made_b, capability, lead):
    """Group the draws of each state by witness, in order, and compare these one to one."""

    def witness(execution, i):
        return execution.position if execution.before in SEVERAL else ("draw", i)

    a, b = (listed(made, capability, witness) for made in (made_a, made_b))
    for state in a.keys() & b.keys():
        sums = [
            sum(lead(x, y) for x, y in zip(mine, theirs, strict=False))
            for mine, theirs in zip(a[state].values(), b[state].values(), strict=False)
        ]
        yield state, len(sums), sum(s > 0 for s in sums), sum(s < 0 for s in sums)


def summed(rows):
    """Add up what is of one state, leaving out what is nothing."""
    total = Counter()
    for state, *numbers in rows:
        total += Counter({(state, i): number for i, number in enumerate(numbers)})
    return total


@pytest.mark.parametrize("seed", range(8))
def test_wins_are_those_of_comparing_draw_by_draw_and_position_by_position(seed):
    matched, *made = two_sides(seed)
    assert len(matched.pairings) == 2
    for capability, intent in enumerate(INTENTS[:2]):

        def achieved(state, intent=intent):
            return intent.holds(state, WORDS)

        counts = Questions(matched, capability).achieved()
        states = [matched.states[i] for i in counts.states]
        for way, naive in enumerate((naive_draw_by_draw, naive_position_by_position)):
            tosses = counts.signs.compared[way], counts.signs.wins_a[way], counts.signs.wins_b[way]
            told = zip(states, *(column.tolist() for column in tosses), strict=True)
            found = naive(*made, capability, lambda x, y: achieved(x) - achieved(y))
            assert summed(told) == summed(row for row in found if not achieved(row[0]))


@pytest.mark.parametrize("seed", range(4))
def test_every_draw_is_counted_in_one_stratum(seed):
    matched, made_a, made_b = two_sides(seed)
    counts = Questions(matched, 1).achieved()
    ends, theirs = (
        listed(made, 1, lambda execution, i: (execution.past, execution.position))
        for made in (made_a, made_b)
    )
    for number in set(counts.states.tolist()):
        state = matched.states[number]
        rows = np.flatnonzero(counts.states == number)
        shared = {past for past, _ in ends[state]} & {past for past, _ in theirs[state]}
        assert sum(counts.a.draws[rows]) == sum(map(len, ends[state].values()))
        assert sum(counts.a.hits[rows]) == sum(
            Q.holds(end, WORDS) for found in ends[state].values() for end in found
        )
        if state not in SEVERAL:
            assert counts.exchangeable[rows].tolist() == [True]
            assert counts.a.independent[rows].tolist() == counts.a.draws[rows].tolist()
            continue
        rest, *strata = rows
        assert not counts.exchangeable[rest]
        assert counts.exchangeable[strata].all()
        assert len(strata) == len(shared)
        left = {position for past, position in ends[state] if past not in shared}
        assert counts.a.independent[rest] == len(left)


def test_a_history_is_the_start_and_what_was_asked_and_seen_since():
    """Three draws from one position; the first execution of the second took no step."""
    rows = [
        *[(0, 1, 2, 0), (1, 2, 5, 0), (1, 5, 1, 0)],
        *[(0, 1, 1, 0), (0, 1, 2, 0), (0, 2, 5, 0)],
        *[(1, 1, 4, 0), (1, 4, 2, 0), (1, 2, 2, 0)],
    ]
    walks = np.repeat([0, 1, 2], 3), np.arange(9) != 3, (b"here",)
    one = side(rows, positions=SEVERAL, walks=walks)
    mine, theirs = histories_of([one] * 2, *in_common(one))
    assert mine.tolist() == theirs.tolist()
    start, after_0, after_1, *second = mine[:6].tolist()
    assert len({start, after_0, after_1}) == 3
    assert second == [start, start, after_0]
    # State 4 has one position: whoever comes there is in it.
    begun, there, later = mine[6:].tolist()
    assert begun == start
    assert len({there, later, start, after_0, after_1}) == 5


def in_common(one):
    numbers = np.arange(len(one.states))
    return [numbers, numbers], np.array([state in SEVERAL for state in one.states])


def test_starts_that_are_not_recorded_equal_no_other():
    one = side([(0, 1, 2, 0), (0, 1, 2, 0), (0, 1, 2, 1)], positions=SEVERAL)
    mine, theirs = histories_of([one] * 2, *in_common(one))
    assert mine[0] == mine[1] != mine[2]
    assert not set(mine.tolist()) & set(theirs.tolist())


def counts(a, b, literal):
    tosses = Questions(match(a, b), 0).becomes_true(Literal.parse(literal)).signs
    return int(tosses.wins_a.sum()), int(tosses.wins_b.sum())


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
    assert matched.predicates.only_a == ()
    assert matched.predicates.only_b == ("s()",)
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


def test_all_positions_count_as_equal_if_the_user_says_so():
    rows = [(0, 2, 1, 7), (0, 2, 0, 7), (0, 2, 1, 7)]
    both = [side(rows, positions=SEVERAL)] * 2
    assert Questions(match(*both), 0).achieved().signs.compared.sum(axis=1).tolist() == [0, 1]
    matched = match(*both, any_position=True)
    assert Questions(matched, 0).achieved().signs.compared.tolist() == [[3]]


def test_a_state_known_in_one_position_by_each_run_but_not_the_same_has_several():
    one, other = (side([(0, 1, 0)], positions={1: {name}}) for name in (b"here", b"there"))
    assert np.flatnonzero(match(one, other).several).tolist() == [0]
    assert not match(one, one).several.any()
