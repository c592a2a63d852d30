"""The registry: which problems there are, what each needs, and how to load one.

On the command line a problem is a registered name, `file.py:factory` for a function that returns a
`Problem`, a pair of PPDDL files, or an entry point in the group `capscope.problems` of another
package.

Some have options after the name: `minigrid-react:structured=no,max-actions=20`. A resumed run has
the same ones. The server and model of a language agent come from the environment instead (see
`capscope.adapters.llm.settings`), because a key must not be recorded and a server may move; the
model's name is in the problem's fingerprint.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib import metadata
from pathlib import Path
from types import ModuleType

from capscope.adapters.pddl import PLANNING_PROBLEMS, planning_problem
from capscope.assessment.remote_workers import MakeProblem
from capscope.assessment.workers import WorkerSettings, start_workers
from capscope.errors import CapscopeError, ProblemError
from capscope.journal.journal import Journal
from capscope.logic import State
from capscope.phases import begin_phase
from capscope.problem import Limits, Problem, Snapshot, picture_of
from capscope.problem.attempt import is_exit
from capscope.problem.problem import RegisteredProblem

__all__ = [
    "ProblemLoader",
    "canonical_source",
    "load_problem",
    "registered_problems",
    "source_slug",
]

ENTRY_POINTS = "capscope.problems"


def registered_problems() -> dict[str, RegisteredProblem]:
    """Return every problem known by name.

    Returns:
        The problems by name, those of other packages included.
    """
    problems = {problem.name: problem for problem in PLANNING_PROBLEMS}
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        problems.setdefault(entry.name, _registered(entry))
    return problems


def _find(name: str) -> RegisteredProblem | None:
    """Return a problem by name without importing the others."""
    own = next((problem for problem in PLANNING_PROBLEMS if problem.name == name), None)
    if own is not None:  # looking for entry points takes long
        return own
    return next(map(_registered, metadata.entry_points(group=ENTRY_POINTS, name=name)), None)


def _registered(entry: metadata.EntryPoint) -> RegisteredProblem:
    """Return what an entry point names: a problem, a mapping of problems, or a function."""
    summary = f"from {entry.dist.name}" if entry.dist else "from another package"
    try:
        found = entry.load()
    except Exception as error:
        # `capscope list` goes on; loading it says what is wrong.
        summary += f"; importing it raised {type(error).__name__}"
        return RegisteredProblem(entry.name, summary, partial(_enter, entry))
    if isinstance(found, Mapping):
        found = found.get(entry.name)
    if isinstance(found, RegisteredProblem):
        return found
    return RegisteredProblem(entry.name, summary, partial(_enter, entry))


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
    """Return whether a problem has a registered name.

    >>> is_named("minigrid-react:max-actions=20"), is_named("vacuum.py:problem")
    (True, False)
    """
    left, colon, _ = source.rpartition(":")
    return not (colon and left.endswith((".py", ".pddl")))


def source_files(source: str) -> tuple[Path, ...]:
    """Return the files that a source names; none if only what is installed is loaded.

    >>> source_files("crafter-steve:map=quarry"), source_files("crafter-steve:map=mine.txt")
    ((), (PosixPath('mine.txt'),))
    """
    left, _, right = source.rpartition(":")
    if not is_named(source):
        return (Path(left), Path(right)) if left.endswith(".pddl") else (Path(left),)
    name, _, options = source.partition(":")
    problem = _find(name)
    named = {} if problem is None else problem.files
    return tuple(
        Path(value)
        for option, value in map(_option, options.split(","))
        if option in named and value not in named[option]()
    )


def text_digest(source: str) -> str | None:
    """Hash a problem's Python file; None for any other problem.

    It is not part of the fingerprint: after fixing a simulator that raised, a run can be resumed.
    """
    left, colon, _ = source.rpartition(":")
    if not (colon and left.endswith(".py") and Path(left).is_file()):
        return None
    return hashlib.sha256(Path(left).read_bytes()).hexdigest()[:16]


def record_file_digest(journal: Journal, source: str) -> None:
    """Record which texts the problem's file has had while the run was under way."""
    known, now = journal.read_meta().file_digests, text_digest(source)
    if now is not None and now not in known[-1:]:
        journal.set_meta(file_digests=[*known, now])


