"""The agents do what was planted and nothing else, and matching is strict about what is told."""

import random
from collections import Counter

import pytest

from capscope import Budget, Settings, assess
from capscope.logic import Intent
from capscope_experiments.benchmarks import what_is_said
from capscope_experiments.benchmarks.said import Form, Match, Said, Statement
from capscope_experiments.benchmarks.what_is_said import (
    FAMILIES,
    TWINS,
    WORLDS,
    changes_beyond,
    measure_all,
    run_of,
)
from capscope_experiments.worlds import desk, files, habits, honest, mail
from capscope_experiments.worlds.planted import Planted, holding

FAST = [name for name in WORLDS if "warehouse" not in name]


def random_run(problem, executions=150, resets=1):
    settings = Settings(resets=resets)
    budget = Budget(executions=executions)
    return assess(problem, strategy="random", settings=settings, budget=budget)


@pytest.mark.parametrize("name", FAST)
def test_nothing_changes_beyond_the_requests_but_what_was_planted(name):
    world = WORLDS[name]
    run = random_run(world.problem(), resets=world.resets)
    matches = [Match(planted, run) for planted in world.planted]
    # Where another lamp is switched on by mistake, another one is switched off by mistake as well.
    known = {"on"} if name == "confused" else set()
    for number, asked, before, after in matches[0].executions:
        literals = {*(after - before), *(f"not {a}" for a in before - after)}
        sign = "" if asked.positive else "not "
        literals.discard(f"{sign}{asked.predicate}({','.join(asked.arguments)})")
        told = [match for match in matches if number in match.shown]
        for literal in literals:
            changed = Form.parse(literal)
            assert changed.predicate in known or any(
                Form.parse(match.planted.change).predicate == changed.predicate for match in told
            ), (number, asked, literal)


@pytest.mark.parametrize("name", [n for n in FAST if any(p.change for p in WORLDS[n].planted)])
def test_a_bug_shows_under_its_condition_only(name):
    world = WORLDS[name]
    run = run_of(world.problem(), min(300, world.executions), 1, world.resets)
    for planted in world.planted:
        match = Match(planted, run)
        assert match.shown or not planted.change, planted.name
        by_number = {number: rest for number, *rest in match.executions}
        for number in match.shown:
            asked, before, _ = by_number[number]
            roles = Form.parse(planted.requests[0]).roles(asked)
            assert planted.where(before, roles) is True


@pytest.mark.parametrize("name", TWINS)
def test_honest_twins_change_what_they_are_asked_for_only(name):
    flagged = [one.change for _, one in changes_beyond(TWINS[name](), 150, 0)]
    assert [change for change in flagged if change is not None] == []


@pytest.mark.parametrize("bug", desk.BUGS)
def test_each_bug_of_the_desk_can_be_switched_off(bug):
    rest = tuple(name for name in desk.BUGS if name != bug)
    run = random_run(desk.desk(rest), 200, resets=4)
    (planted,) = (one for one in desk.PLANTED if one.name == bug)
    # The bill of the power is paid by the way, and paying it may pay it twice.
    assert Match(planted, run).shown == []
    alone = random_run(desk.desk((bug,)), 200, resets=4)
    for other in desk.PLANTED:
        assert other.name == bug or Match(other, alone).shown == []


def test_a_false_done_changes_nothing_in_three_of_ten():
    run = random_run(desk.desk(("false done",)), 600, resets=4)
    (planted,) = (one for one in desk.PLANTED if one.name == "false done")
    forgotten = Counter(
        before == after
        for _, asked, before, after in Match(planted, run).executions
        if not asked.positive
        and asked.predicate == "noted"
        and f"noted({asked.arguments[0]})" in before
    )
    assert forgotten[True] / forgotten.total() == pytest.approx(desk.ONLY_CLAIMS, abs=0.15)


@pytest.mark.parametrize("family", honest.FAMILIES)
def test_honest_agents_do_what_can_be_done(family):
    world = honest.FAMILIES[family](3)
    start = world.vocabulary.state(world.label(world.start))
    assert 4 < len(world.states) < 2000
    (other, *_) = (s for s in world.states if s != start)
    (atom, *_) = world.vocabulary.holding(other & ~start)
    intent = Intent.parse(str(atom))
    ends = world.ends(start, intent)
    assert sum(ends.values()) == pytest.approx(1)
    assert any(end != start for end in ends)


def test_glass_breaks_on_shelves_only_and_the_gate_is_left_open_on_a_low_battery():
    world = habits.Warehouse(breaks=0.05)
    rng = random.Random(0)
    held = ("holding(glass)", "robot-at(s1)")
    broken = sum("broken(glass)" in world.step(held, "put glass", rng) for _ in range(4000))
    assert broken / 4000 == pytest.approx(0.05, abs=0.015)
    docked = ("holding(glass)", "robot-at(dock)")
    assert all("broken(glass)" not in world.step(docked, "put glass", rng) for _ in range(200))
    asked = Intent.parse("robot-at(s2)")
    for low in ((), ("battery-low()",)):
        atoms = tuple(sorted(("robot-at(dock)", *low)))
        after = world.step(atoms, world.act(atoms, asked), rng)
        assert ("gate-open()" in after) is bool(low)
        assert habits._leaves_open(frozenset(atoms), {"x": "s2"}) is bool(low)


