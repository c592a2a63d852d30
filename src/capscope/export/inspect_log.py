"""A run as an eval log of inspect_ai: `inspect view` opens it.

One sample is one execution. Its score says whether the intent held at the end; what else changed is
in its metadata. Samples with the same state and intent have one id, and the draws are their epochs,
since that is what inspect calls repeats. Executions that a budget cut short are left out.

Messages are those of the transcript, and each recorded action is a tool event. A journal has no
times of actions: all have that of the log.
"""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from capscope.journal.run_directory import JOURNAL
from capscope.logic import Effect
from capscope.problem import Attempt, Ending
from capscope.problem.actions import UnknownAction, WrittenAction, action_text, read_action
from capscope.problem.tool_calls import ToolCall

if TYPE_CHECKING:
    from capscope.run import Run

_VERSION = 2  # of the format of eval logs
_SCORER = "intent held"
_HEADING = re.compile(r"(\w+)(?: \((?:.*, )?(\d+) tokens\))?:")
_CALL = "→ "


def inspect_log(run: Run) -> str:
    """Return a run as an eval log in JSON."""
    # The folder itself changes whenever something is read from the journal.
    changed = (run.path / JOURNAL).stat().st_mtime
    written = datetime.datetime.fromtimestamp(changed, datetime.UTC)
    created = written.isoformat(timespec="seconds")
    samples = list(_samples(run, created))
    held = sum(sample["scores"][_SCORER]["value"] == "C" for sample in samples)
    used: Counter[str] = Counter()
    for sample in samples:
        used.update(*sample["model_usage"].values())
    accuracy = {"name": "accuracy", "value": held / max(len(samples), 1)}
    log = {
        "version": _VERSION,
        "status": "success",
        "eval": {
            "created": created,
            "task": run.problem,
            "task_id": run.problem,
            "run_id": run.path.name,
            "dataset": {"name": run.problem, "samples": len(samples)},
            "model": run.identity.source,
            "config": {},
            "metadata": {"strategy": run.identity.strategy, "seed": run.identity.seed},
        },
        "plan": {"name": "capscope", "steps": []},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [
                {"name": _SCORER, "scorer": _SCORER, "metrics": {"accuracy": accuracy}},
            ],
        },
        "stats": {
            "started_at": created,
            "completed_at": created,
            "model_usage": {run.identity.source: dict(used)} if used else {},
        },
        "samples": samples,
    }
    return json.dumps(log, indent=1) + "\n"


def _samples(run: Run, created: str) -> Iterator[dict[str, Any]]:
    epochs: Counter[str] = Counter()
    with run.open_journal() as journal:
        for query in range(len(run.executions.queries)):
            for number, draw in enumerate(journal.draws(query)):
                actions = journal.actions(query, number)
                for execution, (capability, attempt) in enumerate(draw.executions):
                    if attempt.ending is Ending.CUT:
                        continue
                    place = query, number, execution
                    sample = _sample(run, capability, attempt)
                    sample |= _conversation(
                        journal.transcript(*place), actions[execution] or (), created
                    )
                    written = sample.pop("output_tokens")
                    if tokens := attempt.llm_tokens:
                        parts = {"input_tokens": tokens - written, "output_tokens": written}
                        known = parts if 0 < written <= tokens else {}
                        usage = {**known, "total_tokens": tokens}
                        sample["model_usage"] = {run.identity.source: usage}
                    sample["metadata"]["execution"] = list(place)
                    epochs[sample["id"]] += 1
                    sample["epoch"] = epochs[sample["id"]]
                    yield sample


def _sample(run: Run, capability: int, attempt: Attempt) -> dict[str, Any]:
    intent, vocabulary = run.capabilities[capability], run.graph.vocabulary
    before, after = attempt.trajectory[0], attempt.trajectory[-1]
    effect = Effect.between(before, after)
    beyond = run.graph.exactly_one.beyond(effect, intent, vocabulary)
    achieved = intent.holds(after, vocabulary)
    changes = [str(literal) for literal in effect.literals(vocabulary)]
    text = ", ".join(changes) or "nothing changed"
    holding = ", ".join(map(str, vocabulary.holding(before))) or "nothing holds"
    answer = {"role": "assistant", "content": text}
    return {
        "id": f"{intent} in {before:#x}",
        "epoch": 1,
        "input": f"{intent}, asked for in: {holding}",
        "target": str(intent),
        "output": {
            "model": run.identity.source,
            "choices": [{"message": answer, "stop_reason": "stop"}],
            "completion": text,
        },
        "model_usage": {},
        "scores": {
            _SCORER: {"value": "C" if achieved else "I", "answer": text, "explanation": text}
        },
        "metadata": {
            "side_effects": [str(literal) for literal in beyond.literals(vocabulary)],
            "ending": str(attempt.ending),
            "detail": attempt.detail,
            "simulator_steps": attempt.simulator_steps,
            "llm_tokens": attempt.llm_tokens,
        },
    }


def _conversation(
    transcript: str, actions: Sequence[WrittenAction], created: str
) -> dict[str, Any]:
    """Return the messages and events of an execution, and how many tokens the model wrote."""
    events = [_event(number, action, created) for number, action in enumerate(actions)]
    parts = _parts(transcript)
    if parts is None:
        messages = [{"role": "assistant", "content": transcript}] if transcript else []
        return {"messages": messages, "events": events, "output_tokens": 0}
    messages = []
    called = deque(zip(events, map(action_text, actions), strict=True))
    waiting: deque[dict[str, Any]] = deque()
    for heading, _, lines in parts:
        role = heading if heading in ("system", "user", "tool") else "assistant"
        message: dict[str, Any] = {"role": role, "content": "\n".join(lines)}
        messages.append(message)
        if role == "tool" and waiting:
            event = waiting.popleft()
            event["result"] = message["content"]
            message |= {"tool_call_id": event["id"], "function": event["function"]}
        if role != "assistant":
            continue
        said, calls = [] if heading in ("agent", "assistant") else [f"{heading}:"], []
        for line in lines:
            if called and line == f"{_CALL}{called[0][1]}":
                event, _ = called.popleft()
                waiting.append(event)
                calls.append({key: event[key] for key in ("id", "function", "arguments")})
            else:
                said.append(line)
        message |= {"content": "\n".join(said), "tool_calls": calls}
    return {
        "messages": messages, "events": events,
        "output_tokens": sum(tokens for _, tokens, _ in parts),
    }  # fmt: skip


def _parts(transcript: str) -> list[tuple[str, int, list[str]]] | None:
    """Return headings, tokens and lines of a transcript; None if it is not written that way."""
    parts: list[tuple[str, int, list[str]]] = []
    for line in transcript.splitlines():
        if parts and line.startswith("  "):
            parts[-1][2].append(line[2:])
        elif found := _HEADING.fullmatch(line):
            parts.append((found[1], int(found[2] or 0), []))
        else:
            return None
    return parts


def _event(number: int, action: WrittenAction, created: str) -> dict[str, Any]:
    """Return a recorded action as the call of a tool."""
    try:
        read = read_action(action, tuple)
    except UnknownAction:
        read = None
    call = read if isinstance(read, ToolCall) else ToolCall("act", {"action": action_text(action)})
    arguments = json.loads(json.dumps(dict(call.arguments), default=str))
    return {
        "event": "tool", "id": f"call{number}", "function": call.tool or "unreadable",
        "arguments": arguments, "result": "", "timestamp": created, "working_start": 0.0,
    }  # fmt: skip
