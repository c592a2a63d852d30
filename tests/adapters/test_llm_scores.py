"""Probabilities of the first token of an answer: read, cached by prompt, paid for."""

import json
import math
import threading
from contextlib import closing

import pytest

from capscope.adapters.llm import CallId, Calls, LlmClient, LlmSettings, Sampling, TokenScores
from capscope.adapters.llm.answers import score_key
from capscope.errors import ConversationRefused, LlmError
from capscope.problem import Allowance
from capscope.problem.problem import AllowanceSpent
from support.llm_agents import KEY, QUESTION
from support.llm_stub import chat, fails, scores, sends
from support.processes import SECONDS
from support.small_model import SMALL_MODEL_PATH, needs_the_small_model

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")


def prompt(text):
    return [QUESTION[0], {"role": "user", "content": text}]


def with_logprobs(logprobs):
    document = chat("yes")
    document["choices"][0]["logprobs"] = logprobs
    return sends(json.dumps(document).encode())


def test_scores_are_the_log_probabilities_that_the_server_lists(client, stub):
    stub.usual = scores(yes=0.5, Yes=0.25, no=0.125)
    (scored,) = client().scores([QUESTION], top=7)
    assert dict(scored.logprobs) == {
        "yes": math.log(0.5),
        "Yes": math.log(0.25),
        "no": math.log(0.125),
    }
    assert scored.logprob("yes") == pytest.approx(math.log(0.75))
    assert scored.logprob("No") == pytest.approx(math.log(0.125))
    assert scored.logprob("maybe") is None
    assert scored.least == pytest.approx(math.log(0.125))
    assert (scored.tokens, scored.finish_reason, scored.cached) == (11, "length", False)
    request = stub.requests[0]
    assert (request["messages"], request["model"]) == (QUESTION, "stub")
    assert (request["logprobs"], request["top_logprobs"], request["max_tokens"]) == (True, 7, 1)
    assert request["temperature"] == 0
    assert "seed" not in request


def test_scores_without_tokens_have_no_least():
    assert TokenScores((), 0, 0).least is None


def test_scores_do_not_depend_on_the_draw_and_answers_still_do(client, stub):
    asked = client()
    stub.usual = scores(yes=0.5, no=0.5)
    for seed in (1, 2, 3):
        assert Calls(asked, seed).scores([QUESTION])[0].logprob("yes") == math.log(0.5)
    assert len(stub.requests) == 1
    for seed in (1, 2, 3):
        Calls(asked, seed).complete(QUESTION, Sampling())
    assert len(stub.requests) == 4


def test_scores_are_on_disk_and_free_for_another_client(client, stub):
    stub.usual = scores(yes=0.5, no=0.25)
    prices = {"price_prompt": 1e6, "price_completion": 1e6}
    first = client(**prices)
    (paid,) = first.scores([QUESTION])
    first.close()
    (free,) = client(**prices).scores([QUESTION])
    assert (paid.cached, paid.cost) == (False, 11.0)
    assert (free.cached, free.cost, free.logprobs, free.tokens) == (True, 0.0, paid.logprobs, 11)
    assert len(stub.requests) == 1


def test_the_key_of_scores_has_the_prompt_the_model_and_the_number_of_tokens_only():
    key = score_key("m", QUESTION, 20)
    assert key == score_key("m", [dict(reversed(m.items())) for m in QUESTION], 20)
    others = [score_key("n", QUESTION, 20), score_key("m", QUESTION, 5)]
    assert len({key, *others, score_key("m", prompt("Hello!"), 20)}) == 4


def test_prompts_are_asked_once_each_and_answered_in_order(client, stub):
    def by_length(handler, request):
        length = len(request["messages"][1]["content"])
        scores(yes=length / 10, no=0.01)(handler, request)

    stub.usual = by_length
    asked = client(concurrency=4)
    texts = ["aaaa", "a", "aaa", "a", "aa"]
    scored = asked.scores([prompt(text) for text in texts])
    assert [round(10 * math.exp(s.logprob("yes"))) for s in scored] == [4, 1, 3, 1, 2]
    assert len(stub.requests) == 4
    asked.scores([prompt("aaaa"), prompt("aaaaa")])
    assert len(stub.requests) == 5


