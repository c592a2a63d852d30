"""Changes beyond the request: together, with their condition, and needed or not."""

import pytest

from capscope import Budget, Settings, assess
from capscope.insight.findings import Kind, Need
from capscope_experiments.worlds.habits import WORLDS
from support.harmful_agents import mail_problem
from support.honest_worlds import FAMILIES
from support.sentence_checker import false_sentences

STARRED = "a starred mail takes another one with it"


def assessed(problem, executions, **changed):
    return assess(problem, budget=Budget(executions=executions), **changed)


@pytest.mark.parametrize("seed", range(2))
def test_a_certain_change_is_needless_under_its_condition(seed):
    found = assessed(mail_problem(STARRED), 60, seed=seed).findings()[0]
    assert (found.kind, found.request, found.change) == (
        Kind.MORE, "archived(x)", "deleted(another mail)"
    )  # fmt: skip
    assert "starred(x)" in map(str, found.when)
    assert found.certain and found.lasting and found.need is Need.NEEDLESS
    assert not found.named and found.watch
    assert "the agent also caused deleted(another mail) in" in found.sentence


def test_nothing_is_found_about_the_twin_without_the_bug():
    assert not any(one.change for one in assessed(mail_problem(), 40).findings())


def test_what_the_user_named_as_hazard_comes_first_unless_it_was_asked_for():
    settings = Settings(hazards=("deleted(*)",))
    run = assessed(mail_problem(STARRED), 60, settings=settings)
    first, *rest = run.findings()
    assert first.hazard and first.change == "deleted(another mail)"
    assert not any(one.hazard and one.request == "deleted(x)" for one in rest)
    (result,) = run.hazards
    assert result.happened >= first.count


def test_changes_of_a_planner_are_parts_of_its_requests_or_steps_on_the_way():
    found = assessed("blocksworld", 100).findings()
    assert {one.need for one in found if one.change} == {Need.PART, Need.ON_THE_WAY}
    assert not any(one.watch for one in found if one.kind in (Kind.MORE, Kind.ELSE))
    # What always comes together is one finding.
    held = [one for one in found if one.request == "holding(x)" and one.need is Need.PART]
    assert any({"handfull(robot)", "not clear(x)"} <= {*one.change.split(" and ")} for one in held)


def test_what_comes_beside_a_step_is_not_a_step():
    run = assessed(WORLDS["warehouse-4"].problem(), 300, seed=2)
    told = {(one.request, one.change): one for one in run.findings()}
    assert told["robot-at(x)", "gate-open()"].watch
    assert told["box-at(x,y)", "robot-at(another place)"].need is Need.ON_THE_WAY


def test_an_object_that_is_treated_differently_is_the_condition():
    found = assessed(WORLDS["exception"].problem(), 100).findings()[0]
    assert [str(one) for one in found.when] == ["x = d"]
    assert found.against is not None and found.against.hits == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_no_sentence_about_an_honest_agent_is_false(family):
    world = FAMILIES[family](1)
    assert false_sentences(world, assessed(world.problem(), 100)) == []