def load_problem(source: str) -> Problem:
    """Load a problem.

    Args:
        source: A name, also with options; `file.py:factory` or `domain.pddl:problem.pddl`.

    Returns:
        The problem.
    """
    left, colon, right = source.rpartition(":")
    if colon and left.endswith(".pddl"):
        return planning_problem(Path(left), Path(right), Path(right).stem, Limits())
    if colon and left.endswith(".py"):
        return _from_file(Path(left), right)
    if source.endswith(".py"):
        raise ProblemError(f"{source} needs the name of the function in it: {source}:problem")
    name, colon, options = source.partition(":")
    problem = _find(name)
    if problem is None:
        near = get_close_matches(name, registered_problems(), n=1)
        hint = f"did you mean {near[0]}?" if near else "`capscope list` shows them."
        raise ProblemError(
            f"no problem {source!r}; {hint} The package capscope-worlds has more; your own: "
            "file.py:factory, or DOMAIN.pddl PROBLEM.pddl"
        )
    if not problem.installed:
        raise ProblemError(f"{name} needs an extra: {problem.install_hint}")
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


def resume_command(directory: Path, source: str) -> str:
    """Return the command that continues a run."""
    return f"capscope resume {directory}{' --trust' if source_files(source) else ''}"


def refuse_files(source: str) -> None:
    """Raise if loading the problem that a run directory names opens a file that it names.

    A run directory may come from someone else. Problems with a name are installed code. A Python
    file is run; any other file may be one that should not be read, or a pipe that never ends.
    """
    files = source_files(source)
    if not files:
        return
    if runs_python_file(source):
        does = f"the Python file {source}, and loading it runs its code"
    else:
        does = f"{' and '.join(map(str, files))}, and loading its problem opens that"
    raise ProblemError(
        f"the run directory names {does}; if you trust it, add --trust (in Python trust=True), or "
        "name the problem yourself"
    )


FoundProblem = tuple[str, Problem, MakeProblem | None]
"""How a problem is found again, the problem, and what makes another copy of it."""


def find_problem(problem: str | Problem | MakeProblem) -> FoundProblem:
    """Return a problem that a user named, made, or gave a function for."""
    if isinstance(problem, Problem):
        return problem.name, problem, None
    if isinstance(problem, str):
        source = canonical_source([problem])
        begin_phase(f"loading {source}")
        loader = ProblemLoader(source)
        return source, loader(), loader
    made = _require_problem(problem(), repr(problem))
    return made.name, made, problem


def find_again(
    source: str, given: str | Problem | MakeProblem | None, *, trust: bool
) -> FoundProblem:
    """Return the problem that a run directory names, or the one that is given instead."""
    if given is None and not trust:
        refuse_files(source)
    return find_problem(source if given is None else given)


def picture_drawer(source: str, wanted: bool | None) -> Callable[[Snapshot], bytes] | None:
    """Return a function that draws positions of a problem; None if there are to be no pictures.

    That takes loading the problem, which runs its code: without a wish (None) it is done only for
    problems with a name whose options name no file, if they can be loaded here.
    """
    if wanted or (wanted is None and not source_files(source)):
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
        name, value = _option(setting)
        if name not in problem.options or "=" not in setting or name in given:
            known = ", ".join(f"{known.replace('_', '-')}=…" for known in problem.options)
            raise ProblemError(
                f"{problem.name}: unknown or repeated option {setting!r}; options: "
                f"{known or 'none'}"
            )
        given[name] = value
    return given


def _option(setting: str) -> tuple[str, str]:
    name, _, value = setting.partition("=")
    return name.strip().replace("-", "_"), value.strip()


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
    return _require_problem(problem, source)


def _require_problem(made: object, source: str) -> Problem:
    if not isinstance(made, Problem):
        raise ProblemError(f"{source} returned {type(made).__name__}, not a capscope Problem")
    return made


ELSEWHERE = WorkerSettings(1, "processes", draw_timeout=300.0)
"""One other process."""


def _restored_states(snapshots: Sequence[bytes], problem: Problem) -> list[State]:
    """Return the states seen when snapshots are restored."""
    try:
        return [problem.abstraction(problem.simulator.restore(one, 0)) for one in snapshots]
    except Exception as error:
        raise ProblemError(f"{type(error).__name__}: {error}") from error


def restore_elsewhere(
    source: str, snapshots: Sequence[bytes], workers: WorkerSettings = ELSEWHERE
) -> list[State]:
    """Restore snapshots in workers that are not this process; return the states seen there."""
    loader, restore = ProblemLoader(source), partial(_restored_states, tuple(snapshots))
    with start_workers(workers, loader(), loader) as started:
        found = list(started.map([restore] * workers.number))
    # If one of several workers sees something else, that is what matters.
    return next((states for states in found if states != found[0]), found[0])
