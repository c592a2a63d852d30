"""The built-in agent, agents with their own loop, and the proxy: against a real server."""

import json
import threading
import urllib.error
import urllib.request

import pytest

from capscope.adapters.tools import ToolCallingSettings, ToolWorld, ask, tool_problem
from capscope.adapters.tools.agents import AttemptOver
from capscope.errors import LlmError, ProblemError
from capscope.logic import Intent
from capscope.problem import Allowance, Ending, Position
from capscope.problem.attempt import pursue
from support.llm_stub import fails, say, sends
from support.strict_models import MALFORMED, strict
from support.tool_models import calling, calls

pytest_plugins = "support.llm_fixtures"
pytest.importorskip("pydantic")
pytestmark = pytest.mark.usefixtures("own_cache")


def look(room) -> list[str]:
    """Look around."""
    return [f"{name} is {'on' if on else 'off'}" for name, on in room.items()]


def switch(room, lamp: str, on: bool = True) -> str:
    """Switch a lamp.

    Args:
        lamp: the name of the lamp
    """
    if lamp not in room:
        raise ValueError(f"there is no lamp {lamp}")
    room[lamp] = on
    return "switched"


def lamps(agent=None, **options):
    world = ToolWorld({"desk": False, "bed": False}, [look, switch], {"lamp": ["desk", "bed"]})
    return tool_problem(
        world,
        predicates={"on(lamp)": lambda room, lamp: room[lamp]},
        objects={"lamp": ["desk", "bed"]},
        asks=[ask("on(x)", "Switch on the {x} lamp.", "Light up: {x}.")],
        agent=agent,
        **options,
    )


def attempt(problem, intent="on(desk)", seed=1, allowance=None):
    observation = problem.simulator.reset(0)
    start = Position(observation, problem.abstraction(observation))
    return pursue(problem, Intent.parse(intent), start, seed, allowance=allowance)


