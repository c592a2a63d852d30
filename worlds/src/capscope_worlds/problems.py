"""The problems of this package: a world, an agent, predicates and limits for each.

Optional packages and agents are imported when a problem is loaded, so that listing them is fast and
works without any of them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from capscope.errors import ProblemError
from capscope.problem import Agent, Limits, Problem
from capscope.problem.problem import RegisteredProblem

if TYPE_CHECKING:
    from capscope_worlds.crafter import GameMap
    from capscope_worlds.crafter_steve import SteveAgent
    from capscope_worlds.saycan import SayCanAgent

GRID_LIMITS = Limits(temporal_length=None, horizon=100)
"""What counts is where an attempt ends, however often it changes the symbolic state."""
KITCHEN_LIMITS = Limits(temporal_length=None, horizon=60)
TABLE_LIMITS = Limits(temporal_length=None, horizon=20)
"""The same; the agent stops after a few skills by itself."""


def _learned_grid_agent() -> Problem:
    from capscope_worlds.grid_q import FOUR_QUADRANTS_VALUES, ActionValues, GridQAgent
    from capscope_worlds.minigrid import FOUR_QUADRANTS, GridAbstraction, read_layout

    values = ActionValues.load(FOUR_QUADRANTS_VALUES)
    agent = GridQAgent(values, GridAbstraction(read_layout(FOUR_QUADRANTS)))
    return grid_problem(FOUR_QUADRANTS, agent, "minigrid-q", agent.fingerprint)


def _language_model_in_grid(**options: str) -> Problem:
    from capscope.adapters.llm import LlmSettings, shared_client
    from capscope_worlds.minigrid import FOUR_QUADRANTS
    from capscope_worlds.react import GRID_GUIDE, SMALL_MODEL_SETTINGS, ReactAgent, ReactSettings

    server = LlmSettings.from_environment()
    usual = ReactSettings() if server.gguf is None else SMALL_MODEL_SETTINGS
    agent = ReactAgent(shared_client(server), GRID_GUIDE, usual.changed(options))
    return grid_problem(FOUR_QUADRANTS, agent, "minigrid-react", agent.fingerprint)


def _learned_chef(temporal_length: str = "", **options: str) -> Problem:
    from capscope_worlds.kitchen_hrl import KITCHEN_VALUES, KitchenHrlAgent, KitchenValues
    from capscope_worlds.overcooked import (
        EXPECTED_IN_KITCHEN,
        Kitchen,
        KitchenAbstraction,
        kitchen_simulator,
    )

    kitchen, abstraction = Kitchen.of(options), KitchenAbstraction()
    agent = KitchenHrlAgent(KitchenValues.load(KITCHEN_VALUES), abstraction)
    return Problem(
        name="overcooked-hrl",
        simulator=kitchen_simulator(kitchen),
        agent=agent,
        abstraction=abstraction,
        limits=_changed_length(KITCHEN_LIMITS, temporal_length),
        description="a trained chef in a kitchen of Overcooked",
        fingerprint=f"{kitchen.fingerprint}-{agent.fingerprint}",
        expected=EXPECTED_IN_KITCHEN,
    )


def _changed_length(limits: Limits, temporal_length: str) -> Limits:
    """Set Θ if a number is given."""
    try:
        return replace(limits, temporal_length=int(temporal_length)) if temporal_length else limits
    except ValueError as error:
        raise ProblemError(f"temporal-length must be a number from 1: {error}") from error


def _instruction_follower_in_crafter(**options: str) -> Problem:
    parts = _crafter_parts(options)
    return _crafter_problem("crafter-steve", parts, parts.steve.fingerprint, parts.steve)


def _language_model_in_crafter(**options: str) -> Problem:
    from capscope.adapters.llm import LlmSettings, shared_client
    from capscope_worlds.crafter_steve import SKILLS
    from capscope_worlds.skill_chooser import ChooserSettings, SkillChooserAgent, SkillPrompt

    chosen = {name: value for name, value in options.items() if name in _CHOOSER_OPTIONS}
    world = {name: value for name, value in options.items() if name not in chosen}
    parts = _crafter_parts(world)
    abstraction = parts.steve.abstraction
    prompt = SkillPrompt(abstraction.vocabulary, "a game of Crafter")
    client = shared_client(LlmSettings.from_environment())
    settings = ChooserSettings().changed(chosen)
    agent = SkillChooserAgent(client, SKILLS, parts.steve, prompt, abstraction, settings)
    return _crafter_problem("crafter-skills", parts, agent.fingerprint, agent)


class _CrafterParts(NamedTuple):
    game_map: GameMap
    spawn: bool
    steve: SteveAgent


def _crafter_parts(options: Mapping[str, str]) -> _CrafterParts:
    """Read a map, and make the policy for it."""
    from capscope_worlds.crafter import CrafterAbstraction, read_map, shipped_maps
    from capscope_worlds.crafter_steve import STEVE_WEIGHTS, PolicyNetwork, SteveAgent

    maps = shipped_maps()
    name = options.get("map", "meadow")
    game_map = read_map(maps.get(name, name))
    spawn = _yes_or_no("spawn", options.get("spawn", "no"))
    stochastic = _yes_or_no("stochastic", options.get("stochastic", "no"))
    abstraction = CrafterAbstraction(game_map, spawn)
    network = PolicyNetwork.load(STEVE_WEIGHTS)
    return _CrafterParts(game_map, spawn, SteveAgent(network, abstraction, stochastic))


def _map_names() -> Container[str]:
    from capscope_worlds.crafter import shipped_maps

    return shipped_maps()


def _crafter_problem(name: str, parts: _CrafterParts, fingerprint: str, agent: Agent) -> Problem:
    from capscope_worlds.crafter import crafter_simulator, expected_consequences

    creatures = "-spawn" if parts.spawn else ""
    # A stochastic policy has more opportunities with a longer Θ, as in the paper.
    length = 4 if parts.steve.stochastic else 1
    return Problem(
        name=name,
        simulator=crafter_simulator(parts.game_map, parts.spawn),
        agent=agent,
        abstraction=parts.steve.abstraction,
        limits=Limits(temporal_length=length, horizon=15, reset_every=100),
        description=f"an agent in Crafter on the map {parts.game_map.name}",
        expected=expected_consequences(parts.steve.abstraction.vocabulary),
        fingerprint=f"{parts.game_map.fingerprint}{creatures}-{fingerprint}",
    )


def _yes_or_no(option: str, text: str) -> bool:
    if text not in ("yes", "no"):
        raise ProblemError(f"{option} must be yes or no, not {text!r}")
    return text == "yes"


def _scripted_table_robot(**options: str) -> Problem:
    from capscope_worlds.saycan import SayCanAgent, SayCanSettings, TabletopScript

    settings = SayCanSettings().changed(options)
    return table_problem(SayCanAgent(TabletopScript(), settings), "tabletop-affordance")


def _language_model_at_table(**options: str) -> Problem:
    from capscope.adapters.llm import LlmSettings, shared_client
    from capscope_worlds.saycan import TABLETOP_GUIDE, LanguageChooser, SayCanAgent, SayCanSettings

    chooser = LanguageChooser(shared_client(LlmSettings.from_environment()), TABLETOP_GUIDE)
    settings = SayCanSettings().changed(options)
    return table_problem(SayCanAgent(chooser, settings), "tabletop-saycan")


def _agentdojo(name: str) -> Problem:
    from capscope_worlds.agentdojo_problems import SUITES, agentdojo_problem

    return agentdojo_problem(SUITES[name])


_registered = partial(RegisteredProblem, distribution="capscope-worlds")

_CRAFTER_OPTIONS = "map", "spawn", "stochastic"
_CRAFTER_FILES = {"map": _map_names}
_CHOOSER_OPTIONS = "skill_steps", "choices", "logprobs"
_ALL = (
    _registered(
        "minigrid-q",
        "learned policy in a MiniGrid of four rooms with a key, two doors and lava",
        _learned_grid_agent,
        extra="minigrid",
        modules=("minigrid",),
    ),
    _registered(
        "minigrid-react",
        "language model in the same MiniGrid; CAPSCOPE_LLM_BASE_URL and _MODEL name it",
        _language_model_in_grid,
        extra="minigrid,llm",
        modules=("minigrid", "openai"),
        options=(
            "structured",
            "max_actions",
            "max_plan",
            "max_tokens",
            "max_thought",
            "temperature",
        ),
    ),
    _registered(
        "overcooked-hrl",
        "hierarchical policy that learned to cook in a kitchen of Overcooked",
        _learned_chef,
        extra="overcooked",
        modules=("overcooked_ai_py",),
        options=("dishes", "pile_onions", "soup_onions", "advance", "temporal_length"),
    ),
    _registered(
        "crafter-steve",
        "policy that follows instructions, learned by imitation, in Crafter",
        _instruction_follower_in_crafter,
        extra="crafter",
        modules=("crafter",),
        options=_CRAFTER_OPTIONS,
        files=_CRAFTER_FILES,
    ),
    _registered(
        "crafter-skills",
        "language model that chooses among the skills of that policy",
        _language_model_in_crafter,
        extra="crafter,llm",
        modules=("crafter", "openai"),
        options=(*_CRAFTER_OPTIONS, *_CHOOSER_OPTIONS),
        files=_CRAFTER_FILES,
    ),
    _registered(
        "tabletop-affordance",
        "robot that stacks blocks as a camera sees them, with a script for a language model",
        _scripted_table_robot,
        extra="tabletop",
        modules=("mujoco",),
        options=("max_skills",),
    ),
    _registered(
        "tabletop-saycan",
        "the same robot with a language model; CAPSCOPE_LLM_BASE_URL and _MODEL name it",
        _language_model_at_table,
        extra="tabletop,llm",
        modules=("mujoco", "openai"),
        options=("max_skills",),
    ),
    *(
        _registered(
            f"agentdojo-{name}",
            f"language model with the tools of AgentDojo's {name}, attacked by its injections",
            partial(_agentdojo, name),
            extra="agentdojo",
            modules=("agentdojo",),
        )
        for name in ("banking", "workspace")
    ),
)


PROBLEMS: Mapping[str, RegisteredProblem] = {problem.name: problem for problem in _ALL}
"""By name, for the entry points of the package."""


def grid_problem(
    layout: str | Path, agent: Agent, name: str, fingerprint: str = "", limits: Limits = GRID_LIMITS
) -> Problem:
    """Put an agent into the grid of a layout file; `fingerprint` identifies the agent."""
    from capscope_worlds.minigrid import GridAbstraction, grid_simulator, read_layout

    grid = read_layout(layout)
    return Problem(
        name=name,
        simulator=grid_simulator(grid),
        agent=agent,
        abstraction=GridAbstraction(grid),
        limits=limits,
        description=f"an agent in the grid {grid.name}",
        fingerprint=f"{grid.fingerprint}-{fingerprint}" if fingerprint else grid.fingerprint,
    )


def table_problem(agent: SayCanAgent, name: str, limits: Limits = TABLE_LIMITS) -> Problem:
    """Let an agent choose the skills of the robot at the table."""
    from capscope_worlds.tabletop import SKILLS, TableAbstraction, tabletop_simulator

    simulator = tabletop_simulator()
    return Problem(
        name=name,
        simulator=simulator,
        agent=agent,
        abstraction=TableAbstraction(),
        limits=limits,
        description="a robot with four blocks and a cup",
        fingerprint=f"{simulator.fingerprint}-{agent.fingerprint}",
        intents=[skill.intent for skill in SKILLS.values()],
    )
