from functools import partial
from pathlib import Path

import pytest

from capscope.environments.pddl import SHIPPED_PROBLEMS
from capscope.problems import load_problem, restore_elsewhere
from capscope.world import check_problem
from capscope.world.checks import WALK_STEPS
from support import toy_worlds as toy
from support.toy_worlds import board_problem

TOYS = Path(toy.__file__)


def only_finding(problem, **options):
    findings = check_problem(problem, **options)
    assert len(findings) == 1, findings
    assert "\n" not in findings[0].message
    return findings[0]


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
def test_nothing_is_found_in_an_honest_world(name, seed):
    assert check_problem(HONEST[name](), seed) == []


@pytest.mark.parametrize("name", SHIPPED_PROBLEMS)
def test_nothing_is_found_in_a_shipped_problem(name):
    assert check_problem(load_problem(name), seed=7) == []


LIES = [
    (lambda: board_problem(toy.BoardThatStaysWhereItIs()), "restore", "gave another state"),
    (lambda: board_problem(toy.BoardThatForgetsASwitch()), "restore", "lit(c)"),
    (lambda: board_problem(toy.BoardWithATextSnapshot()), "restore", "must return bytes"),
    (lambda: board_problem(toy.BoardThatRestoresItsGenerator(0.3)), "chance", "copies of one"),
    (lambda: board_problem(toy.BoardThatIgnoresTheSeed(0.3)), "chance", "copies of one"),
    (lambda: board_problem(toy.BoardThatLetsItsGeneratorRun(0.3)), "chance", "same snapshot, seed"),
    (lambda: board_problem(toy.BoardWithHiddenChance()), "chance", "same snapshot, seed"),
    (lambda: board_problem(toy.BoardWithUnseededResets(0.3)), "chance", "same reset seed"),
    (lambda: board_problem(toy.BoardWithAHiddenDial()), "chance", "nothing as it was"),
    (lambda: board_problem(abstraction=toy.SeenWithAStranger()), "vocabulary", "bits [3] beyond"),
    (lambda: board_problem(abstraction=toy.SeenAsASet()), "vocabulary", "non-negative int"),
    (lambda: board_problem(abstraction=toy.SeenWithAnUndeclaredAtom()), "vocabulary", "lit(z)"),
    (lambda: board_problem(agent=toy.Remembering()), "agent", "must start afresh"),
    (lambda: board_problem(agent=toy.Moody()), "agent", "chance from its seed only"),
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
@pytest.mark.parametrize(("make", "check", "words"), LIES)
def test_a_lie_is_found_by_the_check_for_it_and_named_in_plain_words(make, check, words, seed):
    finding = only_finding(make(), seed=seed)
    assert finding.check == check
    assert words in finding.message
    assert str(finding).startswith(f"{check}: ")


class BoardWithASecret(toy.Board):
    """A board with one more switch, which is in no list of actions."""

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
    """Lie: an atom the vocabulary does not have, where a random walk never comes."""

    def __call__(self, observation):
        return (
            toy.WORDS.state(["lit(z)"])
            if observation == "secret"
            else super().__call__(observation)
        )


def test_an_atom_that_only_the_agent_brings_about_is_a_matter_of_the_words():
    agent, board = toy.Scripted("secret"), BoardWithASecret()
    finding = only_finding(board_problem(board, agent, SeenWithASecret()))
    assert str(finding).startswith(
        "vocabulary: the abstraction cannot say what it sees: atom lit(z)"
    )
    assert "resume" not in finding.message


def test_a_simulator_that_breaks_where_only_the_agent_comes_is_not_the_agents_fault():
    board = BoardWithASecret(OSError("gears jammed"))
    finding = only_finding(board_problem(board, toy.Scripted("secret")))
    assert finding.check == "simulator"
    assert "OSError: gears jammed on action secret for intent" in finding.message
    assert "mend it" in finding.message
    assert "resume" not in finding.message


class WrongInOneBranch(toy.Presser):
    """Does something wrong where a and b are lit and c is asked for, and nowhere else."""

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
    ("wrong", "words"),
    [(no_such_switch, "asked for lit(c), the agent chose"), (division, "ZeroDivisionError")],
)
def test_an_agent_that_is_wrong_in_one_branch_only_is_found(wrong, words, seed):
    finding = only_finding(board_problem(agent=WrongInOneBranch(wrong)), seed=seed)
    assert finding.check == "agent"
    assert words in finding.message


def test_an_agent_that_pays_for_its_answers_is_not_asked_at_every_position():
    free, paid = (WrongInOneBranch(lambda: None, tokens) for tokens in (0, 9))
    for agent in (free, paid):
        assert check_problem(board_problem(agent=agent)) == []
    assert free.asked - paid.asked == WALK_STEPS - 1


def test_a_generator_in_the_snapshot_of_a_deterministic_world_does_no_harm():
    assert check_problem(board_problem(toy.BoardThatRestoresItsGenerator())) == []


def test_a_snapshot_that_refers_to_memory_is_of_no_use_elsewhere():
    def elsewhere(snapshots):
        simulator = toy.BoardWithHandles()
        return [simulator.restore(snapshot, 0) for snapshot in snapshots]

    finding = only_finding(board_problem(toy.BoardWithHandles()), elsewhere=elsewhere)
    assert finding.check == "process"
    assert "could not be restored in another process" in finding.message


def test_a_snapshot_that_means_another_state_elsewhere_is_found():
    finding = only_finding(board_problem(), elsewhere=lambda snapshots: [0] * len(snapshots))
    assert finding.check == "process"
    assert "gave another state" in finding.message


@pytest.mark.parametrize("source", ["blocksworld", f"{TOYS}:slippery_board"])
def test_a_fresh_process_restores_the_snapshots_of_an_honest_problem(source):
    problem = load_problem(source)
    assert check_problem(problem, elsewhere=partial(restore_elsewhere, source)) == []


def test_a_fresh_process_cannot_use_a_handle():
    source = f"{TOYS}:board_with_handles"
    finding = only_finding(load_problem(source), elsewhere=partial(restore_elsewhere, source))
    assert finding.check == "process"
    assert "IndexError" in finding.message
