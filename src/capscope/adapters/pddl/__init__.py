"""Planning tasks in PPDDL: parsed, compiled to bit masks, simulated, and known exactly.

`plado` parses the files. It is an extra, imported when the first task is loaded, so that listing
the problems works without it.
"""

import hashlib
from importlib.resources import files
from pathlib import Path

from capscope.adapters.pddl.task import (
    GroundOperator,
    IdentityAbstraction,
    PddlSimulator,
    PddlTask,
    PddlTruth,
)
from capscope.errors import ProblemError, install_hint
from capscope.problem import Limits, Problem
from capscope.problem.problem import RegisteredProblem

__all__ = [
    "PLANNING_PROBLEMS",
    "SHIPPED_PROBLEMS",
    "GroundOperator",
    "IdentityAbstraction",
    "PddlSimulator",
    "PddlTask",
    "PddlTruth",
    "load_task",
    "planning_problem",
    "shipped_files",
]

_FOLDER = Path(str(files(__name__))) / "domains"
_DOMAIN, _PROBLEM = "-domain.pddl", "-problem.pddl"
SHIPPED_PROBLEMS = tuple(sorted(p.name.removesuffix(_DOMAIN) for p in _FOLDER.glob(f"*{_DOMAIN}")))


def shipped_files(name: str) -> tuple[Path, Path]:
    """Return the domain file and the problem file of a problem that comes with capscope."""
    if name not in SHIPPED_PROBLEMS:
        known = ", ".join(SHIPPED_PROBLEMS)
        raise ProblemError(f"no planning problem {name!r} comes with capscope; use one of {known}")
    return _FOLDER / f"{name}{_DOMAIN}", _FOLDER / f"{name}{_PROBLEM}"


def load_task(domain_path: str | Path, problem_path: str | Path) -> PddlTask:
    """Read and compile two files; raise `ProblemError` with path and line for a mistake.

    Args:
        domain_path: The domain.
        problem_path: The problem; its goal is ignored.

    Returns:
        The ground task.
    """
    try:
        from capscope.adapters.pddl.grounding import compile_task
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "plado":
            raise
        raise ProblemError(f"reading PPDDL files needs plado: {install_hint('pddl')}") from error
    return compile_task(Path(domain_path), Path(problem_path))


def planning_problem(
    domain: Path, problem: Path, name: str, limits: Limits, description: str = ""
) -> Problem:
    """Pair a PPDDL task with the LAO* agent; its truth is known.

    Args:
        domain: The file of the domain.
        problem: The file of the problem.
        name: The name of the new problem.
        limits: When an execution ends.
        description: A short description.

    Returns:
        The problem.
    """
    from capscope.adapters.pddl.lao_star import LaoStarAgent

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


def _planning(name: str, summary: str, limits: Limits | None = None) -> RegisteredProblem:
    def load() -> Problem:
        return planning_problem(*shipped_files(name), name, limits or Limits(), summary)

    return RegisteredProblem(name, summary, load, extra="pddl", modules=("plado",))


PLANNING_PROBLEMS = (
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
)
