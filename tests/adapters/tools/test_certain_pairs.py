"""Where the executions of a budget go when everything but one probability is known."""

from dataclasses import dataclass

import pytest

import capscope
from capscope import Budget, Settings
from capscope.adapters.tools import ToolWorld, ask, tool_problem

pytest.importorskip("pydantic")
CERTAIN = 48
"""Equal draws after which another outcome is believed to be rarer than one in a hundred."""


@dataclass
class Ticket:
    open: bool = True
    escalated: bool = False


def close(ticket: Ticket) -> None:
    """Close the ticket."""
    ticket.open = False


def reopen(ticket: Ticket) -> None:
    """Open the ticket again."""
    ticket.open = True


def escalate(ticket: Ticket) -> None:
    """Tell the manager."""
    ticket.escalated = True


def clerk(prompt, tools, llm, rng):
    call = {tool.__name__: tool for tool in tools}
    call[prompt]()
    if prompt == "close" and rng.random() < 0.2:
        call["escalate"]()


def ticket_problem():
    return tool_problem(
        ToolWorld(Ticket(), [close, reopen, escalate]),
        predicates={"open": lambda t: t.open, "escalated": lambda t: t.escalated},
        objects={},
        asks=[ask("not open", "close"), ask("open", "reopen")],
        agent=clerk,
        name="tickets",
    )


def test_pairs_that_always_do_the_same_get_little_of_a_budget_once_they_are_certain():
    settings = Settings(audit=0.0)  # no claim ends the run
    run = capscope.assess(ticket_problem(), settings=settings, budget=Budget(executions=800))
    pairs = [pair for node in run.graph.nodes.values() for pair in node.pairs if pair is not None]
    assert sum(pair.total for pair in pairs) == 800
    same = [pair for pair in pairs if len(pair.counts) == 1]
    # Certain are that it opens, that it closes once escalated, and that nothing changes.
    effects = {effect for pair in same for effect in pair.counts}
    assert sum(pair.total for pair in same) <= CERTAIN * len(effects) == CERTAIN * 3
