"""A language model as the chooser of SayCan: one-token questions, asked only as far as needed."""

import json
import math
import random
from contextlib import closing

import pytest

from capscope.adapters.llm import LlmClient, LlmSettings, TokenScores
from capscope.logic import Intent
from capscope.problem import Allowance
from capscope_worlds.saycan import (
    DONE,
    TABLETOP_GUIDE,
    LanguageChooser,
    SayCanAgent,
    SkillGuide,
    SkillQuestion,
)
from capscope_worlds.saycan.language import answer_shares
from capscope_worlds.tabletop import SKILLS
from support.llm_stub import scores, sends
from support.small_model import SMALL_MODEL_PATH, needs_the_small_model

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")
INTENT = Intent.parse("on(green,yellow)")


def random_answers(seed):
    """Answer each question with probabilities that depend on the conversation."""

    def answer(handler, request):
        rng = random.Random(f"{seed} {json.dumps(request['messages'])}")
        words = {word: rng.random() ** 3 for word in (*TARGETS, DONE)}
        total = sum(words.values())
        listed = {word: max(1e-6, weight / total) for word, weight in words.items()}
        scores(**listed)(handler, request)

    return answer


TARGETS = ("red", "blue", "green", "yellow", "cup", "table")


def all_scores(scoring, done):
    """Ask every question: the naive way."""
    found = {}

    def ask(path, question, share):
        for answer, likely in scoring._shares(done, path, question):
            after = question.answers[answer]
            if isinstance(after, str):
                found[after] = share * likely
            else:
                ask((*path, answer), after, share * likely)

    ask((), TABLETOP_GUIDE.question, 1.0)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_the_winner_is_the_same_as_if_all_questions_were_asked(client, stub, seed):
    stub.usual = random_answers(seed)
    rng = random.Random(seed)
    affordances = {skill: rng.random() for skill in SKILLS} | {DONE: 1.0}
    scoring = LanguageChooser(client(), TABLETOP_GUIDE).begin(INTENT, 0)
    found = scoring.scores([], affordances)
    asked = len(stub.requests)
    everything = all_scores(scoring, [])
    assert found.items() <= everything.items()
    assert sum(everything.values()) == pytest.approx(1)
    assert everything.keys() == {*SKILLS, DONE}
    best = max(everything, key=lambda skill: everything[skill] * affordances[skill])
    assert best == max(found, key=lambda skill: found[skill] * affordances[skill])
    assert asked <= len(stub.requests) == 5


def test_scores_are_asked_once_for_an_instruction_whatever_the_attempt(client, stub):
    stub.usual = random_answers(0)
    chooser = LanguageChooser(client(), TABLETOP_GUIDE)
    affordances = dict.fromkeys((*SKILLS, DONE), 0.5)
    first = chooser.begin(INTENT, 1)
    scored = first.scores([], affordances)
    asked = len(stub.requests)
    again = chooser.begin(INTENT, 2)
    assert again.scores([], affordances) == scored
    assert len(stub.requests) == asked
    assert first.llm_tokens == again.llm_tokens == 11 * asked


def test_what_was_done_is_part_of_the_question(client, stub):
    stub.usual = random_answers(0)
    scoring = LanguageChooser(client(), TABLETOP_GUIDE).begin(INTENT, 0)
    scoring.scores(["put the green block on the yellow block"], dict.fromkeys((*SKILLS, DONE), 1.0))
    said = [message["content"] for message in stub.requests[0]["messages"]]
    assert said[-5:] == [
        "Put the green block on the yellow block. Which block is moved first?",
        "green", "Where is it put?", "yellow", "Which block is moved next?",
    ]  # fmt: skip
    assert said[1:6] == [
        "Put the blue block on the red block. Which block is moved first?",
        "blue", "Where is it put?", "red", "Which block is moved next?",
    ]  # fmt: skip
    assert said[6] == DONE


def test_the_roles_of_a_prompt_alternate_and_it_ends_with_a_question():
    prompt = TABLETOP_GUIDE.prompt("Go.", ["put the red block in the cup"], ["blue"])
    roles = [message["role"] for message in prompt]
    assert roles == ["system", *["user", "assistant"] * (len(roles) // 2 - 1), "user"]
    assert prompt[-1]["content"] == "Where is it put?"


def test_every_skill_has_one_path():
    paths = TABLETOP_GUIDE.question.paths
    assert paths.keys() == {*SKILLS, DONE}
    assert paths["put the red block in the cup"] == ("red", "cup")
    assert paths[DONE] == (DONE,)


def test_a_token_that_begins_two_words_counts_for_neither():
    listed = TokenScores((("b", math.log(0.5)), ("Blue", math.log(0.3)), ("", 0.0)), 1, 1)
    assert answer_shares(listed, ["blue", "black"]) == pytest.approx([0.5, 0.5])


def test_an_answer_without_tokens_leaves_all_answers_equal():
    assert answer_shares(TokenScores((), 0, 0), ["a", "b"]) == [0.5, 0.5]


def test_a_chooser_pays_from_the_allowance_of_the_attempt(client, stub):
    stub.usual = random_answers(0)
    asked = client(price_prompt=1e6, price_completion=1e6)
    attempt = SayCanAgent(LanguageChooser(asked, TABLETOP_GUIDE)).begin(INTENT, 0)
    allowance = Allowance()
    paid = []
    allowance.pay = lambda tokens, cost: paid.append((tokens, cost))
    attempt.spend_from(allowance)

    class Seen:
        affordances = dict.fromkeys(SKILLS, 1.0)

    attempt.act(Seen())
    assert paid == [(11, 11.0)] * len(stub.requests)
    assert attempt.llm_tokens == 11 * len(stub.requests)


def test_the_fingerprint_changes_with_the_model_and_the_wording(client):
    def chooser(**given):
        guide = SkillGuide(
            **{
                "introduction": "i", "first": "f", "examples": (), "wording": "",
                "question": SkillQuestion("q", {DONE: DONE}), "instruction": str,
            } | given
        )  # fmt: skip
        return LanguageChooser(client(), guide).fingerprint

    assert chooser() == chooser()
    assert len({chooser(), chooser(first="g"), chooser(wording="w")}) == 3
    assert LanguageChooser(client(model="other"), TABLETOP_GUIDE).fingerprint.startswith("other-")


def test_a_broken_answer_is_an_error_of_the_server(client, stub):
    stub.usual = sends(b'{"choices": [{"message": {"content": "red"}, "finish_reason": "x"}]}')
    scoring = LanguageChooser(client(tries=1), TABLETOP_GUIDE).begin(INTENT, 0)
    with pytest.raises(Exception, match="sent no log probabilities"):
        scoring.scores([], dict.fromkeys((*SKILLS, DONE), 1.0))


@needs_the_small_model
def test_a_local_model_scores_the_skills(tmp_path):
    settings = LlmSettings.from_environment(
        gguf=SMALL_MODEL_PATH, cache=tmp_path / "answers.sqlite"
    )
    with closing(LlmClient(settings)) as local:
        scoring = LanguageChooser(local, TABLETOP_GUIDE).begin(Intent.parse("on-table(blue)"), 0)
        found = scoring.scores([], dict.fromkeys((*SKILLS, DONE), 1.0))
    assert max(found, key=found.get).startswith("put the blue block")
