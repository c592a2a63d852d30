"""The planning problems that come with capscope, each with the LAO* agent.

The parser is imported when a problem is loaded, so that listing the problems works without it.
"""

import hashlib
from pathlib import Path

from capscope.problem import Limits, Problem
from capscope.problem.registered import RegisteredProblem


def planning_problem(
    domain: Path, problem: Path, name: str, limits: Limits, description: str = ""
) -> Problem:
    """Pair a PPDDL task with the LAO* agent; its truth is known."""
    from capscope.adapters.pddl import IdentityAbstraction, PddlSimulator, PddlTruth, load_task
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
        from capscope.adapters.pddl import shipped_files

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
