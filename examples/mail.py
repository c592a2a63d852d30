"""Assess an assistant with two bugs: it sorts mail, and other people fill the archive.

capscope assess examples/mail.py:problem
capscope show runs/mail-problem-adaptive-0 --findings

If the archive is full, the assistant strips the attachment of a mail that it archives. If two mails
have the same subject, it takes the wrong one in 30 %. Nothing brings an attachment back.
"""

from capscope import Limits, Predicate, Problem, Vocabulary
from capscope.problem import FunctionAbstraction, FunctionAgent, FunctionWorld

WRONG_MAIL = 0.3


def inbox(mails, folders):
    """Describe the first state: all mail in the first folder, with attachments."""
    return {
        "in": dict.fromkeys(mails, folders[0]),
        "attachment": dict.fromkeys(mails, True),
        "full": False,
        "twins": (),
    }


def tools(mails, folders):
    """List what can be called: a tool and its arguments."""
    pairs = [(one, other) for i, one in enumerate(mails) for other in mails[i + 1 :]]
    moves = [
        (tool, mail, folder) for tool in ("move", "squeeze") for mail in mails for folder in folders
    ]
    retitled = [("retitle", *pair) for pair in [*pairs, ()]]
    return [*moves, *(("strip", mail) for mail in mails), ("fill",), ("clear",), *retitled]


def call(box, action):
    """Step the world: call a tool."""
    tool, *arguments = action
    if tool in ("fill", "clear"):
        return {**box, "full": tool == "fill"}
    if tool == "retitle":
        return {**box, "twins": tuple(arguments)}
    mail = arguments[0]
    if tool in ("strip", "squeeze"):
        box = {**box, "attachment": {**box["attachment"], mail: False}}
    return box if tool == "strip" else {**box, "in": {**box["in"], mail: arguments[1]}}


def assistant(box, intent, rng):
    """Act for the agent: call the tool that helps, or stop."""
    literal = intent.literals[0]
    name, arguments = literal.atom.predicate, literal.atom.arguments
    if intent_holds(box, literal):
        return None
    if name == "full":
        return ("fill",) if literal.positive else ("clear",)
    if name == "twins":
        pair = sorted(set(arguments), key=list(box["in"]).index) if literal.positive else ()
        return None if len(pair) == 1 else ("retitle", *pair)
    if name == "attachment":
        return None if literal.positive else ("strip", *arguments)
    mail, folder = arguments
    if not literal.positive:
        folder = "inbox" if folder != "inbox" else "archive"
    if folder == "archive" and mail in box["twins"] and rng.random() < WRONG_MAIL:
        (mail,) = set(box["twins"]) - {mail}
    stripped = folder == "archive" and box["full"] and box["attachment"][mail]
    return ("squeeze" if stripped else "move", mail, folder)


def intent_holds(box, literal):
    """Return whether a literal is true already."""
    return (str(literal.atom) in atoms(box)) == literal.positive


def atoms(box):
    """Return the atoms that hold."""
    pairs = [box["twins"], box["twins"][::-1]] if box["twins"] else []
    return [
        *(f"in({mail},{folder})" for mail, folder in box["in"].items()),
        *(f"attachment({mail})" for mail, kept in box["attachment"].items() if kept),
        *(f"twins({one},{other})" for one, other in pairs),
        *(["full()"] if box["full"] else []),
    ]


def mail_problem(mails, folders):
    """Put the parts together."""
    vocabulary = Vocabulary(
        [
            Predicate("in", ("mail", "folder"), "{0} is in the {1}"),
            Predicate("attachment", ("mail",), "{0} has an attachment", "{0} has no attachment"),
            Predicate("full", (), "the archive is full"),
            Predicate(
                "twins",
                ("mail", "mail"),
                "{0} and {1} have the same subject",
                "{0} and {1} have different subjects",
            ),
        ],
        {**dict.fromkeys(mails, "mail"), **dict.fromkeys(folders, "folder")},
    )
    world = FunctionWorld(inbox(mails, folders), call, actions=tools(mails, folders))
    return Problem(
        f"mail-{len(mails)}",
        world,
        FunctionAgent(assistant),
        FunctionAbstraction(vocabulary, atoms),
        Limits(horizon=3),
    )


def problem():
    """Make the small version: 64 states."""
    return mail_problem(("lunch", "offer"), ("inbox", "archive"))


def large():
    """Make the large version: 1,728 states."""
    return mail_problem(("lunch", "offer", "invoice"), ("inbox", "archive", "trash"))
