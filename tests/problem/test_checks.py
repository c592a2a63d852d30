from functools import partial
from pathlib import Path

import pytest

from capscope.adapters.pddl import SHIPPED_PROBLEMS
from capscope.errors import ConversationRefused
from capscope.problem.checks import RESETS, WALK_STEPS, _equal_resets, check_problem, notes_on
from capscope.problems import load_problem, restore_elsewhere
from support import toy_worlds as toy
from support.toy_worlds import board_problem

TOYS = Path(toy.__file__)


def only_failure(problem, **options):
    failures = check_problem(problem, **options)
    assert len(failures) == 1, failures
    assert "\n" not in failures[0].message
    return failures[0]


HONEST = {
    "a deterministic board": lambda: board_problem(),
    "a slippery board": lambda: board_problem(toy.Board(slip=0.3)),
    "a board that hardly ever slips": lambda: board_problem(toy.Board(slip=0.002)),
    "a board that nearly always slips": lambda: board_problem(toy.Board(slip=0.95)),
    "a board that ends": lambda: board_problem(toy.Board(slip=0.3, ends_at=0b111)),
    "a board that has ended": lambda: board_problem(toy.Board(ends_at=0)),
    "a board laid out anew by each reset": lambda: board_problem(toy.BoardLaidOutAnew()),
    "an agent that gives up": lambda: board_problem(agent=toy.Scripted("a")),
    "an agent that loops": lambda: board_problem(agent=toy.Scripted(forever="wait")),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", HONEST)
def test_a_correct_problem_passes(name, seed):
    assert check_problem(HONEST[name](), seed) == []


@pytest.mark.parametrize("name", SHIPPED_PROBLEMS)
def test_a_shipped_problem_passes(name):
    assert check_problem(load_problem(name), seed=7) == []


DEFECTS = [
    (lambda: board_problem(toy.BoardThatStaysWhereItIs()), "restore", "led to a different state"),
    (lambda: board_problem(toy.BoardThatForgetsASwitch()), "restore", "lit(c)"),
    (lambda: board_problem(toy.BoardWithATextSnapshot()), "restore", "must return bytes"),
    (
        lambda: board_problem(toy.BoardThatRestoresItsGenerator(0.3)),
        "randomness",
        "repeat each other",
    ),
    (lambda: board_problem(toy.BoardThatIgnoresTheSeed(0.3)), "randomness", "repeat each other"),
    (
        lambda: board_problem(toy.BoardThatLetsItsGeneratorRun(0.3)),
        "randomness",
        "same snapshot, seed",
    ),
    (lambda: board_problem(toy.BoardWithHiddenChance()), "randomness", "same snapshot, seed"),
    (lambda: board_problem(toy.BoardWithUnseededResets(0.3)), "randomness", "same reset seed"),
    (lambda: board_problem(toy.BoardWithAHiddenDial()), "randomness", "restore everything else"),
    (lambda: board_problem(abstraction=toy.SeenWithAStranger()), "vocabulary", "bits [3] beyond"),
    (lambda: board_problem(abstraction=toy.SeenAsASet()), "vocabulary", "non-negative int"),
    (lambda: board_problem(abstraction=toy.SeenWithAnUndeclaredAtom()), "vocabulary", "lit(z)"),
    (lambda: board_problem(agent=toy.Remembering()), "agent", "must start without memory"),
    (lambda: board_problem(agent=toy.Moody()), "agent", "randomness from its seed"),
    (
        lambda: board_problem(agent=toy.RaisesAtOnce()),
        "agent",
        f"RuntimeError ({toy.RAISES_HERE}): no idea",
    ),
    (
        lambda: board_problem(agent=toy.Scripted("zzz")),
        "agent",
        "not available (there is no switch",
    ),
    (lambda: board_problem(toy.BrokenBoard()), "walk", "ZeroDivisionError: gears jammed"),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("make", "check", "message"), DEFECTS)
def test_each_defect_fails_its_check_with_a_helpful_message(make, check, message, seed):
    failure = only_failure(make(), seed=seed)
    assert failure.check == check
    assert message in failure.message
    assert str(failure).startswith(f"{check}: ")


def test_a_conversation_that_the_server_refuses_fails_the_check():
    agent = toy.Scripted(ConversationRefused("the server answered with status 400"))
    failure = only_failure(board_problem(agent=agent))
    assert "the agent could not go on: the server answered with status 400" in failure.message


class BoardWithASecret(toy.Board):
    """A board with a switch that is not among the actions."""

    def __init__(self, error=None):
        super().__init__()
        self.error = error

    def step(self, action):
        if action != "secret":
            return super().step(action)
        if self.error is not None:
            raise self.error
        return "secret"


class SeenWithASecret(toy.Seen):
    """Defect: an undeclared atom, where a random walk never goes."""

    def __call__(self, observation):
        return (
            toy.WORDS.state(["lit(z)"])
            if observation == "secret"
            else super().__call__(observation)
        )


def test_an_undeclared_atom_that_only_the_agent_reaches_fails_the_vocabulary_check():
    agent, board = toy.Scripted("secret"), BoardWithASecret()
    failure = only_failure(board_problem(board, agent, SeenWithASecret()))
    assert str(failure).startswith("vocabulary: the abstraction used an unknown atom: atom lit(z)")
    assert "resume" not in failure.message


def test_a_simulator_error_that_only_the_agent_reaches_is_not_blamed_on_the_agent():
    board = BoardWithASecret(OSError("gears jammed"))
    failure = only_failure(board_problem(board, toy.Scripted("secret")))
    assert failure.check == "simulator"
    assert "OSError: gears jammed on action secret for intent" in failure.message
    assert "fix it" in failure.message
    assert "resume" not in failure.message


class WrongInOneBranch(toy.Presser):
    """Does something wrong only if a and b are lit and c is asked for."""

    def __init__(self, wrong, tokens=None):
        self.wrong, self.tokens, self.asked = wrong, tokens, 0

    def begin(self, intent, seed):
        self.asked += 1
        attempting = toy.Pressing(intent)
        attempting.llm_tokens = self.tokens or 0
        press = attempting.act

        def act(observation):
            here = str(intent) == "lit(c)" and toy.Seen()(observation) == 0b011
            return self.wrong() if here else press(observation)

        attempting.act = act
        return attempting


def no_such_switch():
    return "zzz"


def division():
    return 1 / 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("wrong", "message"),
    [(no_such_switch, "asked for lit(c), the agent chose"), (division, "ZeroDivisionError")],
)
def test_an_agent_with_a_bug_in_one_branch_is_found(wrong, message, seed):
    failure = only_failure(board_problem(agent=WrongInOneBranch(wrong)), seed=seed)
    assert failure.check == "agent"
    assert message in failure.message


