import pytest

from capscope import Budget, Predicate, assess
from capscope.insight.findings import Kind
from capscope.logic import Literal
from capscope_experiments.benchmarks.what_is_said import run_of
from capscope_experiments.worlds import habits
from capscope_experiments.worlds.tabulated import lamps
from support.sentence_checker import rows


def run_about(name, executions, seed=0):
    return run_of(habits.WORLDS[name].problem(), executions, seed)


def of_kind(run, kind):
    return [finding for finding in run.findings() if finding.kind == kind]


def counted(run, predicate, condition, failed):
    """Count by hand: the executions of positive requests in which a condition held before."""
    words = run.graph.vocabulary
    inside = [
        failed(intent, before, after)
        for before, intent, after, _ in rows(run)
        for literal in intent.literals
        if literal.positive
        and literal.atom.predicate == predicate
        and not intent.holds(before, words)
        and condition(intent, before)
    ]
    return sum(inside), len(inside)


@pytest.mark.parametrize("seed", range(3))
def test_requests_that_are_ignored_at_night_are_refused_when_it_is_night(seed):
    run = run_about("night", 300, seed)
    night = run.graph.vocabulary.test([Literal.parse("night()")])
    (finding,) = of_kind(run, Kind.REFUSES)
    assert (finding.request, [*map(str, finding.when)]) == ("open(x)", ["night()"])
    expected = counted(run, "open", lambda _, s: night(s), lambda _, s, t: s == t)
    assert (finding.count, finding.possible) == expected
    assert finding.count == finding.possible > 0 and finding.against.hits == 0
    assert finding.watch and not of_kind(run, Kind.LESS)
    assert finding.sentence.startswith(
        f"Asked for open(x) when night(), the agent changed nothing in {finding.count} of "
    )


def test_what_fails_more_often_under_a_flag_succeeds_less():
    run = run_of(habits.WORLDS["flag"].problem(), 1500, 1)
    calm = run.graph.vocabulary.test([Literal.parse("calm()")])
    lit = run.graph.vocabulary.test([Literal.parse("lit()")])
    (finding,) = [one for one in of_kind(run, Kind.LESS) if one.request == "lit()"]
    assert [*map(str, finding.when)] == ["not calm()"]
    expected = counted(run, "lit", lambda _, s: not calm(s), lambda _, s, t: not lit(t))
    assert (finding.count, finding.possible) == expected
    assert finding.rate.low <= 0.4 <= finding.rate.high
    assert finding.against.low <= 0.1 <= finding.against.high


def test_an_object_that_is_taken_for_another_is_told_with_both():
    run = run_about("confused", 900, 3)
    found = of_kind(run, Kind.CONFUSES)
    told = {(f.request, f.change, " and ".join(map(str, f.when))) for f in found}
    assert ("on(x)", "on(red)", "x = pink") in told
    assert ("on(x)", "on(pink)", "x = red") in told
    assert not of_kind(run, Kind.EXCEPTION)
    for finding in found:
        assert finding.rate.low <= habits.CONFUSES <= finding.rate.high
        assert finding.against.hits == 0


def test_an_agent_that_gets_tired_changes_over_time():
    (finding,) = of_kind(run_about("tired", 900), Kind.DRIFT)
    assert finding.request in ("on(x)", "not on(x)")
    assert finding.rate.low <= 1 - habits.TIRED <= finding.rate.high
    assert finding.against.hits == 0


def test_nothing_is_said_about_the_success_of_an_agent_that_does_what_it_is_asked_for():
    run = assess(lamps(4), budget=Budget(executions=200))
    assert run.findings() == []


SHUTTERS = ("bay", "porch")


def shutters(plan):
    """Return an agent that opens shutters by a plan."""
    words = [Predicate("open", ("shutter",)), Predicate("lit")]
    asked = [f"{sign}open({name})" for name in SHUTTERS for sign in ("", "not ")]
    objects = dict.fromkeys(SHUTTERS, "shutter")
    return habits.habit("shutters", words, objects, [*asked, "lit()", "not lit()"], plan)


def test_what_always_fails_is_a_refusal_and_what_fails_by_chance_succeeds_less():
    def plan(atoms, request, rng, number):
        ignores = request == "lit()" or (request.startswith("open") and rng.random() < 0.3)
        return [] if ignores else [request]

    run = run_of(shutters(plan), 200, 3)
    (never,) = of_kind(run, Kind.REFUSES)
    assert never.request == "lit()" and not never.when
    expected = counted(run, "lit", lambda _, s: True, lambda _, s, t: s == t)
    assert (never.count, never.possible) == expected and never.count == never.possible > 0
    (less,) = of_kind(run, Kind.LESS)
    assert less.request == "open(x)" and not less.when
    words = run.graph.vocabulary
    expected = counted(run, "open", lambda _, s: True, lambda i, _, t: not i.holds(t, words))
    assert (less.count, less.possible) == expected
    assert less.rate.low <= 0.3 <= less.rate.high


def test_an_agent_that_can_do_it_in_some_states_only_is_not_said_to_fail_by_chance():
    # It opens the porch if the bay is open, and only then.
    def plan(atoms, request, rng, number):
        return [] if request == "open(porch)" and "open(bay)" not in atoms else [request]

    run = run_of(shutters(plan), 200, 3)
    assert all(finding.when for finding in of_kind(run, Kind.LESS))
