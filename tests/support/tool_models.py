"""Scripted models that call tools, as responses of the stub server."""

import json
import random

from support.llm_stub import chat, sends


def calls(*wanted, text=None):
    """Answer with tool calls: pairs of a name and its arguments."""
    return sends(json.dumps(calling(*wanted, text=text)).encode())


def calling(*wanted, text=None, turn=0):
    """Return the document of an answer with tool calls; their ids are unique in a conversation."""
    made = [
        {
            "id": f"call_{turn}_{i}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for i, (name, given) in enumerate(wanted)
    ]
    return chat(text, "tool_calls", tool_calls=made)


def scripted(decide, spoil=lambda document, rng: None):
    """Answer each request by a function of the conversation and a generator.

    `decide(prompt, results, rng)` gets the first user message, the texts of all tool results so far
    and a generator seeded by the request; it returns tool calls, or a text to stop. The generator
    is the same in every call of an attempt only if the script derives it from the conversation.
    `spoil(document, rng)` may change the answer before it is sent.
    """

    def respond(handler, request):
        messages = request["messages"]
        prompt = next(_text(m["content"]) for m in messages if m["role"] == "user")
        results = [text for m in messages if (text := _result(m)) is not None]
        decided = decide(
            prompt.removeprefix("New task:\n"), results, random.Random(request["seed"])
        )
        tools = {tool["function"]["name"] for tool in request.get("tools", ())}
        if isinstance(decided, str) and "final_answer" in tools:  # smolagents wants a call
            decided = [("final_answer", {"answer": decided})]
        if isinstance(decided, str):
            document = chat(decided)
        else:
            document = calling(*decided, turn=len(messages))
        if request.get("stream"):
            raise AssertionError("capscope does not ask for streams")
        spoil(document, random.Random(f"spoil {request['seed']}"))
        sends(json.dumps(document).encode())(handler, request)

    return respond


def _result(message):
    """Return the result of a tool that a message has; None if it has none."""
    text = _text(message.get("content") or "")
    if message["role"] == "user" and text.startswith("Observation:"):  # as smolagents writes it
        return text.removeprefix("Observation:").strip()
    return text if message["role"] == "tool" else None


def _text(content):
    if isinstance(content, list):
        return "".join(part["text"] for part in content)
    return content