def test_an_agent_that_uses_tokens_is_not_tested_at_every_position():
    free, paid = (WrongInOneBranch(lambda: None, tokens) for tokens in (0, 9))
    for agent in (free, paid):
        assert check_problem(board_problem(agent=agent)) == []
    assert free.asked - paid.asked == WALK_STEPS - 1


def test_a_generator_in_the_snapshot_of_a_deterministic_simulator_passes():
    assert check_problem(board_problem(toy.BoardThatRestoresItsGenerator())) == []


def test_a_snapshot_that_refers_to_memory_fails_in_another_process():
    def elsewhere(snapshots):
        simulator = toy.BoardWithHandles()
        return [simulator.restore(snapshot, 0) for snapshot in snapshots]

    failure = only_failure(board_problem(toy.BoardWithHandles()), elsewhere=elsewhere)
    assert failure.check == "process"
    assert "could not be restored in another process" in failure.message


def test_a_snapshot_that_leads_to_another_state_in_another_process_is_found():
    failure = only_failure(board_problem(), elsewhere=lambda snapshots: [0] * len(snapshots))
    assert failure.check == "process"
    assert "led to a different state" in failure.message


@pytest.mark.parametrize("source", ["blocksworld", f"{TOYS}:slippery_board"])
def test_a_new_process_restores_the_snapshots_of_a_correct_problem(source):
    problem = load_problem(source)
    assert check_problem(problem, elsewhere=partial(restore_elsewhere, source)) == []


def test_a_new_process_cannot_use_a_handle():
    source = f"{TOYS}:board_with_handles"
    failure = only_failure(load_problem(source), elsewhere=partial(restore_elsewhere, source))
    assert failure.check == "process"
    assert "IndexError" in failure.message


def test_an_agent_that_never_changes_anything_is_noted():
    question = "no attempt changed anything; does the agent act on this world?"
    for agent in (toy.Scripted(), toy.Scripted(forever="wait")):
        assert check_problem(board_problem(agent=agent)) == []
        assert notes_on(board_problem(agent=agent)) == [question]
    for agent in (toy.Presser(), toy.Scripted("a")):
        assert notes_on(board_problem(agent=agent)) == []


def camera_problem(simulator):
    return board_problem(simulator, toy.Scripted("a"))


def test_the_noise_of_a_camera_is_no_different_position():
    problem = camera_problem(toy.BoardSeenByACamera(slip=0.5))
    assert check_problem(problem) == []
    assert not any("different positions" in note for note in notes_on(problem))


def test_a_noisy_camera_does_not_hide_that_draws_repeat_each_other():
    failure = only_failure(camera_problem(toy.CameraThatRepeatsItself(slip=0.5)))
    assert failure.check == "randomness"
    assert "repeat each other" in failure.message


def test_resets_with_a_noisy_observation_or_a_longer_snapshot_are_grouped_by_the_other():
    class Diary(toy.Board):
        """The snapshot records how the position was reached."""

        def snapshot(self):
            return super().snapshot() + self.rng.random().hex().encode()

    for problem in (camera_problem(toy.BoardSeenByACamera()), board_problem(Diary())):
        assert len(_equal_resets(problem, 0)) == 1


def test_resets_to_different_layouts_are_not_grouped():
    class Layouts(toy.Board):
        def reset(self, seed):
            super().reset(seed)
            self.lit = seed % 3
            return self.lit

    groups = _equal_resets(board_problem(Layouts()), 0)
    assert len(groups) == 3
    assert sorted(draw for draws in groups for draw in draws) == list(range(RESETS))
