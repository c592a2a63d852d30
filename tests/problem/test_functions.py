import random

import pytest

from capscope.errors import ProblemError
from capscope.logic import Intent, Vocabulary
from capscope.problem import (
    FunctionAbstraction,
    FunctionAgent,
    FunctionWorld,
    InvalidAction,
    Problem,
)
from capscope.problem.checks import check_problem
from capscope.problem.functions import adapt_arguments

NAMES = ("observation", "intent", "rng")
TALL = Intent.parse("tall")


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (lambda: (), ()),
        (lambda a: (a,), (1,)),
        (lambda a, b: (a, b), (1, 2)),
        (lambda a, b, c: (a, b, c), (1, 2, 3)),
        (lambda *all: all, (1, 2, 3)),
        (lambda a, table=9: (a, table), (1, 9)),
        (lambda a, *, table=9: (a, table), (1, 9)),
        (max, 3),
    ],
)
def test_a_function_receives_as_many_arguments_as_it_takes(function, got):
    assert adapt_arguments(function, "policy", NAMES)(1, 2, 3) == got


@pytest.mark.parametrize("function", [lambda a, b, c, d: 0, lambda a, *, table: 0])
def test_a_function_with_too_many_parameters_is_refused(function):
    with pytest.raises(ProblemError, match=r"the policy takes a, .* must take observation, intent"):
        adapt_arguments(function, "policy", NAMES)


def test_a_method_and_a_partial_are_functions_too():
    class Asked:
        def act(self, observation):
            return observation + 1

    assert FunctionAgent(Asked().act).begin(TALL, 0).act(1) == 2


def test_the_generator_of_an_attempt_is_seeded_by_it():
    agent = FunctionAgent(lambda observation, intent, rng: rng.random())
    first, again, other = (agent.begin(TALL, seed).act(None) for seed in (1, 1, 2))
    assert first == again == random.Random(1).random()
    assert first != other


def growing(state, action, rng):
    return state + (1 if rng.random() < 0.5 else 0)


def plant(actions=("water",)):
    abstraction = FunctionAbstraction(
        Vocabulary.of_atoms(["tall"]), lambda height: ["tall"] * (height > 2)
    )
    return Problem("plant", FunctionWorld(0, growing, actions), FunctionAgent(water), abstraction)


def water(height):
    return "water" if height < 3 else None


def test_a_problem_of_functions_passes_the_checks():
    assert check_problem(plant()) == []
    assert check_problem(plant(lambda height: ["water"] if height < 4 else [])) == []


def test_an_action_that_is_not_listed_is_refused():
    with pytest.raises(InvalidAction, match="'cut' is not among water"):
        plant().simulator.step("cut")


def test_atoms_may_be_texts_and_unknown_ones_are_named():
    vocabulary = Vocabulary.of_atoms(["tall"])
    assert FunctionAbstraction(vocabulary, lambda _: ["tall", "tall()"])(0) == 1
    with pytest.raises(Exception, match=r"small is not in the vocabulary"):
        FunctionAbstraction(vocabulary, lambda _: ["small"])(0)
    with pytest.raises(Exception, match="'tall' is a single atom; give a set or list"):
        FunctionAbstraction(vocabulary, lambda _: "tall")(0)


@pytest.mark.parametrize(
    ("act", "ignores"),
    [(lambda seen: None, True), (lambda seen, intent: None, False), (max, False)],
)
def test_an_agent_that_ignores_the_intent_is_noted(act, ignores):
    notes = FunctionAgent(act).notes()
    assert len(notes) == ignores
    assert all(
        "does the same whatever it is asked for; name its task with --intents" in n for n in notes
    )
