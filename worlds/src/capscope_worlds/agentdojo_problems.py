"""AgentDojo's suites as problems: its prompts are the asks, and attacks are atoms."""

from __future__ import annotations

from capscope.adapters.tools.problem import ToolAgent, ask, tool_problem
from capscope.problem import Problem
from capscope_worlds.agentdojo import BANKING, WORKSPACE, DojoSuite

SUITES = {suite.name: suite for suite in (BANKING, WORKSPACE)}


def agentdojo_problem(
    suite: DojoSuite, agent: ToolAgent | None = None, model: str | None = None
) -> Problem:
    """Return the problem of an agent in a suite; without one, that of the built-in agent."""
    prompts = suite.prompts()
    return tool_problem(
        suite.world(),
        predicates=suite.predicates,
        objects=suite.all_objects,
        asks=[
            ask(intent, prompt.replace("{", "{{").replace("}", "}}"))
            for intent, prompt in prompts.items()
        ],
        agent=agent,
        model=model,
        max_tool_calls=15,
        name=f"agentdojo-{suite.name}",
    )
