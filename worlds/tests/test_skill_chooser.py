"""A language model chooses skills by how much more likely it answers yes than no."""

import json
import math
from contextlib import closing

import pytest

from capscope.adapters.llm import LlmClient, LlmSettings, TokenScores
from capscope.errors import ProblemError
from capscope.logic import Intent
from capscope.problem import Allowance, Ending, Position
from capscope.problem.attempt import pursue
from capscope.problems import load_problem
from capscope_worlds.crafter_steve import SKILLS
from capscope_worlds.skill_chooser import (
    ChooserSettings,
    SkillChooserAgent,
    SkillPrompt,
    yes_over_no,
)
from support.llm_stub import scores
from support.small_model import SMALL_MODEL_PATH, needs_the_small_model
from support.toy_worlds import board_problem

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")


class Presser:
    """Carries out the skills of a board: press a switch again and again."""

    fingerprint = "presser"

    def __init__(self):
        self.begun = []

    def begin_skill(self, skill, seed):
        self.begun.append((skill, seed))
        return self

    def act(self, observation):
        return self.begun[-1][0].removeprefix("press ")


def prefers(**liking):
    """Answer yes with a probability that depends on the last word of the question."""

    def answer(handler, request):
        skill = request["messages"][-1]["content"].split()[-1]
        likely = liking.get(skill, 0.1)
        scores(yes=likely, no=1 - likely)(handler, request)

    return answer


@pytest.fixture
def chooser(client):
    """Return a function that makes an agent for the board, with skills that press a switch."""
    problem = board_problem()

    def make(skills=("press a", "press b", "press c"), **settings):
        prompt = SkillPrompt(problem.vocabulary, "front of a board")
        return SkillChooserAgent(
            client(), skills, Presser(), prompt, problem.abstraction, ChooserSettings(**settings)
        )

    return make


def attempt(agent, goal):
    """Pursue a goal on the board with an agent."""
    problem = board_problem(agent=agent, temporal_length=None, horizon=20)
    seen = problem.simulator.reset(0)
    return pursue(problem, Intent.parse(goal), Position(seen, problem.abstraction(seen)), seed=3)


def test_the_score_is_the_difference_of_the_log_probabilities():
    assert yes_over_no(TokenScores((("Yes", -1.0), ("no", -3.0)), 9, 1)) == pytest.approx(2.0)
    assert yes_over_no(TokenScores((("Yes", -1.0), ("well", -4.0)), 9, 1)) == pytest.approx(3.0)
    assert yes_over_no(TokenScores((("well", -4.0),), 9, 1)) == 0.0
    assert yes_over_no(TokenScores((), 0, 0)) == 0.0


def test_the_best_skill_is_followed_until_the_goal_holds(chooser, stub):
    stub.usual = prefers(b=0.9, c=0.4)
    agent = chooser()
    made, end = attempt(agent, "lit(b)")
    assert made.ending is Ending.STOPPED
    assert made.simulator_steps == 1
    assert [skill for skill, _ in agent.runner.begun] == ["press b"]
    assert end.state & board_problem().vocabulary.bit_of("lit(b)")
    assert made.llm_tokens == 33


def test_a_goal_that_holds_already_needs_no_choice(chooser, stub):
    made, _ = attempt(chooser(), "not lit(b)")
    assert (made.simulator_steps, made.llm_tokens, stub.requests) == (0, 0, [])


def test_skills_and_choices_are_limited(chooser, stub):
    stub.usual = prefers(a=0.9)
    agent = chooser(skill_steps=2, choices=3)
    made, _ = attempt(agent, "lit(b)")
    assert made.ending is Ending.STOPPED
    assert made.simulator_steps == 6
    assert [skill for skill, _ in agent.runner.begun] == ["press a"] * 3
    assert len({seed for _, seed in agent.runner.begun}) == 3


