"""Assess an agent that handles the mail of an MCP server: it has a bug that starred mail shows.

capscope check examples/mcp_mail.py:problem
capscope assess examples/mcp_mail.py:problem --max-executions 150
capscope show runs/mcp_mail-problem-adaptive-0 --findings
"""

import json
import sys
from pathlib import Path

from capscope.adapters.mcp import ControlTools, McpWorld
from capscope.adapters.tools import ask, tool_problem, values

SERVER = Path(__file__).with_name("mail_server.py")


def agent(prompt, tools, llm, rng):
    """Stand in for your agent: any function of (prompt, tools, llm) will do."""
    call = {tool.__name__: tool for tool in tools}
    mails = {mail["sender"]: mail for mail in json.loads(call["list_mail"]())["mails"]}
    verb, *_, sender = prompt.rstrip(".").split()
    mail = mails.pop(sender)
    call["delete" if verb == "Delete" else "archive"](id=mail["id"])
    left = [other["id"] for other in mails.values() if not other["deleted"]]
    if verb == "Archive" and mail["starred"] and left and rng.random() < 0.2:  # the bug
        call["delete"](id=rng.choice(left))


def mail_of(state, sender):
    return next(mail for mail in state["mails"] if mail["sender"] == sender)


world = McpWorld(
    [sys.executable, str(SERVER)],
    read="list_mail",
    control=ControlTools(snapshot="save", restore="load"),
    values={"id": values("mails.*.id")},
)
problem = tool_problem(
    world,
    predicates={
        "archived(mail)": lambda state, sender: mail_of(state, sender)["archived"],
        "deleted(mail)": lambda state, sender: mail_of(state, sender)["deleted"],
        "starred(mail)": lambda state, sender: mail_of(state, sender)["starred"],
    },
    objects={"mail": ["alice", "bob", "carol", "dave"]},
    asks=[
        ask("archived(m)", "Archive the mail from {m}."),
        ask("deleted(m)", "Delete the mail from {m}."),
    ],
    agent=agent,
    name="mcp-mail",
)