def statement(request, change="", *when, kind="more"):
    clauses = tuple(((text,), True) for text in when)
    return Statement("", kind, Form.parse(request), Form.parse(change) if change else None, clauses)


def test_a_bug_is_told_with_the_right_request_change_and_condition_only():
    (planted,) = WORLDS["files-pinned-erased"].planted
    match = Match(planted, random_run(files.files("pinned-erased"), 200))
    told = [
        statement("filed(x)", "erased(x)", "pinned(x)"),
        statement("filed(f)", "erased(f)", "pinned(f)"),
        statement("filed(x)", "erased(x)", "pinned(x)", "not erased(x)"),
    ]
    assert [match.level(one) for one in told] == [2, 2, 2]
    lacking = [
        statement("filed(x)", "erased(x)"),
        statement("filed(x)", "erased(x)", "not pinned(x)"),
        statement("filed(x)", "erased(x)", "x = contract"),
        statement("filed(contract)", "erased(contract)", "pinned(contract)"),
        statement("filed(x)", "erased(x)", "pinned(x)", "filed(another file)"),
    ]
    assert [match.level(one) for one in lacking] == [1] * 5
    wrong = [
        statement("filed(x)", "erased(another file)", "pinned(x)"),
        statement("filed(x)", "not erased(x)", "pinned(x)"),
        statement("not filed(x)", "erased(x)", "pinned(x)"),
        statement("erased(x)", "filed(x)", "pinned(x)"),
        statement("filed(x)", "", "pinned(x)", kind="failure"),
    ]
    assert [match.level(one) for one in wrong] == [0] * 5


def test_a_condition_that_holds_in_the_same_states_of_a_run_by_accident_is_not_the_right_one():
    world = WORLDS["desk"]
    run = run_of(world.problem(), 30, 0, world.resets)
    (sequence,) = (one for one in world.planted if one.name == "sequence")
    match = Match(sequence, run, what_is_said.reference(world, run))
    right, wrong = (
        statement("written-to(x)", "moved(demo)", text) for text in ("noted(trip)", "noted(ideas)")
    )
    assert [match.level(right), match.level(wrong)] == [2, 1]


def test_objects_constants_and_success_are_matched():
    run = random_run(habits.exception(), 100)
    (scratches,) = WORLDS["exception"].planted
    match = Match(scratches, run)
    assert match.level(statement("stored(d)", "scratched(d)")) == 2
    assert match.level(statement("stored(x)", "scratched(x)", "x = d")) == 2
    assert match.level(statement("stored(x)", "scratched(x)", "x != d")) == 1
    assert match.level(statement("stored(c)", "scratched(c)")) == 1
    assert match.level(statement("stored(c)", "scratched(d)")) == 0
    ignores = Planted("ignores", ("open(x)",), "", holding("night()"), "success")
    match = Match(ignores, run_of(habits.night(), 100, 0))
    assert match.level(statement("open(x)", "", "night", kind="refuses")) == 2
    assert match.level(statement("open(x)", "", kind="failure")) == 1
    assert match.level(statement("open(x)", "", "night", kind="side effect")) == 0


def test_what_a_run_says_is_read_in_its_order():
    run = run_of(mail.mail(), 150, 0)
    said = Said(run)
    assert next(one.text for one in said.statements) == run.findings()[0].sentence
    first = [one for one in said.statements if said.is_first(one)]
    assert {str(one.request.predicate) for one in first} == {"archived"}
    assert first[0].text in said.warnings[0]


def test_a_certain_bug_is_named_after_a_few_executions_and_nothing_about_honest_agents(
    monkeypatch,
):
    monkeypatch.setattr(what_is_said, "HONEST_EXECUTIONS", 60)
    names = ["files-erased-instead", "honest-files", "letters"]
    title, bug, total, loop, twin, family = measure_all(names, 1, naive=True)
    assert title == "files-erased-instead, 100 executions, 1 seeds"
    assert "told 1/1 (median" in bug and "headline 1" in bug
    assert total.endswith("[1] of 1 bugs")
    assert "flagged by the loop 1/1" in loop
    assert twin == "honest-files: a false sentence in 0 of 1 runs"
    assert family.startswith("letters: a false sentence in 0 of 1 runs")
    with pytest.raises(SystemExit, match="cannot measure nothing; choose from tools, plain"):
        list(measure_all(["nothing"], 1))
    assert len(FAMILIES) == 15


def test_a_bug_that_is_lost_again_is_counted():
    planted = WORLDS["mail"].planted[0]
    levels = (0, 2, 1, 2)
    run = [
        what_is_said.Reading(n, 1, level, False, False, False, False)
        for n, level in zip((10, 20, 30, 40), levels, strict=True)
    ]
    line = what_is_said.line_of(planted, [run, run[:2]])
    assert "named 2/2 (median 20), told 2/2 (median 20), lost again 1" in line
