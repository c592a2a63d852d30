import functools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.adapters.pddl import (
    SHIPPED_PROBLEMS,
    IdentityAbstraction,
    PddlSimulator,
    load_task,
    shipped_files,
)
from capscope.adapters.pddl.lao_star import LaoStarAgent
from capscope.problem import InvalidAction, Problem
from capscope.problem.checks import check_problem


@functools.cache
def shipped(name):
    return load_task(*shipped_files(name))


def walk(simulator, seed, steps):
    """Step random operators with one seed; return the states."""
    chooser = random.Random(seed)
    states = [simulator.reset(seed)]
    for _ in range(steps):
        actions = simulator.actions()
        if not actions:
            break
        states.append(simulator.step(chooser.choice(actions)))
    return states


@pytest.mark.parametrize("name", SHIPPED_PROBLEMS)
def test_a_shipped_problem_passes_the_checks(name):
    task = shipped(name)
    agent = LaoStarAgent(task.operators, task.vocabulary)
    problem = Problem(name, PddlSimulator(task), agent, IdentityAbstraction(task.vocabulary))
    assert check_problem(problem) == []


@given(st.sampled_from(SHIPPED_PROBLEMS), st.integers(0, 2**64 - 1), st.integers(0, 40))
def test_restoring_a_snapshot_gives_the_state_it_was_taken_in(name, seed, steps):
    simulator = PddlSimulator(shipped(name))
    state = walk(simulator, seed, steps)[-1]
    snapshot = simulator.snapshot()
    available = simulator.actions()
    other = PddlSimulator(shipped(name))
    assert other.restore(snapshot, 0) == state
    assert other.actions() == available
    assert other.snapshot() == snapshot


def test_snapshots_of_one_task_have_one_length():
    simulator = PddlSimulator(shipped("probabilistic-elevators"))
    walk(simulator, 1, 30)
    assert len(simulator.snapshot()) == 14  # 112 atoms
    simulator.restore(b"\0" * 14, 0)
    assert simulator.snapshot() == b"\0" * 14


@given(st.sampled_from(SHIPPED_PROBLEMS), st.data())
def test_any_state_can_be_set_even_an_unreachable_one(name, data):
    simulator = PddlSimulator(shipped(name))
    state = data.draw(st.integers(0, simulator.task.vocabulary.mask))
    assert simulator.restore(simulator.snapshot_of(state), 0) == state
    assert simulator.snapshot() == simulator.snapshot_of(state)


@given(st.integers(0, 2**64 - 1))
def test_the_same_seed_gives_the_same_draws_whatever_happened_before(seed):
    simulator = PddlSimulator(shipped("tireworld"))
    fresh = walk(simulator, seed, 20)
    walk(simulator, seed + 1, 7)
    assert walk(simulator, seed, 20) == fresh


def test_the_size_of_the_cache_changes_nothing():
    task = shipped("first-responders")
    expected = walk(PddlSimulator(task), 5, 500)
    assert walk(PddlSimulator(task, cached_states=0), 5, 500) == expected
    assert walk(PddlSimulator(task, cached_states=3), 5, 500) == expected


def test_different_seeds_give_each_outcome_about_as_often_as_its_probability():
    task = shipped("tireworld")
    simulator = PddlSimulator(task)
    drive = next(o for o in task.operators if o.applicable(task.initial_state))
    start = simulator.snapshot()
    seen = []
    for seed in range(2000):
        simulator.restore(start, seed)
        seen.append(simulator.step(drive))
    for probability, after in drive.outcomes(task.initial_state):
        assert seen.count(after) / 2000 == pytest.approx(probability, abs=0.04)


def test_an_operator_that_is_not_applicable_is_an_invalid_action():
    task = shipped("blocksworld")
    simulator = PddlSimulator(task)
    put_down = next(o for o in task.operators if o.name == "put-down(a,robot)")
    with pytest.raises(InvalidAction, match=r"put-down\(a,robot\) is not applicable"):
        simulator.step(put_down)
    assert simulator.snapshot() == PddlSimulator(task).snapshot()


def test_anything_but_an_operator_is_an_invalid_action():
    with pytest.raises(InvalidAction, match="'jump' is not a ground operator"):
        PddlSimulator(shipped("blocksworld")).step("jump")
