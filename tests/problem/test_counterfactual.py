"""Verdicts about changes, in worlds where each is true and where it is false."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope import Limits, Predicate, Problem, Vocabulary
from capscope.logic import Effect, Intent
from capscope.problem import Ending
from capscope.problem.actions import written
from capscope.problem.counterfactual import (
    Change,
    Need,
    Recorded,
    StepLimit,
    StepsSpent,
    decide,
)
from capscope.problem.functions import FunctionAbstraction, FunctionWorld
from capscope.problem.problem import InvalidAction

ATOMS = "abcd"
WORDS = Vocabulary([Predicate(name) for name in ATOMS], {})
ENOUGH = StepLimit(1000, 1000)


def world(step, actions, start=""):
    """Return a problem in which a state is a text of the atoms that hold."""
    return Problem(
        "world",
        FunctionWorld("".join(sorted(start)), step, actions),
        None,
        FunctionAbstraction(WORDS, lambda atoms: [f"{atom}()" for atom in atoms]),
        Limits(temporal_length=None),
    )


def rules(**named):
    """Return a world whose actions have the atoms that they need, add and delete.

    `open="a>b-c"` opens if `a` holds, makes `b` true and `c` false.
    """

    def step(atoms, action):
        needs, _, effects = named[action].partition(">")
        adds, _, deletes = effects.partition("-")
        if not set(needs) <= set(atoms):
            raise InvalidAction(action)
        return "".join(sorted((set(atoms) | set(adds)) - set(deletes)))

    return world(step, list(named))


def states_along(problem, actions, seed, start=b'""'):
    simulator = problem.simulator
    states = [problem.abstraction(simulator.restore(start, seed))]
    return [*states, *(problem.abstraction(simulator.step(action)) for action in actions)]


def decided(problem, actions, request, change, ending=Ending.STOPPED, limit=ENOUGH, seed=5, **told):
    """Decide about a change after some actions were taken in a dark world."""
    states = [state for state, _ in itertools.groupby(states_along(problem, actions, seed))]
    recorded = Recorded(b'""', seed, (), [written(a) for a in actions], tuple(states), ending)
    intent = Intent.parse(request)
    own = WORDS.state(str(x.atom) for x in intent.literals)
    asked = Change(intent.test(WORDS), (), literal(change), own, **told)
    return decide(problem, recorded, asked, limit)


def literal(text):
    """Return the change that makes `a` true, or false for `-a`."""
    bit = WORDS.state([f"{text.removeprefix('-')}()"])
    return Effect(0, bit) if text.startswith("-") else Effect(bit, 0)


def test_a_change_by_an_action_that_the_request_does_not_need_is_needless():
    damage = rules(do=">a", look=">", break_it=">b")
    found = decided(damage, ["look", "do", "break_it"], "a", "b")
    assert (found.verdict, found.note) == (Need.NEEDLESS, "")
    assert found.kept == (0, 1)  # a change after the request held needs no further repetition
    assert decided(damage, ["break_it", "look", "do"], "a", "b")[:2] == (Need.NEEDLESS, (1, 2))


def test_several_actions_that_make_a_change_are_left_out_together():
    damage = rules(do=">a", one=">b", two=">b", three=">b")
    found = decided(damage, ["one", "two", "do", "three"], "a", "b")
    assert (found.verdict, found.kept) == (Need.NEEDLESS, (2,))


def test_a_change_made_by_an_action_that_only_another_one_makes_possible_is_needless():
    # The trap is armed by one action and springs with the one that the request needs.
    def step(atoms, action):
        made = {"arm": "c", "do": "ab" if "c" in atoms else "a"}[action]
        return "".join(sorted({*atoms, *made}))

    found = decided(world(step, ["arm", "do"]), ["arm", "do"], "a", "b")
    assert (found.verdict, found.kept) == (Need.NEEDLESS, (1,))


def test_what_the_same_action_causes_is_part_of_it():
    found = decided(rules(look=">", do=">ab"), ["look", "do"], "a", "b")
    assert (found.verdict, found.kept) == (Need.PART, (1,))


def test_what_another_action_does_not_cause_is_not_part_of_it():
    found = decided(rules(do=">ab", carefully=">a"), ["do"], "a", "b")
    assert (found.verdict, found.note) == (Need.NEEDLESS, "with carefully instead")


def test_a_change_by_an_action_that_a_later_one_needs_is_on_the_way():
    door = rules(look=">", open=">b", enter="b>a")
    found = decided(door, ["open", "look", "enter"], "a", "b")
    assert (found.verdict, found.kept) == (Need.ON_THE_WAY, (0, 2))
    window = rules(open=">b", look=">", enter=">a")
    assert decided(window, ["open", "look", "enter"], "a", "b").verdict is Need.NEEDLESS


def test_an_execution_that_ends_with_its_first_change_is_on_the_way():
    door = rules(open=">b", enter="b>a")
    found = decided(door, ["open"], "a", "b", Ending.CHANGED)
    assert (found.verdict, found.steps) == (Need.ON_THE_WAY, 0)
    assert decided(door, ["open"], "b", "b", Ending.CHANGED).verdict is Need.PART


def test_an_action_that_changes_something_else_instead_does_not_show_that_a_change_is_needless():
    choice = rules(left=">ab", right=">ac")
    assert decided(choice, ["left"], "a", "b").verdict is Need.PART
    narrower = rules(left=">abc", right=">ac")
    assert decided(narrower, ["left"], "a", "b").note == "with right instead"


def test_a_change_instead_of_the_request_is_needless_if_the_agent_stopped():
    damage = rules(do=">a", break_it=">b")
    found = decided(damage, ["break_it"], "a", "b")
    assert (found.verdict, found.kept, found.note) == (Need.NEEDLESS, (), "nothing was achieved")
    early = decided(damage, ["break_it"], "a", "b", Ending.HORIZON)
    assert (early.verdict, early.note) == (
        Need.UNDECIDED,
        "the execution ended early: horizon reached",
    )


def test_nothing_has_to_be_done_for_a_request_that_holds():
    found = decided(rules(break_it=">b"), ["break_it"], "not a", "b")
    assert (found.verdict, found.kept) == (Need.NEEDLESS, ())


def test_a_change_that_was_made_and_undone_on_the_way_counts_as_made():
    found = decided(rules(both=">ab", undo=">-b"), ["both", "undo"], "a", "b")
    assert found.verdict is Need.PART


class Named:
    """An action that is known by its text only."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name


