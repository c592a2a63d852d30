"""The solver and the policy, compared with trying every policy; and special cases."""

import math
import re
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from capscope.errors import CapscopeError, install_hint
from capscope.insight.planning import mdp as policy_module
from capscope.insight.planning.markov_chain import MarkovChain
from capscope.insight.planning.mdp import most_reliable_policy
from support.naive_planning import best, choice, executions, mdp, success

SIZE = 5


FEW = some.integers(1, 4)


@some.composite
def processes(draw, counts=FEW):
    """Draw small processes with all kinds of loops; the last state has no choice."""
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
def test_the_policy_matches_the_naive_twin_that_tries_every_policy(process, goals):
    policy = most_reliable_policy(process, goals)
    highest, fewest = best(process, goals)
    assert policy.success == pytest.approx([float(value) for value in highest], rel=1e-8)
    assert policy.executions == pytest.approx([float(length) for length in fewest])
    # The chosen policy attains it, whatever the solver's values are.
    ends = goals | {i for i in range(SIZE) if not highest[i]}
    chosen = dict(policy.choices)
    assert chosen.keys() == set(range(SIZE)) - ends
    assert success(chosen, SIZE, goals) == highest
    assert executions(chosen, SIZE, ends) == fewest


@settings(max_examples=60)
@given(processes(), some.sets(some.integers(0, SIZE - 1), max_size=2), some.randoms())
def test_doubt_is_a_way_to_a_state_without_a_choice(process, goals, rng):
    # The naive twin has that state: a quarter of the draws, say, lead there.
    doubted, spelled_out = [], []
    for here in process.choices:
        quarters = [rng.randrange(3) for _ in here]
        doubted.append(
            [
                replace(c, doubt=q / 4, draws_here=int(not q))
                for c, q in zip(here, quarters, strict=True)
            ]
        )
        spelled_out.append(
            [
                replace(
                    c,
                    counts=(*((4 - q) * n for n in c.counts), *([q * c.draws] if q else [])),
                    successors=(*c.successors, *([SIZE] if q else [])),
                )
                for c, q in zip(here, quarters, strict=True)
            ]
        )
    policy = most_reliable_policy(mdp(*doubted), goals)
    highest, fewest = best(mdp(*spelled_out, []), goals)
    assert policy.success == pytest.approx([float(v) for v in highest[:-1]], rel=1e-8)
    assert policy.executions == pytest.approx([float(v) for v in fewest[:-1]])


def test_of_equally_good_choices_a_tried_one_is_taken():
    tried, inferred = choice(0, (1, 1)), choice(1, (99, 1), draws_here=0, fulfilled=99)
    assert most_reliable_policy(mdp([inferred, tried], []), {1}).choices[0] == tried


@settings(max_examples=40)
@given(processes(some.sampled_from([1, 2, 5000])), some.integers(0, SIZE - 1))
def test_plans_of_thousands_of_executions_are_solved(process, goal):
    policy = most_reliable_policy(process, {goal})
    highest, _ = best(process, {goal})
    attained = success(dict(policy.choices), SIZE, {goal})
    for solved in (policy.success, attained):
        assert [float(v) for v in solved] == pytest.approx([float(v) for v in highest], rel=1e-5)


@settings(max_examples=40)
@given(processes(), some.sets(some.integers(0, SIZE - 1), min_size=1, max_size=2))
def test_evaluating_the_policy_gives_the_solved_values(process, goals):
    policy = most_reliable_policy(process, goals)
    for start in policy.choices:
        chain = MarkovChain.of(policy, start)
        frequencies = chain.frequencies()
        assert chain.success(frequencies) == pytest.approx([policy.success[start]])
        assert chain.edges.visits(frequencies).sum() == pytest.approx(policy.executions[start])


def capabilities(policy):
    return {i: chosen.capability for i, chosen in policy.choices.items()}


def test_the_policy_arrives_although_two_capabilities_undo_each_other():
    # From both states the goal is certain, so going back and forth is "best" at every step.
    process = mdp([choice(0, (1, 1))], [choice(0, (1, 0)), choice(1, (1, 2))], [])
    policy = most_reliable_policy(process, {2})
    assert capabilities(policy) == {0: 0, 1: 1}
    assert policy.executions == pytest.approx((2, 1, 0))


