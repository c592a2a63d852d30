"""Make a problem of a tool world, predicates, asks and an agent."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from capscope.adapters.tools.asks import Ask, GroundedAsk
from capscope.adapters.tools.own_loop import OwnLoopAgent
from capscope.adapters.tools.prompts import Prompts
from capscope.adapters.tools.state_abstraction import StateAbstraction
from capscope.adapters.tools.tool_calling_agent import ToolCallingAgent, ToolCallingSettings
from capscope.adapters.tools.world import ToolWorld
from capscope.errors import ProblemError
from capscope.problem import Agent, Limits, Problem

if TYPE_CHECKING:
    from capscope.adapters.mcp import McpWorld

ToolAgent = Callable[..., Any]
"""A function of (prompt, tools, llm), of which it may take the first ones."""


def tool_problem(
    world: ToolWorld | McpWorld,
    *,
    predicates: Mapping[str, Callable[..., Any]],
    objects: Mapping[str, Sequence[str]],
    asks: Sequence[Ask],
    agent: ToolAgent | None = None,
    model: str | None = None,
    settings: ToolCallingSettings | None = None,
    max_tool_calls: int = 20,
    phrasings: Literal["drawn", "factor"] = "drawn",
    hazards: Sequence[str] = (),
    name: str = "tools",
) -> Problem:
    """Return the problem of an agent that is asked to do things with tools.

    `predicates` maps `archived(mail)` to a function of the state and the objects; `objects` maps a
    type to the names of its objects. `agent` runs its own loop; without one, the built-in agent
    calls `model` (default: the model that the environment names) with `settings`. Each attempt
    draws one of the phrasings of its ask; as a `factor`, resets draw it and it is an atom,
    `wording(2)`, so that conditions can name it (assess with several `--resets`).
    """
    wordings = max((len(one.phrasings) for one in asks), default=0)
    if not wordings:
        raise ProblemError("a tool problem needs at least one ask")
    factor = wordings if phrasings == "factor" and wordings > 1 else 0
    if factor:
        world = world.with_wordings(factor)
    abstraction = StateAbstraction(predicates, objects, factor)
    grounded = _grounded(asks, abstraction)
    prompts = Prompts({one.intent: one.phrasings for one in grounded})
    tools = tuple(world.tools.values())
    chosen: Agent
    if agent is None:
        chosen = ToolCallingAgent(prompts, tools, model, settings or ToolCallingSettings())
        identity = chosen.fingerprint
    else:
        if settings is not None:
            raise ProblemError("`settings` belong to the built-in agent; give either, not both")
        chosen, identity = OwnLoopAgent(agent, prompts, tools, model), model or ""
    parts = [world.fingerprint, identity, [(str(one.intent), one.phrasings) for one in grounded]]
    return Problem(
        name=name,
        simulator=world,
        agent=chosen,
        abstraction=abstraction,
        limits=Limits(temporal_length=None, horizon=max_tool_calls),
        description=f"an agent with the tools {', '.join(world.tools)}",
        fingerprint=hashlib.sha256(repr(parts).encode()).hexdigest()[:16],
        hazards=tuple(hazards),
        intents=tuple(str(one.intent) for one in grounded),
        expected=tuple(f"{one.intent}: {' and '.join(one.also)}" for one in grounded if one.also),
    )


def _grounded(asks: Sequence[Ask], abstraction: StateAbstraction) -> list[GroundedAsk]:
    found: dict[Any, GroundedAsk] = {}
    for one in asks:
        for grounded in one.grounded(abstraction.vocabulary):
            if found.setdefault(grounded.intent, grounded) is not grounded:
                raise ProblemError(f"two asks are about {grounded.intent}; join their phrasings")
    return list(found.values())
