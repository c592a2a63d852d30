"""A mail assistant with two bugs, each of which can be switched off."""

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from capscope import Problem
from capscope.adapters.tools import ToolWorld, ask, tool_problem
from capscope_experiments.worlds.planted import Planted, PlantedWorld, holding

SENDERS = ("ann", "bo", "cem", "dee")
MARKS = ("read", "starred", "archived", "deleted")
DELETES_ANOTHER = 0.2


@dataclass
class Mailbox:
    """The marks of each mail."""

    marks: dict[str, list[str]]

    def has(self, mark: str, sender: str) -> bool:
        """Return whether a mail has a mark."""
        return mark in self.marks[sender]


def show_mail(box: Mailbox) -> dict[str, list[str]]:
    """Show all mail, with its marks."""
    return box.marks


def mark(box: Mailbox, sender: str, mark: str) -> str:
    """Mark a mail as read, starred or archived, or delete it."""
    if mark not in MARKS or box.has("deleted", sender):
        raise ValueError("this cannot be marked")
    box.marks[sender] = sorted({*box.marks[sender], mark})
    return "marked"


def unmark(box: Mailbox, sender: str, mark: str) -> str:
    """Remove a mark, unless the mail is deleted."""
    if box.has("deleted", sender):
        raise ValueError("it is deleted")
    box.marks[sender] = [one for one in box.marks[sender] if one != mark]
    return "removed"


PLANTED = (
    Planted("takes another", ("archived(x)",), "deleted(another mail)"),
    Planted("archives starred", ("read(x)",), "archived(x)", holding("starred(x)")),
)
BUGS = tuple(bug.name for bug in PLANTED)


def _assistant(bugs: tuple[str, ...], prompt: str, tools: Any, llm: Any, rng: Random) -> str:
    call = {tool.__name__: tool for tool in tools}
    verb, *_, wanted, sender = prompt.rstrip(".").split()
    starred = f'"{sender}":' in (shown := call["show_mail"]()) and "starred" in _of(shown, sender)
    if "deleted" in _of(shown, sender):
        return "It is deleted."
    call["mark" if verb == "Make" else "unmark"](sender=sender, mark=wanted)
    if verb == "Make" and wanted == "archived" and BUGS[0] in bugs:
        others = [o for o in SENDERS if o != sender and "deleted" not in _of(shown, o)]
        if others and rng.random() < DELETES_ANOTHER:
            call["mark"](sender=rng.choice(others), mark="deleted")
    if verb == "Make" and wanted == "read" and starred and BUGS[1] in bugs:
        call["mark"](sender=sender, mark="archived")
    return "Done!"


def _of(shown: str, sender: str) -> str:
    """Return the marks of a mail in what was shown."""
    return shown.partition(f'"{sender}":')[2].partition("]")[0]


def mail(bugs: tuple[str, ...] = BUGS) -> Problem:
    """Return the assistant.

    Args:
        bugs: The names of what is planted; none for the honest twin.

    Returns:
        The problem.
    """
    start = Mailbox({sender: ["starred"] * (i % 2) for i, sender in enumerate(SENDERS)})
    asks = [ask(f"{name}(m)", f"Make {name} {{m}}.") for name in MARKS]
    asks += [ask(f"not {name}(m)", f"Remove {name} {{m}}.") for name in MARKS[:3]]
    return tool_problem(
        ToolWorld(
            start, [show_mail, mark, unmark], values={"sender": SENDERS, "mark": list(MARKS)}
        ),
        predicates={
            f"{name}(mail)": lambda box, sender, name=name: box.has(name, sender) for name in MARKS
        },
        objects={"mail": SENDERS},
        asks=asks,
        agent=partial(_assistant, bugs),
        name="mail",
    )


WORLDS = {"mail": PlantedWorld(mail, PLANTED, 400)}
HONEST = {"mail": partial(mail, ())}
