"""The solver and the policy, beside trying every policy; and the traps on the way."""

import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from capscope.analysis.planning import solver
from capscope.analysis.planning.chain import Chain
from capscope.analysis.planning.policy import most_reliable
from capscope.errors import CapscopeError
from support.naive_planning import best, chances, choice, executions, mdp

SIZE = 5


FEW = some.integers(1, 4)


@some.composite
def processes(draw, counts=FEW):
    """Draw small processes with every kind of loop; the last state has no choice."""
    here = some.lists(
        some.dictionaries(some.integers(0, SIZE - 1), counts, min_size=1, max_size=3), max_size=3
    )
    states = []
    for i in range(SIZE - 1):
        found = [ways for ways in draw(here) if set(ways) != {i}]
        states.append(
            [choice(c, *((n, j) for j, n in ways.items())) for c, ways in enumerate(found)]
        )
    return mdp(*states, [])


@settings(max_examples=60)
@given(processes(), some.sets(some.integers(0, SIZE - 1), max_size=2))
def test_the_policy_is_that_of_the_twin_which_tries_every_policy(process, goals):
    policy = most_reliable(process, goals)
    highest, fewest = best(process, goals)
    assert policy.chances == pytest.approx([float(chance) for chance in highest], rel=1e-8)
    assert policy.executions == pytest.approx([float(length) for length in fewest])
    # What was chosen attains it, whatever the solver's values look like.
    ends = goals | {i for i in range(SIZE) if not highest[i]}
    chosen = dict(policy.choices)
    assert chosen.keys() == set(range(SIZE)) - ends
    assert chances(chosen, SIZE, goals) == highest
    assert executions(chosen, SIZE, ends) == fewest


@settings(max_examples=40)
@given(processes(some.sampled_from([1, 2, 5000])), some.integers(0, SIZE - 1))
def test_what_takes_thousands_of_executions_is_solved_too(process, goal):
    policy = most_reliable(process, {goal})
    highest, _ = best(process, {goal})
    attained = chances(dict(policy.choices), SIZE, {goal})
    for solved in (policy.chances, attained):
        assert [float(c) for c in solved] == pytest.approx([float(c) for c in highest], rel=1e-5)


@settings(max_examples=40)
@given(processes(), some.sets(some.integers(0, SIZE - 1), min_size=1, max_size=2))
def test_following_the_policy_attains_what_was_solved(process, goals):
    policy = most_reliable(process, goals)
    for start in policy.choices:
        chain = Chain.of(policy, start)
        frequencies = chain.frequencies()
        assert chain.success(frequencies) == pytest.approx([policy.chances[start]])
        assert chain.visits(frequencies).sum() == pytest.approx(policy.executions[start])


def capabilities(policy):
    return {i: chosen.capability for i, chosen in policy.choices.items()}


def test_two_capabilities_that_undo_each_other_do_not_keep_the_policy_from_arriving():
    # From both states the goal is certain, so going to and fro is "best" at every step.
    process = mdp([choice(0, (1, 1))], [choice(0, (1, 0)), choice(1, (1, 2))], [])
    policy = most_reliable(process, {2})
    assert capabilities(policy) == {0: 0, 1: 1}
    assert policy.executions == pytest.approx((2, 1, 0))


def test_going_to_and_fro_is_no_way_out_where_success_is_uncertain_either():
    # 0 and 1 undo each other; the gamble in 1 loses half of the time, and no waiting betters it.
    process = mdp(
        [choice(0, (1, 1))], [choice(0, (1, 0)), choice(1, (1, 2), (1, 3))], [], []
    )  # fmt: skip
    policy = most_reliable(process, {2})
    assert policy.chances == (0.5, 0.5, 1, 0)
    assert capabilities(policy) == {0: 0, 1: 1}


def test_a_capability_that_may_do_nothing_is_asked_again():
    policy = most_reliable(mdp([choice(0, (3, 0), (1, 1))], []), {1})
    assert policy.chances == (1, 1)
    assert policy.executions == pytest.approx((4, 0))