def test_actions_that_are_listed_only_where_they_are_possible_are_found_again():
    done, more, instead = map(Named, ("do", "more", "instead"))

    def listed(atoms):
        return [] if "c" in atoms else [more, instead] if "a" in atoms else [done]

    def step(atoms, action):
        return "".join(sorted({*atoms, *{"do": "a", "more": "bcd", "instead": "c"}[str(action)]}))

    found = decided(world(step, listed), [done, more], "c", "b")
    assert (found.verdict, found.note) == (Need.NEEDLESS, "with instead instead")
    part = world(step, lambda atoms: [] if "c" in atoms else [more] if "a" in atoms else [done])
    assert decided(part, [done, more], "c", "b").verdict is Need.PART


def test_an_execution_is_repeated_from_a_position_nearby_if_it_ends_alike_there():
    damage = rules(look=">", do="c>a", break_it=">b", ready=">c")
    states = [WORDS.state(map("{}()".format, atoms)) for atoms in ("c", "bc", "abc")]
    told = Change(Intent.parse("a").test(WORDS), (), literal("b"), states[0] | 1)
    steps = []
    for nearby in (None, b'""', b'"c"'):
        recorded = Recorded(
            b'""', 0, ["ready", *["look"] * 9], ["break_it", "do"], tuple(states),
            Ending.STOPPED, nearby,
        )  # fmt: skip
        found = decide(damage, recorded, told, ENOUGH)
        assert found[:2] == (Need.NEEDLESS, (1,))
        steps.append(found.steps)
    assert steps[0] == steps[2] + 10 < steps[1]


class Forgetful(FunctionWorld):
    """A world in which a restore does not put back everything."""

    times = 0

    def restore(self, snapshot, seed):
        self.times += 1
        return super().restore(snapshot, seed)


def test_a_world_that_does_not_repeat_exactly_leaves_it_undecided():
    simulator = Forgetful("", lambda atoms, action: "ab" if simulator.times % 2 else "a", ["do"])
    simulator.times = 0
    forgetful = Problem(
        "forgetful", simulator, None, world(None, []).abstraction, Limits(temporal_length=None)
    )
    found = decided(forgetful, ["do"], "a", "b")
    assert (found.verdict, found.note) == (Need.UNDECIDED, "the world does not repeat exactly")


