"""A small MCP server over stdio, written out: it starts at once and misbehaves on request.

It keeps lamps. `python mcp_server.py [FILE]`: while the file exists, the server behaves as its text
says: it dies, hangs or prints garbage when a lamp is switched, or prints garbage when it starts.
"""

import json
import os
import random
import sys
import threading
from pathlib import Path

LAMPS = {"hall": False, "attic": False, "cellar": False}
HOW = Path(sys.argv[1]) if len(sys.argv) > 1 else None
lamps = dict(LAMPS)
rng = random.Random()


def say(text, stream=sys.stdout):
    stream.write(f"{text}\n")
    stream.flush()


def misbehaves(how):
    return HOW is not None and HOW.exists() and HOW.read_text() == how


def switch(name):
    if misbehaves("die"):
        say("out of memory", sys.stderr)
        os._exit(3)
    if misbehaves("hang"):
        threading.Event().wait()
    if misbehaves("garbage"):
        say("switching...")
        os._exit(0)
    if name not in lamps:
        lamps["hall"] = True  # a call that fails may have changed something
        raise ValueError(f"there is no lamp {name}")
    lamps[name] = not lamps[name]
    return "switched"


def flicker():
    """Switch a random lamp."""
    return switch(rng.choice(list(lamps)))


def peek():
    """Switch a lamp, and claim to only read."""
    return switch("attic")


def load(saved):
    lamps.clear()
    lamps.update(json.loads(saved))
    return "loaded"


def text(name):
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


NOTHING = {"type": "object", "properties": {}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = {
    "look": (lambda: json.dumps(lamps), NOTHING, True),
    "peek": (peek, NOTHING, True),
    "switch": (switch, text("name"), False),
    "flicker": (flicker, NOTHING, False),
    "process": (lambda: str(os.getpid()), NOTHING, True),
    "save": (lambda: json.dumps(lamps), NOTHING, True),
    "load": (load, text("saved"), False),
    "reset": (lambda: load(json.dumps(LAMPS)), NOTHING, False),
    "seed": (lambda n: rng.seed(n) or "seeded", NUMBER, False),
}


def called(name, arguments):
    try:
        said, failed = TOOLS[name][0](**arguments), False
    except (KeyError, ValueError) as error:
        said, failed = str(error), True
    return {"content": [{"type": "text", "text": said}], "isError": failed}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "lamps", "version": "1"},
        }
    if method == "tools/list":  # one tool on each page
        names = list(TOOLS)
        place = int(params.get("cursor", 0))
        _, schema, reads = TOOLS[names[place]]
        tool = {"name": names[place], "inputSchema": schema, "annotations": {"readOnlyHint": reads}}
        more = {"nextCursor": str(place + 1)} if place + 1 < len(names) else {}
        return {"tools": [tool], **more}
    if method == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    return {}


if __name__ == "__main__":
    if misbehaves("banner"):
        say("Welcome!")
        sys.exit()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params") or {})
            say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
