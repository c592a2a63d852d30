"""Runs as eval logs; inspect_ai reads them back where it is installed."""

import json
from pathlib import Path

import pytest

import capscope
from capscope import Budget
from capscope.export.inspect_log import _conversation
from support.toy_worlds import Board, Scripted, board_problem

EXAMPLE = f"{Path(__file__).parents[2] / 'examples' / 'mail_tools.py'}:problem"


@pytest.fixture(scope="module")
def run():
    pytest.importorskip("pydantic")
    return capscope.assess(EXAMPLE, seed=2, budget=Budget(executions=60))


def test_each_execution_is_a_sample_with_its_score_and_side_effects(run):
    log = json.loads(run.export("inspect"))
    samples = log["samples"]
    assert len(samples) == run.usage.executions == log["results"]["total_samples"]
    assert len({(s["id"], s["epoch"]) for s in samples}) == len(samples)
    odd = [s for s in samples if s["metadata"]["side_effects"]]
    assert odd and all("deleted(" in str(s["metadata"]["side_effects"]) for s in odd)
    assert all(s["scores"]["intent held"]["value"] == "C" for s in odd)
    held = sum(s["scores"]["intent held"]["value"] == "C" for s in samples)
    (score,) = log["results"]["scores"]
    assert score["metrics"]["accuracy"]["value"] == held / len(samples)


def test_inspect_reads_the_log_with_the_messages_calls_and_results_of_the_journal(run, tmp_path):
    inspect_log = pytest.importorskip("inspect_ai.log")
    path = tmp_path / "2026-05-01T12-00-00+00-00_mail_run.json"
    path.write_text(run.export("inspect"))
    log = inspect_log.read_eval_log(str(path))
    assert log.status == "success" and len(log.samples) == 60
    assert log.samples[0].scores["intent held"].value in ("C", "I")
    assert [info.name for info in inspect_log.list_eval_logs(str(tmp_path))]
    with run.open_journal() as journal:
        for sample in log.samples:
            query, draw, execution = sample.metadata["execution"]
            transcript = journal.transcript(query, draw, execution)
            actions = journal.actions(query, draw)[execution]
            assert [(e.function, e.arguments) for e in sample.events] == [
                (a["call"][0], dict(a["call"][1])) for a in actions
            ]
            assert as_transcript(sample.messages) == transcript
            results = {m.tool_call_id: m.content for m in sample.messages if m.role == "tool"}
            assert {e.id: e.result for e in sample.events} == results


def as_transcript(messages):
    """Write messages as the agents of `tool_problem` do."""
    lines = []
    for message in messages:
        lines.append("agent:" if message.role == "assistant" else f"{message.role}:")
        for call in getattr(message, "tool_calls", None) or ():
            given = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
            lines.append(f"  → {call.function}({given})")
        lines += [f"  {line}" for line in message.content.splitlines()]
    return "\n".join(lines)


def test_tokens_are_those_of_the_run(tmp_path):
    problem = board_problem(Board(), Scripted("a", tokens=10))
    run = capscope.assess(problem, budget=Budget(executions=3), run=tmp_path / "run")
    log = json.loads(run.export("inspect"))
    assert [list(s["model_usage"].values()) for s in log["samples"]] == [[{"total_tokens": 10}]] * 3
    assert list(log["stats"]["model_usage"].values()) == [{"total_tokens": run.usage.llm_tokens}]


def test_calls_that_were_not_made_stay_text_and_tokens_are_counted():
    transcript = (
        "system:\n  Be brief.\nuser:\n  Switch on both.\n"
        "assistant (12 tokens):\n  Gladly.\n  → switch(lamp='desk')\n  → switch(lamp='bed')\n"
        "tool:\n  switched\nassistant (stop, 3 tokens):\n  → look()\nplan:\n  rest"
    )
    actions = [{"call": ["switch", [["lamp", lamp]], ""]} for lamp in ("desk", "bed")]
    found = _conversation(transcript, actions, "2026-05-01T12:00:00+00:00")
    roles = [message["role"] for message in found["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "assistant"]
    both, result, last, plan = found["messages"][2:]
    assert both["content"] == "Gladly."
    assert [call["arguments"] for call in both["tool_calls"]] == [{"lamp": "desk"}, {"lamp": "bed"}]
    assert (result["tool_call_id"], result["function"]) == ("call0", "switch")
    assert [event["result"] for event in found["events"]] == ["switched", ""]
    assert (last["content"], last["tool_calls"], plan["content"]) == ("→ look()", [], "plan:\nrest")
    assert found["output_tokens"] == 15


@pytest.mark.parametrize("transcript", ["I went north.", "user:\n  a\nand on", "  user:"])
def test_a_transcript_of_another_form_is_one_message(transcript):
    found = _conversation(transcript, [2, {"named": "<north>"}], "2026-05-01T12:00:00+00:00")
    assert found["messages"] == [{"role": "assistant", "content": transcript}]
    assert [event["arguments"] for event in found["events"]] == [
        {"action": "2"},
        {"action": "<north>"},
    ]
