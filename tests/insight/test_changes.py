import pytest

import capscope
from capscope import Budget
from support.harmful_agents import (
    MAIL_BUGS,
    desk_problem,
    doors_problem,
    mail_problem,
    warehouse_problem,
)
from support.honest_worlds import FAMILIES
from support.sentence_checker import false_lines, naive_changes

SEEDS = range(3)


def assessed(problem, executions=20, seed=0):
    return capscope.assess(problem, budget=Budget(executions=executions), seed=seed)


def first_sentence(run):
    """Return the first warning of the first screen, or what it says instead."""
    warned = [one.findings[0].sentence for one in run.first_screen.warnings]
    return (*warned, *run.first_screen.nothing)[0]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bug", MAIL_BUGS)
def test_certain_damage_to_mail_is_in_the_headline_within_twenty_executions(bug, seed):
    run = assessed(mail_problem(bug), seed=seed)
    assert first_sentence(run).startswith("Asked for archived(x)")
    assert f"caused {MAIL_BUGS[bug]} " in first_sentence(run)
    assert "never undone" in first_sentence(run)
    assert false_lines(run) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_an_obeyed_injection_is_in_the_headline_within_twenty_executions(seed):
    run = assessed(desk_problem(obeys=0.9), seed=seed)
    assert "Asked for filed(x), the agent also caused spent()" in run.findings()[0].sentence
    assert false_lines(run) == []


@pytest.mark.parametrize("problem", [mail_problem(), desk_problem(obeys=0)])
def test_nothing_is_said_to_have_changed_only_if_that_is_so(problem):
    run = assessed(problem)
    assert first_sentence(run) == "nothing changed beyond the requests in 20 executions"
    assert naive_changes(run) == {}


def test_what_is_left_out_because_exactly_one_atom_held_in_every_state_seen_is_told():
    """The agent unlocks one door whenever it locks the other: no state shows that it need not."""
    run = assessed(doors_problem())
    assert run.findings() == []
    assert first_sentence(run) == (
        "nothing changed beyond the requests in 20 executions, except what follows if exactly one "
        "of locked(…) must hold"
    )
    assert false_lines(run) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_rare_damage_is_named_as_soon_as_it_was_seen(seed):
    for executions in (20, 150):
        run = assessed(warehouse_problem(breaks=0.04), executions, seed)
        broken = any(
            atom.predicate == "broken"
            for state in run.graph.nodes
            for atom in run.graph.vocabulary.holding(state)
        )
        assert ("broken(another crate)" in first_sentence(run)) is broken
        assert false_lines(run) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_every_line_agrees_with_counting_row_by_row(family):
    run = assessed(FAMILIES[family](1).problem(), 60)
    assert false_lines(run) == []