def test_prompts_are_asked_side_by_side_within_the_limit(client, stub):
    all_here = threading.Barrier(4, timeout=SECONDS)

    def together(handler, request):
        all_here.wait()
        scores(yes=0.5, no=0.5)(handler, request)

    stub.usual = together
    client(concurrency=4).scores([prompt(str(i)) for i in range(8)])
    assert stub.most_at_once == 4
    assert len(stub.requests) == 8


def test_a_batch_of_scores_is_one_call_for_the_allowance(client, stub):
    stub.usual = scores(yes=0.5, no=0.5)
    calls = Calls(client(), 1)
    allowance = Allowance(tokens=20)
    calls.spend_from(allowance)
    calls.scores([prompt("a"), prompt("b"), prompt("a")])
    assert calls.llm_tokens == allowance.tokens == 33
    with pytest.raises(AllowanceSpent):
        calls.scores([prompt("a")])
    assert len(stub.requests) == 2


def test_cached_scores_cost_tokens_and_no_money(client, stub):
    stub.usual = scores(yes=0.5, no=0.5)
    asked = client(price_prompt=1e6, price_completion=0.0)
    for paid in (10.0, 0.0):
        allowance = Allowance(cost=10.0)
        asked.scores([QUESTION, QUESTION], allowance=allowance)
        assert (allowance.tokens, allowance.cost) == (22, paid)
    with pytest.raises(AllowanceSpent):
        asked.scores([prompt("new")], allowance=Allowance(cost=0.0))


@pytest.mark.parametrize(
    "document",
    [
        sends(json.dumps(chat("yes")).encode()),
        with_logprobs(None),
        with_logprobs({"content": [{"token": "yes"}]}),
        with_logprobs({"content": [{"top_logprobs": [{"token": "yes", "logprob": None}]}]}),
    ],
    ids=["none", "null", "no list", "no number"],
)
def test_a_server_without_log_probabilities_is_an_error_that_says_so(client, stub, document):
    stub.usual = document
    with pytest.raises(LlmError, match="sent no log probabilities for stub"):
        client().scores([QUESTION])


def test_an_answer_without_tokens_has_no_scores(client, stub):
    stub.usual = with_logprobs({"content": []})
    assert client().scores([QUESTION])[0].logprobs == ()


def test_impossible_tokens_are_left_out(client, stub):
    listed = [{"token": "yes", "logprob": -0.5}, {"token": KEY, "logprob": -1}]
    listed.append({"token": "no", "logprob": float("-inf")})
    stub.usual = with_logprobs({"content": [{"token": "yes", "top_logprobs": listed}]})
    assert client().scores([QUESTION])[0].logprobs == (("yes", -0.5), ("***", -1.0))


def test_a_refused_prompt_is_not_cached(client, stub):
    stub.script.append(fails(400, "the prompt exceeds the context"))
    stub.usual = scores(yes=1.0)
    asked = client()
    with pytest.raises(ConversationRefused, match="exceeds the context"):
        asked.scores([QUESTION])
    assert asked.scores([QUESTION])[0].logprob("yes") == 0.0


def test_temporary_failures_are_retried_and_errors_are_not_cached(client, stub, waits):
    stub.script.extend([fails(503), fails(429)])
    stub.usual = scores(yes=1.0)
    asked = client(tries=2)
    with pytest.raises(LlmError, match="in 2 tries"):
        asked.scores([QUESTION])
    assert asked.scores([QUESTION])[0].logprob("yes") == 0.0
    assert len(waits) == 1


@needs_the_small_model
def test_the_small_model_scores_yes_and_no():
    settings = LlmSettings.from_environment(gguf=SMALL_MODEL_PATH)
    question = [{"role": "user", "content": "Answer yes or no: is snow cold?"}]
    with closing(LlmClient(settings)) as client:
        scored, again = client.scores([question, prompt("Is it? Answer yes or no.")], top=64)
        assert len(scored.logprobs) == len(again.logprobs) == 64
        assert scored.logprob("yes") < 0 > scored.logprob("no")
        assert 0.2 < sum(math.exp(value) for _, value in scored.logprobs) <= 1.001
        told = client.complete(question, sampling=Sampling(0.0, max_tokens=1), call=CallId(0))
        assert told.text == max(scored.logprobs, key=lambda pair: pair[1])[0]
