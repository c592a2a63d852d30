"""The worlds for measuring generalization are what they say."""

import random
from collections import Counter
from itertools import islice

import pytest

from capscope import Intent
from capscope.insight.evaluation.reference import enumerate_truth
from capscope.logic import Atom
from capscope.problem.attempt import Position, pursue
from capscope.problems import load_problem
from capscope_experiments.benchmarks.generalization import in_use
from capscope_experiments.worlds import source_of, tabulated

SIZES = {
    "blocksworld-4": (125, 60, 0),
    "farm": (64, 12, 156),
    "kitchen-small": (64, 18, 81),
    "lift-small": (200, 30, 0),
    "rooms-small": (136, 36, 0),
    "sysadmin-4": (16, 8, 64),
    "teleport": (24, 26, 24),
    "triangle-tireworld": (368, 34, 786),
    "ambiguous": (13, 4, 8),
    "asymmetric": (24, 8, 44),
    "flags": (8, 6, 8),
    "forgetful-mail-3": (27, 9, 72),
    "lamps-6": (64, 12, 0),
    "symmetric": (16, 8, 32),
}
"""Of each world: reachable states, capabilities, and pairs with several outcomes."""
LARGE = {"couriers-large": 84, "depot-large": 150, "kitchen-large": 36, "lift-large": 90}
CHANCE = [name for name, (_, _, stochastic) in SIZES.items() if stochastic]


@pytest.mark.parametrize("name", SIZES)
def test_a_world_has_these_states_capabilities_and_stochastic_pairs(name):
    truth = enumerate_truth(load_problem(source_of(name)).truth)
    stochastic = sum(len(outcomes) > 1 for outcomes in truth.table.values())
    assert (len(truth.states), len(truth.capabilities), stochastic) == SIZES[name]
    for (state, intent), outcomes in truth.table.items():
        assert sum(outcomes.values()) == pytest.approx(1), (state, intent)
        assert min(outcomes.values()) > 0


@pytest.mark.parametrize("name", [*CHANCE, "warehouse"])
def test_the_truth_is_what_executions_show(name):
    problem = load_problem(source_of(name))
    rng = random.Random(0)
    compared = 0
    asked = problem.truth.intents()
    for number in range(400):
        if number % 20 == 0:  # some worlds end where nothing can be done
            observation = problem.simulator.reset(0)
        here = Position(observation, problem.abstraction(observation))
        snapshot = problem.simulator.snapshot()
        intent = rng.choice(asked)
        true = problem.truth.outcomes(here.state, intent)
        if len(true) > 1 and compared < 4:
            compared += 1
            assert_frequencies(problem, snapshot, intent, true)
        restored = problem.simulator.restore(snapshot, number)
        _, (observation, _) = pursue(problem, intent, Position(restored, here.state), number)
    assert compared == 4


def assert_frequencies(problem, snapshot, intent, true, repeats=600):
    seen = Counter()
    for seed in range(repeats):
        observation = problem.simulator.restore(snapshot, seed)
        start = Position(observation, problem.abstraction(observation))
        attempt, _ = pursue(problem, intent, start, seed)
        seen[attempt.trajectory[-1]] += 1
    assert seen.keys() <= true.keys()
    for after, share in true.items():
        assert seen[after] / repeats == pytest.approx(share, abs=4 * (share / repeats) ** 0.5)


@pytest.mark.parametrize("name", LARGE)
def test_a_large_world_is_asked_for_as_much(name):
    problem = load_problem(source_of(name))
    shown = {operator.name for operator in problem.simulator.task.operators}
    assert len(shown) == len(problem.simulator.task.operators)
    adds = deletes = 0
    for operator in problem.simulator.task.operators:
        adds |= operator.may_add
        deletes |= operator.may_delete
    words = problem.vocabulary
    changing = [{atom.predicate for atom in words.holding(bits)} for bits in (adds, deletes)]
    assert sum(a.predicate in names for a in words.atoms for names in changing) == LARGE[name]


def test_the_large_instances_have_twice_the_objects():
    for name in ("rooms", "lift", "kitchen"):
        small, large = (load_problem(source_of(f"{name}-{size}")) for size in ("small", "large"))
        assert len(large.vocabulary.objects) >= 2 * len(small.vocabulary.objects)
        assert [p.name for p in large.vocabulary.predicates] == [
            p.name for p in small.vocabulary.predicates
        ]


def test_the_warehouse_has_45_capabilities_and_every_box_is_somewhere():
    truth = load_problem(source_of("warehouse")).truth
    words = tabulated.Warehouse().vocabulary
    states = truth.reachable_states()
    assert len(truth.intents()) == 45
    assert len(states) == 3584
    broken = words.bit_of(Atom("broken", ("glass",)))
    for state in states:
        held = [str(atom) for atom in words.holding(state)]
        assert sum(a.startswith("robot-at") for a in held) == 1
        assert sum(a.startswith("holding") for a in held) <= 1
        for box in tabulated.BOXES:
            assert sum(a.startswith(f"box-at({box}") or a == f"holding({box})" for a in held) == 1
    for intent in truth.intents():
        assert all(
            after & broken for s in states[::7] if s & broken
            for after in truth.outcomes(s, intent)
        )  # fmt: skip


def test_glass_breaks_on_hard_floors_only_and_the_gate_stays_open_on_a_low_battery():
    world = tabulated.Warehouse()
    near = world.start  # the glass is on the shelf, the robot at the dock
    held = sum(world.bit[a] for a in ("robot-at(hall)", "holding(glass)"))

    def chance(state, intent, atom):
        ends = world.outcomes(state, Intent.parse(intent))
        return sum(share for end, share in ends.items() if end & world.bit[atom])

    broken = "broken(glass)"
    assert chance(near, "box-at(glass,dock)", broken) == pytest.approx(0.04)
    assert chance(near, "box-at(glass,yard)", broken) == pytest.approx(0.04)
    assert chance(near, "box-at(glass,hall)", broken) == 0
    assert chance(near, "box-at(red,dock)", broken) == 0
    assert chance(held, "not holding(glass)", broken) == 0
    assert chance(near, "robot-at(yard)", "gate-open") == 0
    assert chance(near | world.bit["battery-low"], "robot-at(yard)", "gate-open") == 1
    assert chance(near, "robot-at(yard)", "battery-low") == pytest.approx(0.1)


@pytest.mark.parametrize("number", [6, 12])
def test_the_assistant_deletes_at_most_one_other_mail(number):
    problem = tabulated.forgetful_mail(number)
    words = problem.vocabulary
    others = 0
    rows = in_use(problem, problem.truth.intents(), random.Random(0))
    for state, intent, after in islice(rows, 2000):
        literal = intent.literals[0]
        gone = [a for a in words.holding(after & ~state) if a.predicate == "deleted"]
        unasked = [a for a in gone if a.arguments != literal.atom.arguments]
        assert len(unasked) <= 1
        others += len(unasked)
    assert 100 < others < 300


def test_lamps_are_as_many_as_wished():
    problem = load_problem(source_of("lamps-200"))
    assert len(problem.intents) == 400
    lit = problem.truth.outcomes(0, Intent.parse("on(l150)"))
    assert [str(a) for state in lit for a in problem.vocabulary.holding(state)] == ["on(l150)"]


def test_any_other_source_is_left_as_it_is():
    assert source_of("tireworld") == "tireworld"
    assert source_of("some.py:world") == "some.py:world"