def test_the_longer_way_is_taken_if_it_is_more_reliable():
    process = mdp([choice(0, (9, 3), (1, 2)), choice(1, (1, 1))], [choice(0, (1, 3))], [], [])
    policy = most_reliable(process, {3})
    assert capabilities(policy) == {0: 1, 1: 0}
    assert policy.executions[0] == pytest.approx(2)


def test_the_shorter_of_two_equally_reliable_ways_is_taken():
    process = mdp([choice(0, (1, 1)), choice(1, (1, 2))], [choice(0, (1, 2))], [])
    assert capabilities(most_reliable(process, {2}))[0] == 1


def test_a_hardly_probable_way_is_better_than_a_dead_end():
    # A chance below any rounding: 10⁻¹² is more than nothing, and is not traded for an early end.
    far = 10**12
    process = mdp([choice(0, (1, 2)), choice(1, (far - 1, 2), (1, 1))], [], [])
    policy = most_reliable(process, {1})
    assert policy.chances[0] == pytest.approx(1e-12)
    assert capabilities(policy) == {0: 1}


def test_choices_that_tie_exactly_do_not_keep_the_solver_going_round():
    # Storm's policy iteration never came back from this one.
    process = mdp(
        [choice(c, (21, 1), (9, 2)) for c in range(2)],
        [choice(c, (23, 3), (7, 4)) for c in range(2)],
        [],
        [choice(0, (26, 5), (4, 6))],
        *([], [], []),
    )
    policy = most_reliable(process, {5})
    assert policy.chances[0] == pytest.approx(0.7 * 23 / 30 * 26 / 30)
    assert policy.executions[0] == pytest.approx(1 + 0.7 * (1 + 23 / 30))


def test_without_a_goal_there_is_nothing_to_choose():
    policy = most_reliable(mdp([choice(0, (1, 1))], []), set())
    assert policy.chances == (0, 0)
    assert policy.choices == {}


def test_where_the_goal_holds_already_nothing_is_asked_for():
    policy = most_reliable(mdp([choice(0, (1, 1))], [choice(0, (1, 0))]), {0})
    assert policy.chances == (1, 1)
    assert capabilities(policy) == {1: 0}


def test_a_goal_out_of_reach_has_no_chance():
    policy = most_reliable(mdp([choice(0, (1, 1))], [choice(0, (1, 0))], []), {2})
    assert policy.chances == (0, 0, 1)
    assert policy.choices == {}


def alike(*choices):
    """Return which of several choices that all lead to the goal is taken."""
    return most_reliable(mdp(choices, []), {1}).choices[0].capability


def test_of_equals_the_one_that_does_what_it_is_asked_is_taken():
    assert alike(choice(0, (30, 1)), choice(1, (20, 1), fulfilled=20)) == 1


def test_of_equals_one_with_far_fewer_draws_is_not_taken_however_it_reads():
    assert alike(choice(0, (50, 1)), choice(1, (20, 1), fulfilled=20)) == 0


def test_of_equals_that_do_what_they_are_asked_the_better_supported_is_taken():
    assert alike(choice(0, (6, 1)), choice(1, (9, 1)), choice(2, (9, 1))) == 1


def test_storm_says_nothing_of_its_own(capfd):
    most_reliable(mdp([choice(0, (1, 0), (2, 1))], [choice(0, (1, 2))], [], []), {2})
    # Infinite rewards and states that nothing leads to are what it likes to warn of.
    assert solver.fewest_executions(mdp([choice(0, (1, 1))], [], []), {2}) == [
        math.inf, math.inf, 0,
    ]  # fmt: skip
    assert capfd.readouterr() == ("", "")


def test_without_storm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "stormpy", None)
    solver._storm.cache_clear()
    with pytest.raises(CapscopeError, match=r"pip install 'capscope\[plan\]'"):
        most_reliable(mdp([choice(0, (1, 1))], []), {1})
