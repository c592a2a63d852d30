"""SayCan: the product of usefulness and feasibility decides, until "done" wins."""

import subprocess
import sys

import pytest

from capscope.errors import ProblemError
from capscope.logic import Intent, Literal
from capscope.problem import Position
from capscope.problem.attempt import pursue
from capscope.problems import load_problem
from capscope_worlds.saycan import DONE, SayCanAgent, SayCanSettings, TabletopScript, instruction
from capscope_worlds.saycan.tabletop import SKILL_TEXTS, serving
from capscope_worlds.tabletop import BLOCKS, SKILLS
from support.journal_rows import dump
from support.processes import SECONDS


class Seen:
    def __init__(self, usual=1.0, **affordances):
        self.affordances = dict.fromkeys(SKILLS, usual) | {
            text.replace("_", " "): value for text, value in affordances.items()
        }


class FixedScores:
    """A chooser whose scores are given, one mapping for each decision."""

    fingerprint = "fixed"

    def __init__(self, *decisions):
        self.decisions = decisions

    def begin(self, intent, seed):
        return self

    def scores(self, done, affordances):
        return self.decisions[len(done)]


def acts(agent, *observations, text="on(red,blue)"):
    attempt = agent.begin(Intent.parse(text), 0)
    return [attempt.act(observation) for observation in observations], attempt


def test_the_agents_skills_are_those_of_the_table():
    assert tuple(SKILLS) == SKILL_TEXTS


def test_a_useful_skill_that_looks_infeasible_loses():
    chooser = FixedScores({"a": 0.6, "b": 0.3, DONE: 0.1})
    seen = Seen(a=0.2, b=0.9)
    (action,), attempt = acts(SayCanAgent(chooser), seen)
    assert action == "b"
    assert attempt.transcript.splitlines()[0] == "1. b: useful 0.300, feasible 0.900"


def test_the_agent_stops_when_done_wins_and_when_its_skills_are_used_up():
    go_on = {"a": 0.9, DONE: 0.1}
    chooser = FixedScores(go_on, {"a": 0.3, DONE: 0.7})
    assert acts(SayCanAgent(chooser), Seen(a=1.0), Seen(a=1.0))[0] == ["a", None]
    agent = SayCanAgent(FixedScores(go_on, go_on, go_on), SayCanSettings(max_skills=2))
    assert acts(agent, *[Seen(a=1.0)] * 3)[0] == ["a", "a", None]


def test_equal_products_are_decided_by_name():
    first, second = (dict.fromkeys(names, 0.5) | {DONE: 0.0} for names in ("ab", "ba"))
    for scores in (first, second):
        assert acts(SayCanAgent(FixedScores(scores)), Seen(a=1.0, b=1.0))[0] == ["a"]


@pytest.mark.parametrize(
    ("intent", "skills"),
    [
        ("on(green,yellow)", {"put the green block on the yellow block"}),
        ("on(red,cup)", {"put the red block in the cup"}),
        ("on-table(blue)", {"put the blue block on the table"}),
        ("not on(blue,cup)", {"put the blue block on the table"}),
        ("clear(red)", {f"put the {b} block on the table" for b in ("blue", "green", "yellow")}),
        ("not clear(cup)", {f"put the {block} block in the cup" for block in BLOCKS}),
        ("gone(red)", set()),
        ("on(red,red)", set()),
    ],
)
def test_the_script_finds_the_skills_that_serve_an_intent(intent, skills):
    (literal,) = Intent.parse(intent).literals
    assert set(serving(literal)) == skills


def test_the_script_does_one_useful_skill_and_is_done():
    (first, second), _ = acts(SayCanAgent(TabletopScript()), Seen(), Seen())
    assert (first, second) == ("put the red block on the blue block", None)


def test_the_script_serves_the_literals_of_a_conjunction_in_turn():
    agent = SayCanAgent(TabletopScript())
    done, _ = acts(agent, Seen(), Seen(), Seen(), text="on(red,blue) and on-table(green)")
    assert done == [
        "put the red block on the blue block", "put the green block on the table", None,
    ]  # fmt: skip


def test_the_script_leaves_the_choice_between_equal_skills_to_the_eyes():
    seen = Seen(0.2, put_the_yellow_block_in_the_cup=0.9)
    assert acts(SayCanAgent(TabletopScript()), seen, text="not clear(cup)")[0] == [
        "put the yellow block in the cup"
    ]


def test_the_scores_of_the_script_add_up_to_one():
    for text in ("on(red,blue)", "clear(red)", "gone(red)"):
        scores = TabletopScript().begin(Intent.parse(text), 0).scores([], {})
        assert scores.keys() == {*SKILLS, DONE}
        assert sum(scores.values()) == pytest.approx(1)
        assert min(scores.values()) >= 0


def test_every_intent_at_the_table_has_an_instruction():
    atoms = load_problem("tabletop-affordance").vocabulary.atoms
    said = {
        instruction(Intent.of([Literal(atom, sign)])) for atom in atoms for sign in (True, False)
    }
    assert len(said) == 2 * len(atoms)
    assert not any("Make this" in sentence for sentence in said)
    assert "Take the red block off the cup." in said


def test_an_unknown_number_of_skills_is_refused():
    for bad in ("0", "many"):
        with pytest.raises(ProblemError, match="max-skills must be"):
            load_problem(f"tabletop-affordance:max-skills={bad}")


def test_the_robot_stacks_what_it_sees_and_rarely_more():
    problem = load_problem("tabletop-affordance")
    intent = Intent.parse("on(red,blue)")
    achieved = 0
    for seed in range(15):
        seen = problem.simulator.reset(seed)
        start = Position(seen, problem.abstraction(seen))
        attempt, end = pursue(problem, intent, start, seed)
        assert attempt.simulator_steps == 1
        achieved += intent.holds(end.state, problem.vocabulary)
    assert achieved >= 12


def test_the_same_seed_gives_the_same_journal_in_another_process(tmp_path):
    code = (
        "import sys, capscope\n"
        "settings = capscope.Settings(intents=('on(green,red)', 'not clear(cup)'))\n"
        "capscope.assess('tabletop-affordance', strategy='random', settings=settings, seed=4,\n"
        "                budget=capscope.Budget(executions=20), run=sys.argv[1])"
    )
    for name in ("one", "other"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / name)],
            env={"PYTHONHASHSEED": str(len(name))},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
    one, other = dump(tmp_path / "one"), dump(tmp_path / "other")
    assert len(one["snapshots"]) > 2
    assert one == other
