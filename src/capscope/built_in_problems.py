"""The problems that come with capscope: a world, an agent, predicates and limits for each.

Optional packages and agents are imported when a problem is loaded, so that listing them is fast and
works without any of them.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from capscope.errors import ProblemError
from capscope.world import Agent, Limits, Problem

if TYPE_CHECKING:
    from capscope.agents.crafter_steve import SteveAgent
    from capscope.agents.saycan import SayCanAgent
    from capscope.environments.crafter import GameMap

GRID_LIMITS = Limits(temporal_length=None, horizon=100)
"""What counts is where an attempt ends, however often it changes the symbolic state."""
KITCHEN_LIMITS = Limits(temporal_length=None, horizon=60)
TABLE_LIMITS = Limits(temporal_length=None, horizon=20)
"""The same; the agent stops after a few skills by itself."""


@dataclass(frozen=True)
class RegisteredProblem:
    """A problem that can be asked for by name."""

    name: str
    summary: str
    load: Callable[..., Problem]
    """Makes the problem; options are given by name."""
    extra: str | None = None
    """The extra to install, and the modules that show that it is."""
    modules: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    files: Mapping[str, Callable[[], Container[str]]] = field(default_factory=dict)
    """The options that name a file, each with the values that are names and not paths."""

    @property
    def installed(self) -> bool:
        """Whether the packages it needs can be imported."""
        return all(importlib.util.find_spec(module) is not None for module in self.modules)


def _learned_grid_agent() -> Problem:
    from capscope.agents.grid_q import FOUR_QUADRANTS_VALUES, ActionValues, GridQAgent
    from capscope.environments.minigrid import FOUR_QUADRANTS, GridAbstraction, read_layout

    values = ActionValues.load(FOUR_QUADRANTS_VALUES)
    agent = GridQAgent(values, GridAbstraction(read_layout(FOUR_QUADRANTS)))
    return grid_problem(FOUR_QUADRANTS, agent, "minigrid-q", agent.fingerprint)


def _language_model_in_grid(**options: str) -> Problem:
    from capscope.agents.llm import LlmSettings, shared_client
    from capscope.agents.react import GRID_GUIDE, SMALL_MODEL_SETTINGS, ReactAgent, ReactSettings
    from capscope.environments.minigrid import FOUR_QUADRANTS

    server = LlmSettings.from_environment()
    usual = ReactSettings() if server.gguf is None else SMALL_MODEL_SETTINGS
    agent = ReactAgent(shared_client(server), GRID_GUIDE, usual.changed(options))
    return grid_problem(FOUR_QUADRANTS, agent, "minigrid-react", agent.fingerprint)


def _learned_chef(temporal_length: str = "", **options: str) -> Problem:
    from capscope.agents.kitchen_hrl import KITCHEN_VALUES, KitchenHrlAgent, KitchenValues
    from capscope.environments.overcooked import (
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
    from capscope.agents.crafter_steve import SKILLS
    from capscope.agents.llm import LlmSettings, shared_client
    from capscope.agents.skill_chooser import ChooserSettings, SkillChooserAgent, SkillPrompt

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
    from capscope.agents.crafter_steve import STEVE_WEIGHTS, PolicyNetwork, SteveAgent
    from capscope.environments.crafter import CrafterAbstraction, read_map, shipped_maps

    maps = shipped_maps()
    name = options.get("map", "meadow")
    game_map = read_map(maps.get(name, name))
    spawn = _yes_or_no("spawn", options.get("spawn", "no"))
    stochastic = _yes_or_no("stochastic", options.get("stochastic", "no"))
    abstraction = CrafterAbstraction(game_map, spawn)
    network = PolicyNetwork.load(STEVE_WEIGHTS)
    return _CrafterParts(game_map, spawn, SteveAgent(network, abstraction, stochastic))


def _map_names() -> Container[str]:
    from capscope.environments.crafter import shipped_maps

    return shipped_maps()


def _crafter_problem(name: str, parts: _CrafterParts, fingerprint: str, agent: Agent) -> Problem:
    from capscope.environments.crafter import crafter_simulator, expected_consequences

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
    from capscope.agents.saycan import SayCanAgent, SayCanSettings, TabletopScript

    settings = SayCanSettings().changed(options)
    return table_problem(SayCanAgent(TabletopScript(), settings), "tabletop-affordance")


def _language_model_at_table(**options: str) -> Problem:
    from capscope.agents.llm import LlmSettings, shared_client
    from capscope.agents.saycan import TABLETOP_GUIDE, LanguageChooser, SayCanAgent, SayCanSettings

    chooser = LanguageChooser(shared_client(LlmSettings.from_environment()), TABLETOP_GUIDE)
    settings = SayCanSettings().changed(options)
    return table_problem(SayCanAgent(chooser, settings), "tabletop-saycan")


def _agentdojo(name: str) -> Problem:
    from capscope.tools.agentdojo import SUITES, agentdojo_problem

    return agentdojo_problem(SUITES[name])


def _planning(name: str, summary: str, limits: Limits | None = None) -> RegisteredProblem:
    def load() -> Problem:
        from capscope.environments.pddl import shipped_files

        return planning_problem(*shipped_files(name), name, limits or Limits(), summary)

    return RegisteredProblem(name, summary, load, extra="pddl", modules=("plado",))


_REACT_OPTIONS = "structured", "max_actions", "max_plan", "max_tokens", "max_thought", "temperature"
_CRAFTER_OPTIONS = "map", "spawn", "stochastic"
_CRAFTER_FILES = {"map": _map_names}
_CHOOSER_OPTIONS = "skill_steps", "choices", "logprobs"
BUILT_IN = (
    _planning("blocksworld", "LAO* planner stacking three blocks (deterministic)"),
    _planning("tireworld", "LAO* planner driving where tires go flat"),
    _planning(
        "first-responders",
        "LAO* planner with a fire unit, a medical unit, two victims",
        Limits(reset_every=100),
    ),
    _planning("probabilistic-elevators", "LAO* planner collecting coins past faulty gates"),
    _planning("depot", "LAO* planner moving crates with trucks and hoists (deterministic)"),
    _planning("couriers", "LAO* planner driving a van with parcels along muddy roads"),
    _planning("hanoi", "LAO* planner moving the disks of a tower of Hanoi (deterministic)"),
    RegisteredProblem(
        "minigrid-q",
        "learned policy in a MiniGrid of four rooms with a key, two doors and lava",
        _learned_grid_agent,
        extra="minigrid",
        modules=("minigrid",),
    ),
    RegisteredProblem(
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
    RegisteredProblem(
        "overcooked-hrl",
        "hierarchical policy that learned to cook in a kitchen of Overcooked",
        _learned_chef,
        extra="overcooked",
        modules=("overcooked_ai_py",),
        options=("dishes", "pile_onions", "soup_onions", "advance", "temporal_length"),
    ),
    RegisteredProblem(
        "crafter-steve",
        "policy that follows instructions, learned by imitation, in Crafter",
        _instruction_follower_in_crafter,
        extra="crafter",
        modules=("crafter",),
        options=_CRAFTER_OPTIONS,
        files=_CRAFTER_FILES,
    ),
    RegisteredProblem(
        "crafter-skills",
        "language model that chooses among the skills of that policy",
        _language_model_in_crafter,
        extra="crafter,llm",
        modules=("crafter", "openai"),
        options=(*_CRAFTER_OPTIONS, *_CHOOSER_OPTIONS),
        files=_CRAFTER_FILES,
    ),
    RegisteredProblem(
        "tabletop-affordance",
        "robot that stacks blocks as a camera sees them, with a script for a language model",
        _scripted_table_robot,
        extra="tabletop",
        modules=("mujoco",),
        options=("max_skills",),
    ),
    RegisteredProblem(
        "tabletop-saycan",
        "the same robot with a language model; CAPSCOPE_LLM_BASE_URL and _MODEL name it",
        _language_model_at_table,
        extra="tabletop,llm",
        modules=("mujoco", "openai"),
        options=("max_skills",),
    ),
    *(
        RegisteredProblem(
            f"agentdojo-{name}",
            f"language model with the tools of AgentDojo's {name}, attacked by its injections",
            partial(_agentdojo, name),
            extra="agentdojo",
            modules=("agentdojo",),
        )
        for name in ("banking", "workspace")
    ),
)


def planning_problem(
    domain: Path, problem: Path, name: str, limits: Limits, description: str = ""
) -> Problem:
    """Pair a PPDDL task with the LAO* agent; its truth is known."""
    from capscope.agents.lao_star import LaoStarAgent
    from capscope.environments.pddl import IdentityAbstraction, PddlSimulator, PddlTruth, load_task

    task = load_task(domain, problem)
    agent = LaoStarAgent(task.operators, task.vocabulary)
    digest = hashlib.sha256(domain.read_bytes() + b"\0" + problem.read_bytes()).hexdigest()[:16]
    return Problem(
        name=name,
        simulator=PddlSimulator(task),
        agent=agent,
        abstraction=IdentityAbstraction(task.vocabulary),
        limits=limits,
        truth=PddlTruth(task, agent.choose, limits),
        description=description,
        fingerprint=digest,
    )


def grid_problem(
    layout: str | Path, agent: Agent, name: str, fingerprint: str = "", limits: Limits = GRID_LIMITS
) -> Problem:
    """Put an agent into the grid of a layout file; `fingerprint` identifies the agent."""
    from capscope.environments.minigrid import GridAbstraction, grid_simulator, read_layout

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
    from capscope.environments.tabletop import SKILLS, TableAbstraction, tabletop_simulator

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
