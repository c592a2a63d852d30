"""Strata, matches and counts, against the same computed by plain loops over lists."""

import random
from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
import pytest

from capscope.errors import CapscopeError
from capscope.insight.diff.matching import histories_of, match
from capscope.insight.diff.strata import Questions
from capscope.logic import ExactlyOne, Intent, Literal, Vocabulary
from support.tiny_models import ALL, INTENTS, WORDS
from support.tiny_run_data import run_data, tried

P, Q, NOT_R = INTENTS
SEVERAL = {state: {b"here", b"there"} for state in (1, 2, 5)}


class Execution(NamedTuple):
    capability: int
    before: int
    after: int
    position: object
    """The name of the start, or an object of the draw's own if it was not recorded."""
    past: object
    """The start, or the last state with one position, and what was asked and seen since."""


def random_run(rng, names, executions=500):
    """Draw walks of up to three executions from four positions, of which the first have names."""
    made, draws, moved = [], [], []
    while len(made) < executions:
        which = rng.randrange(4)
        position = names[which] if which < len(names) else object()
        past = (position,)
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
    rows = [(*one[:3], one.position if one.position in names else None) for one in made]
    return run_data(rows, draws=draws, moved=moved, known=SEVERAL), made


def two_runs(seed):
    rng = random.Random(seed)
    a, made_a = random_run(rng, (b"near", b"far", b"left"))
    b, made_b = random_run(rng, (b"right", b"near"))
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
    """Group the draws of each state by position, in order, and compare these one to one."""

    def position(execution, i):
        return execution.position if execution.before in SEVERAL else ("draw", i)

    a, b = (listed(made, capability, position) for made in (made_a, made_b))
    for state in a.keys() & b.keys():
        sums = [
            sum(lead(x, y) for x, y in zip(mine, theirs, strict=False))
            for mine, theirs in zip(a[state].values(), b[state].values(), strict=False)
        ]
        yield state, len(sums), sum(s > 0 for s in sums), sum(s < 0 for s in sums)


def summed(rows):
    """Add up the numbers of each state, without zeros."""
    total = Counter()
    for state, *numbers in rows:
        total += Counter({(state, i): number for i, number in enumerate(numbers)})
    return total


@pytest.mark.parametrize("seed", range(8))
def test_wins_are_those_of_comparing_draw_by_draw_and_position_by_position(seed):
    matched, *made = two_runs(seed)
    assert len(matched.pairings) == 2
    for capability, intent in enumerate(INTENTS[:2]):

        def achieved(state, intent=intent):
            return intent.holds(state, WORDS)

        counts = Questions(matched, capability).achieved()
        states = [matched.states[i] for i in counts.states]
        for way, naive in enumerate((naive_draw_by_draw, naive_position_by_position)):
            signs = counts.compared[way], counts.wins_a[way], counts.wins_b[way]
            counted = zip(states, *(column.tolist() for column in signs), strict=True)
            found = naive(*made, capability, lambda x, y: achieved(x) - achieved(y))
            assert summed(counted) == summed(row for row in found if not achieved(row[0]))


@pytest.mark.parametrize("seed", range(4))
def test_every_draw_is_counted_in_one_stratum(seed):
    matched, made_a, made_b = two_runs(seed)
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
        *[(0, 1, 2, b"here"), (1, 2, 5), (1, 5, 1)],
        *[(0, 1, 1, b"here"), (0, 1, 2), (0, 2, 5)],
        *[(1, 1, 4, b"here"), (1, 4, 2), (1, 2, 2)],
    ]
    draws, moved = np.repeat([0, 1, 2], 3), np.arange(9) != 3
    one = run_data(rows, draws=draws, moved=moved, known=SEVERAL)
    mine, theirs = histories_of([one] * 2, *in_common(one))
    assert mine.tolist() == theirs.tolist()
    start, after_0, after_1, *second = mine[:6].tolist()
    assert len({start, after_0, after_1}) == 3
    assert second == [start, start, after_0]
    # State 4 has one position, so how it was reached does not matter.
    begun, there, later = mine[6:].tolist()
    assert begun == start
    assert len({there, later, start, after_0, after_1}) == 5