def test_an_error_of_the_simulator_leaves_it_undecided():
    def step(atoms, action):
        if action == "do" and "b" not in atoms:
            raise ZeroDivisionError("lost")
        return "".join(sorted({*atoms, "a" if action == "do" else "b"}))

    found = decided(world(step, ["break", "do"]), ["break", "do"], "a", "b")
    assert found.verdict is Need.UNDECIDED
    assert found.note == "the simulator raised ZeroDivisionError: lost"


def test_steps_are_limited_and_counted():
    damage = rules(do="b>a", one=">b", two=">c")
    actions = ["two"] * 30 + ["one", "do"]
    found = decided(damage, actions, "a", "b", limit=StepLimit(120, 1000))
    assert found.note == "more than 120 simulator steps"
    assert 100 < found.steps <= 120
    with pytest.raises(StepsSpent):
        decided(damage, actions, "a", "b", limit=StepLimit(120, 50))


def chance(probability):
    """Return a world in which what achieves the request also makes a change by chance."""

    def step(atoms, action, rng):
        made = {"do": "a", "look": ""}[action]
        return "".join(sorted({*atoms, *made} | ({"b"} if rng.random() < probability else set())))

    return world(step, ["do", "look"])


def seed_that(problem, actions, condition):
    """Return a seed with which the last state meets a condition."""
    bits = dict(zip(ATOMS, (1, 2, 4, 8), strict=True))

    def met(seed):
        last = states_along(problem, actions, seed)[-1]
        return condition({atom for atom, bit in bits.items() if last & bit})

    return next(filter(met, itertools.count()))


def test_what_happens_by_chance_is_needless_by_chance_and_never_part_of_it():
    rare = chance(0.3)
    seed = seed_that(rare, ["do"], lambda atoms: "b" in atoms)
    found = decided(rare, ["do"], "a", "b", seed=seed)
    assert (found.verdict, found.kept, found.note) == (Need.NEEDLESS, (0,), "by chance")
    certain = chance(1.0)
    assert decided(certain, ["do"], "a", "b").verdict is Need.PART


def test_a_request_that_failed_by_chance_leaves_what_prepared_it_undecided():
    def step(atoms, action, rng):
        made = {"prepare": "b", "do": "a" if rng.random() < 0.5 else ""}[action]
        return "".join(sorted({*atoms, *made}))

    unsure = world(step, ["prepare", "do"])
    seed = seed_that(unsure, ["prepare", "do"], lambda atoms: "a" not in atoms)
    found = decided(unsure, ["prepare", "do"], "a", "b", seed=seed)
    assert found.verdict is Need.UNDECIDED
    assert found.note == "by chance the request was not achieved"


EFFECTS = st.tuples(
    st.text(ATOMS, max_size=1), st.text(ATOMS, max_size=2), st.text(ATOMS, max_size=1)
)


@settings(max_examples=150, deadline=None)
@given(st.lists(EFFECTS, min_size=1, max_size=5), st.sampled_from(["a", "not a"]))
def test_all_subsets_show_a_needless_change_if_and_only_if_it_is_found(effects, request_text):
    named = {f"x{i}": f"{n}>{a}-{d}" for i, (n, a, d) in enumerate(effects)}
    problem = rules(**named)
    problem.simulator.restore(b'""', 0)
    taken = []
    for action in named:
        try:
            problem.simulator.step(action)
            taken.append(action)
        except InvalidAction:
            continue
    holds, bit = Intent.parse(request_text).test(WORDS), WORDS.state(["b()"])
    states = states_along(problem, taken, 0)
    if not holds(states[-1]) or not states[-1] & bit:
        return

    def spared(kept):
        simulator = problem.simulator
        along = [problem.abstraction(simulator.restore(b'""', 0))]
        for place in kept:
            try:
                along.append(problem.abstraction(simulator.step(taken[place])))
            except InvalidAction:
                continue
        return holds(along[-1]) and not any(state & bit for state in along)

    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(len(taken)), size) for size in range(len(taken) + 1)
    )
    found = decided(problem, taken, request_text, "b")
    assert (found.verdict is Need.NEEDLESS and not found.note) == any(map(spared, subsets))
    if found.verdict is Need.NEEDLESS and not found.note:
        assert spared(found.kept)


def test_longer_executions_are_cut_down_to_the_action_that_causes_both():
    rng = random.Random(0)
    actions = [rng.choice(["look", "c", "undo"]) for _ in range(60)]
    found = decided(
        rules(look=">", c=">c", undo=">-c", do=">ab"), [*actions, "do"], "a", "b",
        limit=StepLimit(20_000, 20_000),
    )  # fmt: skip
    assert (found.verdict, found.kept) == (Need.PART, (60,))
