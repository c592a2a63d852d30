"""Whatever a server does ends as an answer, a retry, or a clear one-line error."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import pytest

from capscope.adapters.llm import CallId, LlmSettings, Sampling, shared_client
from capscope.adapters.llm.client import LONGEST_RETRY_AFTER, MOST_REFUSED
from capscope.adapters.llm.transport import retry_after
from capscope.errors import ConversationRefused, LlmError
from capscope.logic import Intent
from capscope.problem import Allowance, Ending, Position
from capscope.problem.attempt import pursue
from support.llm_agents import KEY, QUESTION, Asker
from support.llm_stub import drops, fails, hangs, say, sends
from support.processes import SECONDS
from support.toy_worlds import board_problem

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")

NONSENSE = "lorem ipsum \N{SNOWMAN} " * 3000  # 40 kB and more


# Answers are data.


def test_an_answer_has_its_token_counts(ask, stub):
    stub.usual = say("hello there", prompt_tokens=17, completion_tokens=3)
    answer = ask()
    assert (answer.text, answer.finish_reason) == ("hello there", "stop")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.tokens) == (17, 3, 20)
    assert not answer.cached


def test_a_request_is_sent_as_given(ask, stub):
    schema = {"type": "object", "properties": {"action": {"enum": ["left", "right"]}}}
    ask(7, 2, temperature=0.5, top_p=0.9, max_tokens=33, stop=("END",), json_schema=schema)
    ask(7, 3, temperature=None)
    first, second = stub.requests
    assert first["messages"] == QUESTION
    assert (first["model"], first["temperature"], first["top_p"]) == ("stub", 0.5, 0.9)
    assert (first["max_tokens"], first["stop"]) == (33, ["END"])
    assert first["response_format"]["json_schema"]["schema"] == schema
    assert first["seed"] == CallId(7, 2).sampling_seed != second["seed"]
    assert {"temperature", "top_p", "stop", "response_format"}.isdisjoint(second)
    assert stub.headers[0]["authorization"] == f"Bearer {KEY}"


def test_no_seed_is_sent_to_a_server_that_rejects_it(client, stub):
    client(send_seed=False).complete(QUESTION, sampling=Sampling(), call=CallId(1))
    assert "seed" not in stub.requests[0]


@pytest.mark.parametrize(
    ("document", "text", "finish_reason"),
    [
        (say(""), "", "stop"),
        (say(None), "", "stop"),
        (say("I'm sorry, I can't help with that."), "I'm sorry, I can't help with that.", "stop"),
        (say(None, refusal="I won't."), "I won't.", "stop"),
        (say('{"action": "le', "length"), '{"action": "le', "length"),
        (say('{"action": left}'), '{"action": left}', "stop"),
        (say(NONSENSE), NONSENSE, "stop"),
        (say("half \ud83d a pair"), "half ? a pair", "stop"),
        (say([{"text": "in "}, {"text": "parts"}, 7]), "in parts", "stop"),
        (say("odd", None), "odd", "unknown"),
    ],
    ids=["empty", "null", "refusal", "refused", "cut", "malformed", "nonsense", "surrogate",
         "parts", "no reason"],
)  # fmt: skip
def test_anything_a_model_says_is_data(ask, stub, waits, document, text, finish_reason):
    stub.usual = document
    answer = ask()
    assert (answer.text, answer.finish_reason) == (text, finish_reason)
    assert ask().cached
    assert (len(stub.requests), waits) == (1, [])


@pytest.mark.parametrize(
    "usage", [None, {}, "many", {"prompt_tokens": -3}, {"prompt_tokens": True}]
)
def test_tokens_that_a_server_does_not_count_are_overestimated(ask, stub, usage):
    document = b'{"choices": [{"message": {"content": "hello there"}}], "usage": %s}'
    stub.usual = sends(document % json.dumps(usage).encode())
    answer = ask()
    assert answer.prompt_tokens >= 5
    assert answer.completion_tokens >= 3


def test_a_renamed_parameter_is_sent_under_its_new_name(ask, stub):
    stub.script.append(
        fails(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    )
    assert ask(max_tokens=9).text == "hello"
    assert ask(1, max_tokens=9).text == "hello"
    assert [r.get("max_tokens") for r in stub.requests] == [9, None, None]
    assert [r.get("max_completion_tokens") for r in stub.requests] == [None, 9, 9]


# Temporary failures.

TEMPORARY = {
    "429": fails(429, "slow down"),
    "500": fails(500, "oh dear"),
    "503": fails(503, "overloaded"),
    "529": fails(529, "overloaded"),
    "408": fails(408, "too slow"),
    "dropped connection": drops,
    "half a body": sends(b'{"choices": [{"mess', length=400),
    "half a document": sends(b'{"choices": [{"message": {"content": "he'),
    "no document": sends(b"<html>Bad gateway</html>"),
    "no choices": sends(b'{"choices": []}'),
    "nothing": sends(b""),
    "a list": sends(b"[1, 2]"),
    "nonsense": sends(NONSENSE.encode()),
    "depth": sends(b"[" * 100_000),
}


@pytest.mark.parametrize("failure", TEMPORARY.values(), ids=TEMPORARY)
def test_a_server_that_fails_three_times_is_asked_a_fourth_time(ask, stub, waits, failure):
    stub.script.extend([failure] * 3)
    assert ask().text == "hello"
    assert len(stub.requests) == 4
    assert len({str(request) for request in stub.requests}) == 1
    # Waits double, and half of each is random.
    assert all(2**i / 2 <= wait <= 2**i for i, wait in enumerate(waits))
    assert len(waits) == 3


@pytest.mark.parametrize("failure", TEMPORARY.values(), ids=TEMPORARY)
def test_a_server_that_keeps_failing_raises_a_one_line_error(client, stub, waits, failure):
    stub.usual = failure
    asked = client(tries=4)
    with pytest.raises(LlmError) as error:
        asked.complete(QUESTION, sampling=Sampling(), call=CallId(0))
    said = str(error.value)
    assert said.startswith(f"{stub.url} ")
    assert "in 4 tries; the current draw was not recorded" in said
    assert "\n" not in said
    assert len(said) < 500
    assert (len(stub.requests), len(waits)) == (4, 3)
    stub.usual = say("back again")
    answer = asked.complete(QUESTION, sampling=Sampling(), call=CallId(0))
    assert (answer.text, answer.cached) == ("back again", False)


def test_a_server_that_hangs_times_out(client, stub, waits):
    stub.usual = hangs
    with pytest.raises(LlmError, match=r"gave no answer within 0\.05 s in 2 tries"):
        client(timeout=0.05, tries=2).complete(QUESTION, sampling=Sampling(), call=CallId(0))
    assert len(waits) == 1


def test_a_server_that_hung_once_is_asked_again(client, stub):
    stub.script.append(hangs)
    asked = client(timeout=1.0)
    assert asked.complete(QUESTION, sampling=Sampling(), call=CallId(0)).text == "hello"


def test_an_unreachable_server_is_named(client, waits):
    with pytest.raises(LlmError, match=r"http://127\.0\.0\.1:9/v1 cannot be reached \(.*refused"):
        client(base_url="http://127.0.0.1:9/v1", tries=3).complete(
            QUESTION, sampling=Sampling(), call=CallId(0)
        )
    assert len(waits) == 2


def test_a_server_that_names_a_time_is_not_asked_earlier(ask, stub, waits):
    stub.script.append(fails(429, headers={"Retry-After": "7"}))
    stub.script.append(fails(503, headers={"retry-after-ms": "45500"}))
    stub.script.append(fails(429, headers={"Retry-After": "soon"}))
    assert ask().text == "hello"
    assert waits[:2] == [7.0, 45.5]
    assert 2 <= waits[2] <= 4


def test_retry_after_may_be_a_date():
    date = formatdate(1000.0, usegmt=True)
    assert retry_after({"retry-after": date}, now=lambda: 940.0) == 60.0
    assert retry_after({"retry-after": date}, now=lambda: 1940.0) == 0.0
    assert retry_after({}) is None


def test_a_server_that_asks_to_wait_for_hours_stops_the_run(ask, stub, waits):
    stub.usual = fails(429, headers={"Retry-After": str(LONGEST_RETRY_AFTER * 10)})
    with pytest.raises(LlmError, match=r"resume in 3000 s$"):
        ask()
    assert (len(stub.requests), waits) == (1, [])


# Permanent failures.


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (fails(401, "who are you?"), r"status 401 \(who are you\?\); check CAPSCOPE_LLM_API_KEY"),
        (fails(403, "not for you"), "status 403"),
        (fails(404, "no such model"), "the base URL, which usually ends in /v1"),
        (fails(413, "Payload Too Large"), "413 .*a proxy may limit the size of requests"),
        (fails(429, "You are broke", code="insufficient_quota"), "You are broke"),
    ],
)  # fmt: skip
def test_a_permanent_failure_is_reported_at_once(ask, stub, waits, failure, said):
    stub.usual = failure
    with pytest.raises(LlmError, match=said):
        ask()
    assert (len(stub.requests), waits) == (1, [])


# Refusals: of one conversation, or of every request.

REFUSALS = {
    "context": fails(400, "This model's maximum context length is 4096", code="too_long"),
    "tokens": fails(422, "`inputs` must have less than 4096 tokens"),
    "size": fails(413, "request (6031 tokens) exceeds the available context size"),
    "filter": fails(400, "The response was filtered", code="content_filter"),
    "policy": fails(403, "It violates our policy", code="content_policy_violation"),
    "history": fails(400, "Expecting ',' delimiter: line 1 column 54 (char 53)"),
    "llama.cpp": fails(500, "Failed to parse tool call arguments as JSON"),
    "plain words": sends(b"plain words", 400),
    "just text": sends(b'{"error": "just text"}', 400),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_refused_conversation_is_not_an_error_of_the_run(ask, stub, waits, refusal):
    stub.script.append(refusal)
    with pytest.raises(ConversationRefused, match=r"the server answered with status [45]\d\d \("):
        ask()
    refused, greeting = stub.requests
    assert greeting == {**refused, "messages": [{"role": "user", "content": "Hello."}]}
    assert waits == []
    # A refusal is not cached.
    assert ask().text == "hello"


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_server_that_refuses_a_greeting_stops_the_run(ask, stub, waits, refusal):
    stub.usual = refusal
    with pytest.raises(LlmError, match=r"\), even to a greeting; the current draw was not"):
        ask()
    assert (len(stub.requests), waits) == (2, [])


def test_a_server_that_breaks_down_after_a_refusal_stops_the_run(ask, stub):
    stub.script.append(REFUSALS["history"])
    stub.usual = fails(401, "your key has expired")
    with pytest.raises(LlmError, match="your key has expired"):
        ask()


def test_a_greeting_is_paid_for(client, stub):
    stub.script.append(REFUSALS["history"])
    allowance = Allowance()
    asked = client(price_prompt=1e6, price_completion=1e6)
    with pytest.raises(ConversationRefused):
        asked.complete(QUESTION, sampling=Sampling(), call=CallId(0), allowance=allowance)
    assert (allowance.cost, allowance.tokens) == (15.0, 0)


HISTORY = [*QUESTION, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "No."}]


@pytest.mark.parametrize("refused", [QUESTION, HISTORY], ids=["prompts", "histories"])
def test_a_server_that_has_refused_every_conversation_stops_the_run(client, stub, refused):
    stub.usual = refuses_all_but_greetings
    asked = client()
    for draw in range(MOST_REFUSED - 1):
        for _ in range(2):  # an agent may try again
            with pytest.raises(ConversationRefused):
                asked.complete(refused, sampling=Sampling(), call=CallId(draw))
    with pytest.raises(LlmError, match=f"refused all {MOST_REFUSED} conversations .*new run"):
        asked.complete(refused, sampling=Sampling(), call=CallId(MOST_REFUSED))


def test_a_server_that_has_accepted_a_conversation_may_refuse_any_number(client, stub):
    asked = client()
    asked.complete(HISTORY, sampling=Sampling(), call=CallId(0))
    stub.usual = refuses_all_but_greetings
    for draw in range(1, 2 * MOST_REFUSED):
        with pytest.raises(ConversationRefused):
            asked.complete(HISTORY, sampling=Sampling(), call=CallId(draw))


def refuses_all_but_greetings(handler, request):
    greeting = request["messages"][-1]["content"] == "Hello."
    (say("hello") if greeting else fails(400, "no"))(handler, request)


# Concurrency.


def test_concurrent_calls_are_limited(client, stub):
    """Three are admitted and wait for each other; a fourth would have joined them."""
    full = threading.Barrier(3)

    def together(handler, request):
        full.wait(SECONDS)
        say("hello")(handler, request)

    stub.usual = together
    asked = client(concurrency=3)
    with ThreadPoolExecutor(12) as pool:
        answers = pool.map(
            lambda i: asked.complete(QUESTION, sampling=Sampling(), call=CallId(i)), range(12)
        )
        assert [answer.text for answer in answers] == ["hello"] * 12
    assert stub.most_at_once == 3


def test_workers_with_the_same_settings_share_a_client(in_environment):
    first = shared_client(LlmSettings.from_environment())
    assert shared_client(LlmSettings.from_environment()) is first
    assert shared_client(LlmSettings.from_environment(model="another")) is not first


def test_no_call_waits_for_a_server_after_the_run_is_stopped(client, stub):
    allowance = Allowance()
    stub.usual = fails(500)
    asked = client()
    asked._wait = lambda stopped, seconds: stopped.set()
    with pytest.raises(LlmError, match="stopped"):
        asked.complete(QUESTION, sampling=Sampling(), call=CallId(0), allowance=allowance)
    assert len(stub.requests) == 1


def test_an_agent_works_without_a_budget(client):
    problem = board_problem(agent=Asker(client()))
    start = Position(problem.simulator.reset(0), 0)
    attempt, _ = pursue(problem, Intent.parse("lit(a)"), start, 0)
    assert (attempt.ending, attempt.llm_tokens) == (Ending.STOPPED, 15)
