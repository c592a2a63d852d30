"""Planning tasks in PPDDL: parsed, compiled to bit masks, simulated, and known exactly.

`plado` parses the files. It is an extra, imported when the first task is loaded.
"""

from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from capscope.adapters.pddl.simulator import IdentityAbstraction, PddlSimulator
from capscope.adapters.pddl.task import GroundOperator, PddlTask
from capscope.adapters.pddl.truth import PddlTruth
from capscope.errors import ProblemError, install_hint

__all__ = [
    "SHIPPED_PROBLEMS",
    "GroundOperator",
    "IdentityAbstraction",
    "PddlSimulator",
    "PddlTask",
    "PddlTruth",
    "ProblemFiles",
    "load_task",
    "shipped_files",
]

_FOLDER = Path(str(files(__name__))) / "domains"
_DOMAIN, _PROBLEM = "-domain.pddl", "-problem.pddl"
SHIPPED_PROBLEMS = tuple(sorted(p.name.removesuffix(_DOMAIN) for p in _FOLDER.glob(f"*{_DOMAIN}")))


class ProblemFiles(NamedTuple):
    """The two files of a planning problem."""

    domain: Path
    problem: Path


def shipped_files(name: str) -> ProblemFiles:
    """Return the files of a problem that comes with capscope."""
    if name not in SHIPPED_PROBLEMS:
        known = ", ".join(SHIPPED_PROBLEMS)
        raise ProblemError(f"no planning problem {name!r} comes with capscope; use one of {known}")
    return ProblemFiles(_FOLDER / f"{name}{_DOMAIN}", _FOLDER / f"{name}{_PROBLEM}")


def load_task(domain_path: str | Path, problem_path: str | Path) -> PddlTask:
    """Read and compile two files; raise `DomainFileError` with path and line for a mistake."""
    try:
        from capscope.adapters.pddl.grounding import compile_task
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "plado":
            raise
        raise ProblemError(f"reading PPDDL files needs plado: {install_hint('pddl')}") from error
    return compile_task(Path(domain_path), Path(problem_path))