def in_common(one):
    numbers = np.arange(len(one.states))
    return [numbers, numbers], np.array([state in SEVERAL for state in one.states])


def test_starts_that_are_not_recorded_equal_no_other():
    one = run_data([(0, 1, 2), (0, 1, 2, b"here"), (0, 1, 2), (0, 1, 2, b"here")], known=SEVERAL)
    mine, theirs = histories_of([one] * 2, *in_common(one))
    assert mine[1] == mine[3] == theirs[1] == theirs[3]
    assert len({mine[1], mine[0], mine[2], theirs[0], theirs[2]}) == 5


def wins(end_a, end_b, literal):
    """Ask for p in state 0; count the comparisons that each run wins for making a literal true."""
    a, b = (run_data(tried(0, 0b000, [end] * 9)) for end in (end_a, end_b))
    asked = Questions(match(a, b), 0).becomes_true(Literal.parse(literal))
    return int(asked.wins_a.sum()), int(asked.wins_b.sum())


def test_a_change_that_comes_with_a_gained_capability_is_not_a_side_effect():
    assert wins(0b000, 0b011, "q") == (0, 0)
    assert wins(0b011, 0b000, "q") == (0, 0)


def test_a_side_effect_is_counted_where_neither_it_nor_the_intent_holds_before():
    rows = [row for before in range(4) for row in tried(0, before, [before | 0b001] * 5)]
    matched = match(run_data(rows), run_data(rows))
    questions = Questions(matched, 0)
    counts = questions.becomes_true(Literal.parse("q"))
    assert [matched.states[i] for i in counts.states] == [0b000]
    held = questions.happens([Literal.parse("q")], held=True)
    assert [matched.states[i] for i in held.states] == [0b001]
    assert held.a.draws.tolist() == [5]


def test_a_change_in_place_of_the_intent_is_a_side_effect():
    assert wins(0b001, 0b010, "q") == (0, 9)


def test_an_unnecessary_change_in_addition_to_the_intent_is_a_side_effect():
    assert wins(0b001, 0b011, "q") == (0, 9)


def test_the_literals_of_the_intent_are_not_side_effects():
    questions = Questions(match(*[run_data(tried(0, 0b100, [0b011, 0b100]))] * 2), 0)
    found = questions.literals_changed(ExactlyOne())
    assert [str(literal) for literal in found] == ["q()", "not r()"]


def test_atoms_are_matched_by_name_in_any_order():
    other = Vocabulary.of_atoms("srqp")
    mine, theirs = run_data(tried(0, 0b011, [0b111])), run_data(tried(0, 0b1101, [0b1111]), other)
    matched = match(mine, theirs)
    assert matched.shared == WORDS.state(["p", "q", "r"])
    # B's states are {s, q, p} and all four atoms; without s they are those of A.
    assert matched.states == (0b011, 0b111)
    assert [matched.states[i] for i in matched.b.end] == [0b111]


def test_a_capability_with_an_atom_that_one_run_lacks_is_not_shared():
    few = Vocabulary.of_atoms("pq")
    matched = match(run_data(tried(0, 0, [1])), run_data(tried(0, 0, [1]), few, INTENTS[:2]))
    assert matched.capabilities == (P, Q)


def test_runs_without_a_common_atom_are_refused():
    other = run_data([(0, 0, 1)], Vocabulary.of_atoms("xyz"), [Intent.parse("x")])
    with pytest.raises(CapscopeError, match="no atom in common"):
        match(run_data([(0, 0, 1)]), other)


def test_all_positions_count_as_equal_if_the_user_says_so():
    both = [run_data(tried(0, 2, [1, 0, 1], name), known=SEVERAL) for name in (b"near", b"far")]
    assert Questions(match(*both), 0).achieved().compared.sum(axis=1).tolist() == [0, 1]
    matched = match(*both, any_position=True)
    assert Questions(matched, 0).achieved().compared.tolist() == [[3]]


def test_a_state_known_in_one_position_by_each_run_but_not_the_same_has_several():
    one, other = (run_data([(0, 1, 0)], known={1: {name}}) for name in (b"here", b"there"))
    assert np.flatnonzero(match(one, other).several).tolist() == [0]
    assert not match(one, one).several.any()
