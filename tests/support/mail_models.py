"""A scripted model that handles the mail of `examples/mail_tools.py`, with and without its bug."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

from capscope.adapters.tools.agents import ToolCallingAgent
from support.tool_models import scripted

EXAMPLE = Path(__file__).parents[2] / "examples" / "mail_tools.py"


def mail_example(name="mail_tools"):
    """Return the problem of an example, or what makes it."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLE.with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.problem


def mail_problem():
    """Return the problem of the example with the built-in agent on the model of the environment."""
    problem = mail_example()
    was = problem.agent
    return replace(problem, agent=ToolCallingAgent(was.prompts, was.tools, "stub"))


def mail_model(bug=0.2, diligence=1.0, spoil=lambda document, rng: None):
    """Answer: look, do what was asked, and with some probability delete another mail.

    `diligence` is the probability of doing what was asked. A call that could not be read is made
    again.
    """

    def decide(prompt, results, rng):
        results = [text for text in results if not text.startswith("error: ")]
        if prompt == "Hello.":
            return "Hello! How can I help you?"
        verb, *_, sender = prompt.rstrip(".").split()
        if not results:
            return [("list_mail", {})]
        mails = {mail["sender"]: mail for mail in json.loads(results[0])}
        mail = mails.pop(sender, None)
        if mail is None or len(results) > 2:
            return "Done."
        if len(results) == 1:
            if rng.random() >= diligence:
                return "I would rather not."
            return [("delete" if verb == "Delete" else "archive", {"id": mail["id"]})]
        if verb == "Archive" and mail["starred"] and mails and rng.random() < bug:
            return [("delete", {"id": rng.choice(list(mails.values()))["id"]})]
        return "Done."

    return scripted(decide, spoil)
