"""The registry: which problems there are, what each needs, and how to load one.

On the command line a problem is a registered name, `file.py:factory` for a function that returns a
`Problem`, a pair of PPDDL files, or an entry point in the group `capscope.problems` of another
package.

Some have options after the name: `minigrid-react:structured=no,max-actions=20`. A resumed run has
the same ones. The server and model of a language agent come from the environment instead (see
`capscope.agents.llm.settings`), because a key must not be recorded and a server may move; the
model's name is in the problem's fingerprint.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from capscope.assessment.workers import WorkerSettings, start_workers
from capscope.errors import CapscopeError, ProblemError, install_hint
from capscope.symbolic import State
from capscope.world import Agent, Limits, Problem, Snapshot, picture_of
from capscope.world.attempt import is_exit

if TYPE_CHECKING:
    from capscope.agents.crafter_steve import SteveAgent
    from capscope.agents.saycan import SayCanAgent
    from capscope.environments.crafter import GameMap

ENTRY_POINTS = "capscope.problems"
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
    from capscope.environments.overcooked import Kitchen, KitchenAbstraction, kitchen_simulator

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


def _crafter_problem(name: str, parts: _CrafterParts, fingerprint: str, agent: Agent) -> Problem:
    from capscope.environments.crafter import crafter_simulator

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
_CHOOSER_OPTIONS = "skill_steps", "choices", "logprobs"
_BUILT_IN = (
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
    ),
    RegisteredProblem(
        "crafter-skills",
        "language model that chooses among the skills of that policy",
        _language_model_in_crafter,
        extra="crafter,llm",
        modules=("crafter", "openai"),
        options=(*_CRAFTER_OPTIONS, *_CHOOSER_OPTIONS),
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
    from capscope.environments.tabletop import TableAbstraction, tabletop_simulator

    simulator = tabletop_simulator()
    return Problem(
        name=name,
        simulator=simulator,
        agent=agent,
        abstraction=TableAbstraction(),
        limits=limits,
        description="a robot with four blocks and a cup",
        fingerprint=f"{simulator.fingerprint}-{agent.fingerprint}",
    )


def registered_problems() -> dict[str, RegisteredProblem]:
    """Return every problem known by name, those of other packages included."""
    problems = {problem.name: problem for problem in _BUILT_IN}
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        summary = f"from {entry.dist.name}" if entry.dist else "from another package"
        problems.setdefault(
            entry.name, RegisteredProblem(entry.name, summary, partial(_enter, entry))
        )
    return problems


def canonical_source(arguments: Sequence[str]) -> str:
    """Turn what was typed into one string that finds the problem again from anywhere."""
    if len(arguments) == 2 and all(a.endswith(".pddl") for a in arguments):
        return ":".join(str(Path(a).resolve()) for a in arguments)
    if len(arguments) != 1:
        raise ProblemError("name one problem, or a domain file and a problem file (.pddl)")
    source = arguments[0]
    if source.endswith(".pddl") and ":" not in source:
        raise ProblemError(f"{source} needs a problem file after it: DOMAIN.pddl PROBLEM.pddl")
    path, _, rest = source.rpartition(":")
    if is_named(source):
        return source
    return f"{Path(path).resolve()}:{Path(rest).resolve() if path.endswith('.pddl') else rest}"


def source_slug(source: str) -> str:
    """Return a short name for the directory of a run.

    >>> source_slug("examples/vacuum.py:problem")
    'vacuum-problem'
    """
    left, colon, right = source.rpartition(":")
    if not colon:
        return source
    return Path(right).stem if right.endswith(".pddl") else f"{Path(left).stem}-{right}"


def is_named(source: str) -> bool:
    """Return whether a problem has a registered name, so that loading it runs no unknown file.

    >>> is_named("minigrid-react:max-actions=20"), is_named("vacuum.py:problem")
    (True, False)
    """
    left, colon, _ = source.rpartition(":")
    return not (colon and left.endswith((".py", ".pddl")))


def text_digest(source: str) -> str | None:
    """Hash a problem's Python file; None for any other problem.

    It is not part of the fingerprint: after fixing a simulator that raised, a run can be resumed.
    """
    left, colon, _ = source.rpartition(":")
    if not (colon and left.endswith(".py") and Path(left).is_file()):
        return None
    return hashlib.sha256(Path(left).read_bytes()).hexdigest()[:16]


def load_problem(source: str) -> Problem:
    """Load a problem by name, with options, `file.py:factory` or `domain.pddl:problem.pddl`."""
    left, colon, right = source.rpartition(":")
    if colon and left.endswith(".pddl"):
        return planning_problem(Path(left), Path(right), Path(right).stem, Limits())
    if colon and left.endswith(".py"):
        return _from_file(Path(left), right)
    if source.endswith(".py"):
        raise ProblemError(f"{source} needs the name of the function in it: {source}:problem")
    problems = registered_problems()
    name, colon, options = source.partition(":")
    if name not in problems:
        near = get_close_matches(name, problems, n=1)
        hint = f"did you mean {near[0]}?" if near else "`capscope list` shows them."
        raise ProblemError(
            f"no problem {source!r}; {hint} Your own: file.py:factory, or DOMAIN.pddl PROBLEM.pddl"
        )
    problem = problems[name]
    if not problem.installed:
        raise ProblemError(f"{name} needs an extra: {install_hint(problem.extra or 'all')}")
    return problem.load(**_options(problem, options)) if colon else problem.load()


@dataclass(frozen=True, slots=True)
class ProblemLoader:
    """Loads a problem by its source, also in another process or on another machine."""

    source: str

    def __call__(self) -> Problem:
        """Load the problem."""
        return load_problem(self.source)

    @property
    def digest(self) -> str | None:
        """A hash of the problem's Python file where this is called, if it has one."""
        return text_digest(self.source)