def test_the_policy_arrives_although_success_is_uncertain():
    # 0 and 1 undo each other; the choice in 1 fails half of the time, and waiting does not help.
    process = mdp(
        [choice(0, (1, 1))], [choice(0, (1, 0)), choice(1, (1, 2), (1, 3))], [], []
    )  # fmt: skip
    policy = most_reliable_policy(process, {2})
    assert policy.success == (0.5, 0.5, 1, 0)
    assert capabilities(policy) == {0: 0, 1: 1}


def test_a_capability_that_may_do_nothing_is_asked_again():
    policy = most_reliable_policy(mdp([choice(0, (3, 0), (1, 1))], []), {1})
    assert policy.success == (1, 1)
    assert policy.executions == pytest.approx((4, 0))


def test_the_longer_path_is_taken_if_it_is_more_reliable():
    process = mdp([choice(0, (9, 3), (1, 2)), choice(1, (1, 1))], [choice(0, (1, 3))], [], [])
    policy = most_reliable_policy(process, {3})
    assert capabilities(policy) == {0: 1, 1: 0}
    assert policy.executions[0] == pytest.approx(2)


def test_the_shorter_of_two_equally_reliable_paths_is_taken():
    process = mdp([choice(0, (1, 1)), choice(1, (1, 2))], [choice(0, (1, 2))], [])
    assert capabilities(most_reliable_policy(process, {2}))[0] == 1


def test_an_improbable_success_is_better_than_none():
    # 10⁻¹² is below the rounding tolerance but must still win over a dead end.
    far = 10**12
    process = mdp([choice(0, (1, 2)), choice(1, (far - 1, 2), (1, 1))], [], [])
    policy = most_reliable_policy(process, {1})
    assert policy.success[0] == pytest.approx(1e-12)
    assert capabilities(policy) == {0: 1}


def test_exact_ties_do_not_make_the_solver_cycle():
    # Storm's policy iteration does not terminate on this process.
    process = mdp(
        [choice(c, (21, 1), (9, 2)) for c in range(2)],
        [choice(c, (23, 3), (7, 4)) for c in range(2)],
        [],
        [choice(0, (26, 5), (4, 6))],
        *([], [], []),
    )
    policy = most_reliable_policy(process, {5})
    assert policy.success[0] == pytest.approx(0.7 * 23 / 30 * 26 / 30)
    assert policy.executions[0] == pytest.approx(1 + 0.7 * (1 + 23 / 30))


def test_without_goal_states_there_are_no_choices():
    policy = most_reliable_policy(mdp([choice(0, (1, 1))], []), set())
    assert policy.success == (0, 0)
    assert policy.choices == {}


def test_there_is_no_choice_in_a_goal_state():
    policy = most_reliable_policy(mdp([choice(0, (1, 1))], [choice(0, (1, 0))]), {0})
    assert policy.success == (1, 1)
    assert capabilities(policy) == {1: 0}


def test_an_unreachable_goal_has_success_zero():
    policy = most_reliable_policy(mdp([choice(0, (1, 1))], [choice(0, (1, 0))], []), {2})
    assert policy.success == (0, 0, 1)
    assert policy.choices == {}


def chosen_of(*choices):
    """Return which of several choices that all lead to the goal is taken."""
    return most_reliable_policy(mdp(choices, []), {1}).choices[0].capability


def test_a_tie_goes_to_the_choice_that_does_what_it_is_asked():
    assert chosen_of(choice(0, (30, 1)), choice(1, (20, 1), fulfilled=20)) == 1


def test_a_tie_does_not_go_to_a_choice_with_far_fewer_draws():
    assert chosen_of(choice(0, (50, 1)), choice(1, (20, 1), fulfilled=20)) == 0


def test_a_remaining_tie_goes_to_the_choice_with_most_draws():
    assert chosen_of(choice(0, (6, 1)), choice(1, (9, 1)), choice(2, (9, 1))) == 1


def test_storm_prints_nothing(capfd):
    most_reliable_policy(mdp([choice(0, (1, 0), (2, 1))], [choice(0, (1, 2))], [], []), {2})
    # Storm warns about infinite rewards and unreachable states.
    assert policy_module.fewest_executions(mdp([choice(0, (1, 1))], [], []), {2}) == [
        math.inf, math.inf, 0,
    ]  # fmt: skip
    assert capfd.readouterr() == ("", "")


def test_without_storm_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "stormpy", None)
    policy_module._storm.cache_clear()
    with pytest.raises(CapscopeError, match=re.escape(install_hint("plan"))):
        most_reliable_policy(mdp([choice(0, (1, 1))], []), {1})