def post(llm, body=None, path="chat/completions"):
    """Ask the proxy as a client of another package does."""
    body = body or {"model": llm.model, "messages": [{"role": "user", "content": "hi"}]}
    request = urllib.request.Request(
        f"{llm.base_url}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        return response.read().decode()


def refused(llm, body):
    """Ask the proxy for what it refuses; return the status and the message."""
    with pytest.raises(urllib.error.HTTPError) as raised:
        post(llm, body)
    with raised.value as error:
        return error.code, json.loads(error.read())["error"]["message"]


def test_the_built_in_agent_carries_out_calls_until_there_are_none(in_environment):
    in_environment.script.extend(
        [
            calls(("look", {}), ("switch", {"lamp": "table"}), text="I look first."),
            calls(("switch", '{"lamp": ')),
            calls(("switch", {"lamp": "desk"})),
            say("Done."),
        ]
    )
    problem = lamps(settings=ToolCallingSettings(system="You are a butler."))
    made, end = attempt(problem)
    assert made.ending is Ending.STOPPED and made.simulator_steps == 4
    assert end.observation.state == {"desk": True, "bed": False}
    first, second, third, fourth = in_environment.requests
    assert [tool["function"]["name"] for tool in first["tools"]] == ["look", "switch"]
    assert first["messages"][0] == {"role": "system", "content": "You are a butler."}
    assert "desk" in first["messages"][1]["content"]
    assert [m["content"] for m in second["messages"] if m["role"] == "tool"] == [
        '["desk is off","bed is off"]',
        "error: there is no lamp table",
    ]
    assert third["messages"][-1]["content"] == "error: the arguments are not a JSON object"
    assert fourth["messages"][-1]["content"] == "switched"
    # Each result answers the call that asked for it.
    asked = [c["id"] for m in fourth["messages"] for c in m.get("tool_calls", ())]
    assert asked == [m["tool_call_id"] for m in fourth["messages"] if m["role"] == "tool"]
    assert "→ switch(lamp='desk')" in made.transcript and made.llm_tokens == 60


@pytest.mark.parametrize("spoil", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_call_is_answered_and_repeated_in_a_valid_form(in_environment, spoil):
    """The server refuses whatever breaks the protocol, and the model makes its call again."""

    def model(handler, request):
        results = [m["content"] for m in request["messages"] if m["role"] == "tool"]
        if results and results[-1] == "switched":
            return say("Done.")(handler, request)
        document = calling(
            ("look", {}), ("switch", {"lamp": "desk"}), turn=len(request["messages"])
        )
        if len(results) == 2:
            sent = document["choices"][0]["message"]["tool_calls"]
            sent[:] = [spoil(sent[1])]
        return sends(json.dumps(document).encode())(handler, request)

    looks = calling(("look", {}), ("look", {}), turn=1)
    in_environment.script.append(sends(json.dumps(looks).encode()))
    in_environment.usual = strict(model)
    made, end = attempt(lamps())
    assert made.ending is Ending.STOPPED, made.detail
    assert end.observation.state["desk"] is True


def test_a_call_that_cannot_be_read_is_not_made(in_environment):
    in_environment.script.append(calls(("look", '{"lamp"'), ("switch", '["desk"]')))
    in_environment.usual = say("Done.")
    made, end = attempt(lamps())
    results = [m for m in in_environment.requests[-1]["messages"] if m["role"] == "tool"]
    assert [m["content"] for m in results] == ["error: the arguments are not a JSON object"] * 2
    assert made.simulator_steps == 2 and end.observation.state["desk"] is False
    # What the model said is kept as it was.
    assert r'"name": "look", "arguments": "{\"lamp\""}' in made.transcript
    (repeated,) = (m for m in in_environment.requests[-1]["messages"] if "tool_calls" in m)
    assert [json.loads(call["function"]["arguments"]) for call in repeated["tool_calls"]] == [
        {"unreadable arguments": '{"lamp"'},
        {"unreadable arguments": '["desk"]'},
    ]


def test_a_valid_call_is_repeated_as_it_was_sent(in_environment):
    """Further fields, such as signatures of thoughts, belong to the protocol of some servers."""
    document = calling(("look", "{ }"))
    (sent,) = document["choices"][0]["message"]["tool_calls"]
    sent["extra_content"] = {"signature": "abc"}
    in_environment.script.append(sends(json.dumps(document).encode()))
    in_environment.usual = say("Done.")
    attempt(lamps())
    (repeated,) = (m for m in in_environment.requests[-1]["messages"] if "tool_calls" in m)
    assert repeated["tool_calls"] == [sent]


def test_a_conversation_that_becomes_too_long_ends_the_attempt_with_the_reason(in_environment):
    in_environment.script.extend(
        [calls(("look", {})), fails(400, "maximum context length exceeded")]
    )
    made, _ = attempt(lamps())
    assert made.ending is Ending.REFUSED and made.simulator_steps == 1
    assert "status 400 (maximum context length exceeded)" in made.detail
    assert "→ look()" in made.transcript


def test_draws_do_not_share_answers_and_repeats_are_not_paid_for(in_environment):
    problem = lamps()
    in_environment.usual = say("No.")
    for seed in (1, 2, 1, 2):
        attempt(problem, seed=seed)
    assert len(in_environment.requests) == 2
    assert len({request["seed"] for request in in_environment.requests}) == 2


def test_tools_are_part_of_the_cache_key(in_environment):
    in_environment.usual = say("No.")
    attempt(lamps())
    other = lamps()
    other.agent.tools[0].schema["properties"]["why"] = {"type": "string"}
    attempt(other)
    assert len(in_environment.requests) == 2


def test_the_phrasing_is_drawn_by_the_seed(in_environment):
    in_environment.usual = say("No.")
    problem = lamps()
    for seed in range(12):
        attempt(problem, seed=seed)
    said = {request["messages"][-1]["content"] for request in in_environment.requests}
    assert said == {"Switch on the desk lamp.", "Light up: desk."}


def test_phrasings_as_a_factor_are_atoms_that_resets_draw(in_environment):
    in_environment.usual = say("No.")
    problem = lamps(phrasings="factor")
    for reset in range(8):
        observation = problem.simulator.reset(reset)
        state = problem.abstraction(observation)
        (atom,) = problem.vocabulary.holding(state)
        again = problem.simulator.restore(problem.simulator.snapshot(), 0)
        assert again.wording == observation.wording
        pursue(problem, Intent.parse("on(bed)"), Position(observation, state), reset)
        said = in_environment.requests[-1]["messages"][-1]["content"]
        assert said.startswith({"wording(1)": "Switch", "wording(2)": "Light"}[str(atom)])
    assert {r["messages"][-1]["content"][:5] for r in in_environment.requests} == {"Switc", "Light"}


def test_a_tool_is_a_plain_function_for_an_agent_with_its_own_loop():
    seen = {}

    def agent(prompt, tools):
        seen.update({tool.__name__: tool for tool in tools}, prompt=prompt)
        assert tools[0]() == '["desk is off","bed is off"]'
        assert tools[1]("moon") == "error: there is no lamp moon"
        assert tools[1](lamp="desk", on=True) == "switched"

    made, end = attempt(lamps(agent), seed=3)
    assert (made.ending, made.simulator_steps) == (Ending.STOPPED, 3), made.detail
    assert end.observation.state["desk"] is True
    assert "→ switch(lamp='desk', on=True)" in made.transcript
    assert seen["switch"].__annotations__ == {"lamp": str, "on": bool, "return": str}
    assert "Switch a lamp." in seen["switch"].__doc__ and "desk" in seen["prompt"]


def test_an_agent_that_raises_has_failed():
    def agent(prompt):
        raise ValueError("out of ideas")

    made, _ = attempt(lamps(agent))
    assert made.ending is Ending.AGENT_RAISED and "ValueError" in made.detail


def test_the_limit_stops_a_loop_that_would_go_on_forever():
    ended = threading.Event()

    def agent(prompt, tools):
        try:
            while True:
                try:
                    tools[0]()
                except Exception as error:  # as frameworks do
                    raise AssertionError from error
        except AttemptOver:
            ended.set()
            raise

    made, _ = attempt(lamps(agent, max_tool_calls=5))
    assert (made.ending, made.simulator_steps) == (Ending.HORIZON, 5)
    assert ended.wait(5)


def test_calls_through_the_proxy_are_seeded_cached_and_counted(in_environment):
    in_environment.usual = say("Four.", prompt_tokens=7, completion_tokens=3)
    answers = []

    def agent(prompt, tools, llm):
        body = {
            "model": "whatever", "messages": [{"role": "user", "content": prompt}],
            "temperature": 0.5, "seed": 1, "parallel_tool_calls": False,
        }  # fmt: skip
        answers.extend(json.loads(post(llm, body)) for _ in range(2))

    problem = lamps(agent)
    for _ in range(2):
        made, _ = attempt(problem)
        assert made.llm_tokens == 20, made.detail
    assert "Four." in made.transcript
    # The second attempt is the same draw, so it was answered from the cache.
    first, second = in_environment.requests
    assert (first["model"], first["temperature"], first["parallel_tool_calls"]) == (
        "stub", 0.5, False,
    )  # fmt: skip
    assert first["seed"] != second["seed"] != 1
    assert answers[0]["choices"][0]["message"]["content"] == "Four."
    assert answers[0]["usage"]["total_tokens"] == 10


def test_a_stream_is_answered_in_chunks(in_environment):
    in_environment.usual = calls(("look", {}))
    events = []

    def agent(prompt, tools, llm):
        body = {"messages": [{"role": "user", "content": "hi"}], "stream": True}
        events.extend(post(llm, body).split("\n\n"))

    attempt(lamps(agent))
    assert events[-2:] == ["data: [DONE]", ""]
    first, last, usage = (json.loads(event.removeprefix("data: ")) for event in events[:3])
    call = first["choices"][0]["delta"]["tool_calls"][0]
    assert (call["index"], call["function"]["name"]) == (0, "look")
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["choices"] == [] and usage["usage"]["total_tokens"] == 15


def test_after_the_attempt_nothing_reaches_the_model(in_environment):
    kept, refused = [], []

    def agent(prompt, tools, llm):
        kept.append(llm)
        post(llm)
        try:
            for _ in range(10):
                tools[0]()
        except BaseException:  # swallows the stop, and goes on
            for _ in range(3):
                try:
                    post(llm)
                except urllib.error.HTTPError as error:
                    refused.append(error.code)

    made, _ = attempt(lamps(agent, max_tool_calls=2))
    assert made.ending is Ending.HORIZON
    assert refused == [403] * 3 and len(in_environment.requests) == 1
    with pytest.raises(urllib.error.HTTPError, match="403"):
        post(kept[0])
    assert len(in_environment.requests) == 1


def test_a_spent_budget_cuts_the_attempt_however_the_loop_takes_it(in_environment):
    def agent(prompt, tools, llm):
        for _ in range(5):
            try:
                post(llm)
            except urllib.error.HTTPError:
                continue

    made, _ = attempt(lamps(agent), allowance=Allowance(tokens=20))
    assert made.ending is Ending.CUT and made.llm_tokens == 30
    assert len(in_environment.requests) == 2


def test_a_server_that_is_down_stops_the_run(in_environment):
    in_environment.usual = fails(500)

    def agent(prompt, tools, llm):
        try:
            post(llm)
        except urllib.error.HTTPError:
            return

    with pytest.raises(LlmError, match="status 500"):
        attempt(lamps(agent))


CUT_OFF = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{"}}
BROKEN = {"messages": [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [CUT_OFF]},
    {"role": "tool", "tool_call_id": "a", "content": "no"},
]}  # fmt: skip


def test_a_loop_gets_the_refusal_of_its_conversation_and_may_go_on(in_environment):
    in_environment.usual = strict(say("hello"))
    seen = []

    def agent(prompt, tools, llm):
        seen.append(refused(llm, BROKEN))
        post(llm)
        tools[1]("desk")

    made, _ = attempt(lamps(agent))
    assert made.ending is Ending.STOPPED, made.detail
    # Messages of other programs are passed on as they are.
    assert in_environment.requests[0]["messages"] == BROKEN["messages"]
    ((status, message),) = seen
    assert status == 400 and "JSONDecodeError" in message


@pytest.mark.parametrize("raises", [False, True])
def test_a_loop_that_ends_with_a_refused_conversation_has_failed(in_environment, raises):
    in_environment.usual = strict(say("hello"))

    def agent(prompt, tools, llm):
        refused(llm, BROKEN)
        if raises:
            raise ZeroDivisionError

    made, _ = attempt(lamps(agent))
    assert made.ending is Ending.REFUSED and "JSONDecodeError" in made.detail


@pytest.mark.parametrize("spoil", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("stream", [False, True])
def test_a_loop_gets_a_malformed_call_as_the_model_made_it(in_environment, spoil, stream):
    document = calling(("look", {}))
    sent = document["choices"][0]["message"]["tool_calls"]
    sent[:] = [spoil(sent[0])]
    in_environment.usual = sends(json.dumps(document).encode())
    told = []

    def agent(prompt, tools, llm):
        body = {"messages": [{"role": "user", "content": "hi"}], "stream": stream}
        told.append(post(llm, body))

    made, _ = attempt(lamps(agent))
    assert made.ending is Ending.STOPPED, made.detail
    assert "(calls " in made.transcript and told[0].count('"tool_calls"') >= 1


def test_other_paths_of_the_protocol_are_refused_with_a_reason(in_environment):
    found = {}

    def agent(prompt, tools, llm):
        for path in ("responses", "embeddings"):
            with pytest.raises(urllib.error.HTTPError) as raised:
                post(llm, path=path)
            found[path] = json.loads(raised.value.read())["error"]["message"]
        with urllib.request.urlopen(f"{llm.base_url}/models") as response:
            found["models"] = json.loads(response.read())["data"][0]["id"]

    made, _ = attempt(lamps(agent))
    assert made.ending is Ending.STOPPED, made.detail
    assert "only chat completions are served here" in found["responses"]
    assert found["models"] == "stub"


def test_an_agent_that_uses_no_model_needs_no_server(monkeypatch):
    monkeypatch.delenv("CAPSCOPE_LLM_BASE_URL", raising=False)
    made, _ = attempt(lamps(lambda prompt, tools, llm: None))
    assert made.ending is Ending.STOPPED


def test_an_intent_without_an_ask_is_an_error():
    with pytest.raises(ProblemError, match=r"no ask says how to request not on\(desk\)"):
        attempt(lamps(lambda prompt: None), "not on(desk)")


def test_keys_of_requests_without_tools_are_as_they_were():
    # Computed before tools existed: an upgrade must not pay for cached answers again.
    from capscope.adapters.llm import CallId, Sampling
    from capscope.adapters.llm.answers import cache_key

    key = cache_key("m", [{"role": "user", "content": "hi"}], Sampling(), CallId(1, 2))
    assert key == "b882700210db29dd8bccdcae4f22c31ca454e394b9a07acbda8a136d51403efd"