def runs_python_file(source: str) -> bool:
    """Return whether loading a problem runs a Python file that its source names.

    >>> runs_python_file("agent.py:problem"), runs_python_file("tireworld")
    (True, False)
    """
    return source.rpartition(":")[0].endswith(".py")


def refuse_python_file(source: str) -> None:
    """Raise if loading the problem that a run directory names runs a Python file.

    A run directory may come from somebody else. Problems with a name are installed code, and PPDDL
    files are data.
    """
    if runs_python_file(source):
        raise ProblemError(
            f"the run directory names the Python file {source}, and loading it runs its code; if "
            "you trust it, add --trust (in Python trust=True), or name the problem yourself"
        )


def picture_drawer(source: str, wanted: bool | None) -> Callable[[Snapshot], bytes] | None:
    """Return a function that draws positions of a problem; None if there are to be no pictures.

    That takes loading the problem, which runs its code: without a wish (None) it is done only for
    problems with a name, if they can be loaded here.
    """
    if wanted or (wanted is None and is_named(source)):
        try:
            return picture_of(load_problem(source))
        except CapscopeError:
            if wanted:
                raise
    return None


def _options(problem: RegisteredProblem, text: str) -> Mapping[str, str]:
    """Read `option=value,…`; the problem must have these options."""
    given = {}
    for setting in text.split(","):
        option, equals, value = setting.partition("=")
        name = option.strip().replace("-", "_")
        if name not in problem.options or not equals or name in given:
            known = ", ".join(f"{known.replace('_', '-')}=…" for known in problem.options)
            raise ProblemError(
                f"{problem.name}: unknown or repeated option {setting!r}; options: "
                f"{known or 'none'}"
            )
        given[name] = value.strip()
    return given


def load_object(source: str) -> object:
    """Return what a Python file defines under a name: `file.py:name`."""
    left, colon, name = source.rpartition(":")
    if not (colon and left.endswith(".py")):
        raise ProblemError(f"{source} names no object of a file; write it like file.py:world")
    module = _module(Path(left))
    if not hasattr(module, name):
        raise ProblemError(f"{left} does not define {name!r}")
    return getattr(module, name)


def _from_file(path: Path, factory: str) -> Problem:
    module = _module(path)
    make = getattr(module, factory, None)
    if isinstance(make, Problem):
        return make
    if not callable(make):
        own = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and (isinstance(value, Problem) or getattr(value, "__module__", "") == path.stem)
        ]
        has = f"it has {', '.join(own)}" if own else "define one that returns a capscope Problem"
        raise ProblemError(f"{path} has no function {factory!r}; {has}")
    return _call(make, f"{path}:{factory}")


def _module(path: Path) -> ModuleType:
    """Import a file."""
    if not path.is_file():
        raise ProblemError(f"no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ProblemError(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except CapscopeError as error:
        raise ProblemError(f"{path}: {error}") from error
    except BaseException as error:
        if not (isinstance(error, Exception) or is_exit(error)):
            raise
        raise ProblemError(f"importing {path} raised {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _enter(entry: metadata.EntryPoint) -> Problem:
    try:
        make = entry.load()
    except Exception as error:
        raise ProblemError(
            f"importing {entry.value} raised {type(error).__name__}: {error}"
        ) from error
    return _call(make, entry.value)


def _call(make: Callable[[], object], source: str) -> Problem:
    try:
        problem = make()
    except ProblemError:
        raise
    except BaseException as error:
        if not (isinstance(error, Exception) or is_exit(error)):
            raise
        raise ProblemError(f"{source} raised {type(error).__name__}: {error}") from error
    if not isinstance(problem, Problem):
        raise ProblemError(f"{source} returned {type(problem).__name__}, not a capscope Problem")
    return problem


ELSEWHERE = WorkerSettings(1, "processes", draw_timeout=300.0)
"""One other process."""


@dataclass(frozen=True, slots=True)
class RestoreSnapshots:
    """Snapshots to be restored on any copy of the problem."""

    snapshots: tuple[bytes, ...]

    def __call__(self, problem: Problem) -> list[State]:
        """Return the states seen there."""
        try:
            return [
                problem.abstraction(problem.simulator.restore(snapshot, 0))
                for snapshot in self.snapshots
            ]
        except Exception as error:
            raise ProblemError(f"{type(error).__name__}: {error}") from error


def restore_elsewhere(
    source: str, snapshots: Sequence[bytes], workers: WorkerSettings = ELSEWHERE
) -> list[State]:
    """Restore snapshots in workers that are not this process; return the states seen there."""
    loader, restore = ProblemLoader(source), RestoreSnapshots(tuple(snapshots))
    with start_workers(workers, loader(), loader) as started:
        found = list(started.map([restore] * workers.number))
    # If one of several workers sees something else, that is what matters.
    return next((states for states in found if states != found[0]), found[0])