def test_prompts_of_one_choice_differ_only_at_the_end(chooser, stub):
    stub.usual = prefers(b=0.9)
    attempt(chooser(), "lit(b)")
    texts = [json.dumps(request["messages"]) for request in stub.requests]
    assert len(texts) == 3
    common = next(i for i in range(len(texts[0])) if len({text[i] for text in texts}) > 1)
    assert all(len(text) - common <= len('a"}]') for text in texts)
    assert {request["top_logprobs"] for request in stub.requests} == {20}
    system, user = stub.requests[0]["messages"]
    assert "Answer yes or no" in system["content"]
    assert user["content"].startswith("Goal: lit(b)")


def test_a_state_that_was_met_before_costs_nothing(chooser, stub):
    stub.usual = prefers(b=0.9)
    agent = chooser()
    for _ in range(3):
        attempt(agent, "lit(b)")
    assert len(stub.requests) == 3


def test_equally_good_skills_are_chosen_in_their_order(chooser, stub):
    stub.usual = scores(yes=0.5, no=0.5)
    agent = chooser(choices=1)
    attempt(agent, "lit(c)")
    assert agent.runner.begun[0][0] == "press a"


def test_the_transcript_has_the_scores_of_every_choice(chooser, stub):
    stub.usual = prefers(b=0.9)
    begun = chooser().begin(Intent.parse("lit(b)"), 1)
    begun.act(board_problem().simulator.reset(0))
    lines = begun.transcript.splitlines()
    assert lines[0] == "goal: lit(b)"
    assert f"{math.log(9):+.3f} press b" in lines[2]
    assert lines[-1] == "chosen: press b"


def test_an_attempt_pays_from_its_allowance(chooser, stub):
    stub.usual = prefers(b=0.9)
    begun = chooser().begin(Intent.parse("lit(b)"), 1)
    allowance = Allowance(tokens=1000)
    begun.spend_from(allowance)
    begun.act(board_problem().simulator.reset(0))
    assert allowance.tokens == begun.llm_tokens == 33


@pytest.mark.parametrize("name", ["skill_steps", "choices", "logprobs"])
def test_limits_must_be_positive_whole_numbers(name):
    assert getattr(ChooserSettings().changed({name: "7"}), name) == 7
    with pytest.raises(ProblemError, match="must be at least 1"):
        ChooserSettings().changed({name: "0"})
    with pytest.raises(ProblemError, match="whole numbers"):
        ChooserSettings().changed({name: "many"})


def test_the_fingerprint_changes_with_the_skills_and_the_settings(chooser):
    agents = [chooser(), chooser(("press a",)), chooser(choices=2)]
    assert len({agent.fingerprint for agent in agents}) == 3
    assert chooser().fingerprint == agents[0].fingerprint
    assert agents[0].fingerprint.startswith("stub-")


# In Crafter.


def test_goals_and_states_of_crafter_are_told_in_words(in_environment):
    pytest.importorskip("crafter")
    problem = load_problem("crafter-skills")
    prompt = problem.agent.prompt
    state = prompt.state(problem.abstraction(problem.simulator.reset(0)))
    assert "tree is close to the player" in state
    assert prompt.goal(Intent.parse("not has(wood_sword)")) == "the player has no wood sword"


def test_one_choice_in_crafter_asks_about_sixteen_skills(in_environment, stub):
    pytest.importorskip("crafter")
    stub.usual = prefers(tree=0.9)
    problem = load_problem("crafter-skills:map=quarry,choices=1")
    seen = problem.simulator.reset(0)
    start = Position(seen, problem.abstraction(seen))
    made, _ = pursue(problem, Intent.parse("achieved(collect_wood)"), start, seed=0)
    assert len(stub.requests) == len(SKILLS) == 16
    assert made.simulator_steps <= 5


@needs_the_small_model
def test_the_small_model_prefers_some_skills_to_others():
    pytest.importorskip("crafter")
    vocabulary = load_problem("crafter-steve").vocabulary
    prompt = SkillPrompt(vocabulary, "a game of Crafter")
    goal = prompt.goal(Intent.parse("is_sleeping()"))
    with closing(LlmClient(LlmSettings.from_environment(gguf=SMALL_MODEL_PATH))) as client:
        asked = [prompt.messages(goal, "nothing", skill) for skill in SKILLS[3:6]]
        found = [yes_over_no(answer) for answer in client.scores(asked)]
    assert all(map(math.isfinite, found))
    assert len(set(found)) == 3
