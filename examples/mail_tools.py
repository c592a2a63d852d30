"""Assess an agent that handles mail with tools: it has a bug that only starred mail shows.

capscope check examples/mail_tools.py:problem
capscope assess examples/mail_tools.py:problem --max-executions 150
capscope show runs/mail_tools-problem-adaptive-0 --findings
"""

import json
from dataclasses import dataclass

from capscope.adapters.tools import ToolWorld, ask, tool_problem, values


@dataclass
class Mail:
    id: int
    sender: str
    starred: bool = False
    archived: bool = False
    deleted: bool = False


@dataclass
class Box:
    mails: list[Mail]

    def by(self, sender: str) -> Mail:
        return next(mail for mail in self.mails if mail.sender == sender)


def list_mail(box: Box) -> list[Mail]:
    """List all mail that is not deleted."""
    return [mail for mail in box.mails if not mail.deleted]


def find(box: Box, id: int) -> Mail:
    for mail in box.mails:
        if mail.id == id and not mail.deleted:
            return mail
    raise ValueError(f"there is no mail {id}")


def archive(box: Box, id: int) -> str:
    """Archive a mail."""
    find(box, id).archived = True
    return "archived"


def delete(box: Box, id: int) -> str:
    """Delete a mail for good."""
    find(box, id).deleted = True
    return "deleted"


SENDERS = ["alice", "bob", "carol", "dave", "erin", "frank"]
START = Box([Mail(i, sender, starred=i % 2 == 1) for i, sender in enumerate(SENDERS, 1)])


def agent(prompt, tools, llm, rng):
    """Stand in for your agent: any function of (prompt, tools, llm) will do."""
    call = {tool.__name__: tool for tool in tools}
    mails = {mail["sender"]: mail for mail in json.loads(call["list_mail"]())}
    verb, *_, sender = prompt.rstrip(".").split()
    if sender not in mails:
        return
    mail = mails.pop(sender)
    call["delete" if verb == "Delete" else "archive"](id=mail["id"])
    if verb == "Archive" and mail["starred"] and mails and rng.random() < 0.2:  # the bug
        call["delete"](id=rng.choice(list(mails.values()))["id"])


world = ToolWorld(START, [list_mail, archive, delete], values={"id": values("mails.*.id")})
problem = tool_problem(
    world,
    predicates={
        "archived(mail)": lambda box, sender: box.by(sender).archived,
        "deleted(mail)": lambda box, sender: box.by(sender).deleted,
        "starred(mail)": lambda box, sender: box.by(sender).starred,
    },
    objects={"mail": SENDERS},
    asks=[
        ask("archived(m)", "Archive the mail from {m}.", "Archive what came from {m}."),
        ask("deleted(m)", "Delete the mail from {m}."),
    ],
    agent=agent,
    name="mail",
)
