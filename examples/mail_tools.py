"""Assess an agent that handles mail with tools: it has a bug that only starred mail shows.

capscope check examples/mail_tools.py:problem
capscope assess examples/mail_tools.py:problem --max-executions 150
capscope show runs/mail_tools-problem-adaptive-0 --surprises
"""

import json
from dataclasses import dataclass

from capscope.tools import ToolWorld, ask, tool_problem, values


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


def star(box: Box, id: int, starred: bool = True) -> str:
    """Star a mail, or remove its star."""
    find(box, id).starred = starred
    return "done"


def archive(box: Box, id: int) -> str:
    """Archive a mail."""
    find(box, id).archived = True
    return "archived"


def delete(box: Box, id: int) -> str:
    """Delete a mail for good."""
    find(box, id).deleted = True
    return "deleted"


SENDERS = ["alice", "bob", "carol", "dave"]


def agent(prompt, tools, llm, rng):
    """Stand in for your agent: any function of (prompt, tools, llm) will do."""
    call = {tool.__name__: tool for tool in tools}
    verb, *_, sender = prompt.rstrip(".").split()
    mails = {mail["sender"]: mail for mail in json.loads(call["list_mail"]())}
    mail = mails.get(sender)
    if mail is None:
        return
    if verb == "Archive":
        call["archive"](id=mail["id"])
        others = [other for other in mails.values() if other is not mail]
        if mail["starred"] and others and rng.random() < 0.2:  # the bug
            call["delete"](id=rng.choice(others)["id"])
    elif verb == "Delete":
        call["delete"](id=mail["id"])
    else:
        call["star"](id=mail["id"], starred=verb == "Star")


problem = tool_problem(
    ToolWorld(
        start=Box([Mail(i + 1, sender) for i, sender in enumerate(SENDERS)]),
        tools=[list_mail, star, archive, delete],
        values={"id": values("mails.*.id")},
    ),
    predicates={
        "archived(mail)": lambda box, sender: box.by(sender).archived,
        "starred(mail)": lambda box, sender: box.by(sender).starred,
        "deleted(mail)": lambda box, sender: box.by(sender).deleted,
    },
    objects={"mail": SENDERS},
    asks=[
        ask("archived(m)", "Archive the mail from {m}.", "Archive what came from {m}."),
        ask("deleted(m)", "Delete the mail from {m}."),
        ask("starred(m)", "Star the mail from {m}."),
        ask("not starred(m)", "Unstar the mail from {m}."),
    ],
    agent=agent,
    name="mail",
)
