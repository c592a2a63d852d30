"""Intents joined by `or`, through every command."""

import json
from pathlib import Path

import pytest

from capscope import Budget, Intent, Predicate, Settings, Vocabulary, assess, load
from capscope.adapters.pddl import load_task
from capscope.export import FORMATS
from capscope.logic import Phrasing
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem

EITHER = "on(a,b) or on(b,a)"
MIXED = "clear(b) and holding(c) or holding(a)"


@pytest.fixture
def assessed(capscope):
    """Assess a planner that is asked for alternatives; return the command runner."""
    asked = ["--intents", "on(b,a) | on(a,b)", "--intents", MIXED, "--intents", "ontable(a)"]
    done = capscope("assess", "blocksworld", *asked, "--max-executions", 60, "--run", "run")
    assert done.code == 0, done.err
    return capscope


def test_every_command_names_all_alternatives(assessed):
    commands = [
        ("show", "run"),
        ("show", "run", EITHER),
        ("show", "run", "on(b,a) or on(a,b)", "--draws"),
        ("show", "run", "on(a,*) or *"),
        ("plan", "run", "--goal", "on(a,b)"),
        ("evaluate", "run", "--sequences", "20"),
        ("resume", "run", "--max-executions", "70"),
        ("hazards", "run", EITHER),
    ]
    for command in commands:
        done = assessed(*command)
        assert done.code == 0, done.err
        if command[0] not in ("evaluate", "resume"):
            assert EITHER in done.out, command
    assert assessed("report", "run").code == 0
    assert assessed("diff", "run", "run", "--html", "diff.html").code == 0

    assert list(map(str, load("run").capabilities)) == [EITHER, MIXED, "ontable(a)"]
    shown = json.loads(assessed("show", "run", "--json").out)["capabilities"]
    assert [one["intent"] for one in shown] == [
        [["on(a,b)"], ["on(b,a)"]],
        [["clear(b)", "holding(c)"], ["holding(a)"]],
        ["ontable(a)"],
    ]


def test_alternatives_are_exported_to_every_format(assessed):
    run = load("run")
    for kind in FORMATS.all.values():
        assert kind.write(run), kind.name
    goal = ("--goal", "on(a,b) or on(b,a) and not clear(c)")
    done = assessed("export", "run", "--to", "ppddl", "--ground", "--output", "out", *goal)
    assert done.code == 0, done.err
    domain, problem = (Path(f"out/{name}.pddl").read_text() for name in ("domain", "problem"))
    assert "(or\n      (and (not (clear c)) (on b a))\n      (on a b))" in problem
    assert ":negative-preconditions :disjunctive-preconditions" in domain
    assert load_task("out/domain.pddl", "out/problem.pddl").operators


def lamps():
    """Ask for one of two lamps: the agent switches on the first or both, and rain stains."""
    vocabulary = Vocabulary(
        [Predicate("on", ("lamp",)), Predicate("stained", ("lamp",)), Predicate("rain")],
        {"a": "lamp", "b": "lamp"},
    )
    bit = {str(atom): b for atom, b in vocabulary.bit.items()}

    def outcomes(state, intent):
        if intent.holds(state, vocabulary):
            return {state: 1.0}
        if len(intent.alternatives) > 1:
            stain = bit["stained(b)"] if state & bit["rain()"] else 0
            both = bit["on(a)"] | bit["on(b)"]
            return {state | both | stain: 0.5, state | bit["on(a)"] | stain: 0.5}
        (literal,) = intent.literals
        changed = bit[str(literal.atom)]
        return {state | changed if literal.positive else state & ~changed: 1.0}

    texts = ["on(a) or on(b)", "not on(a)", "not on(b)", "not stained(b)", "rain()", "not rain()"]
    intents = [Intent.parse(text) for text in texts]
    return tabulated_problem("lamps", vocabulary, 0, intents, outcomes), texts


def test_what_belongs_to_any_alternative_is_no_side_effect():
    problem, texts = lamps()
    settings = Settings(intents=tuple(texts), audit=0.0)
    run = assess(problem, settings=settings, budget=Budget(executions=400))
    told = [f for f in run.findings() if "on(a) or on(b)" in map(str, f.intents)]
    assert [(one.change, [str(x) for x in one.when]) for one in told] == [
        ("stained(y)", ["rain()"])
    ]


def test_alternatives_are_said_in_words():
    phrasing = Phrasing({"on": ("{0} is on {1}", ""), "held": ("{0} is held", "")})
    said = phrasing.literal("not held(c) and on(a,b) or on(b,a)")
    assert said == "c is not held and a is on b or b is on a"
