"""The same in Python as on the command line: assess, resume, read back.

>>> from capscope import Budget, assess
>>> assess("blocksworld", budget=Budget(executions=500)).usage.executions
500
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from capscope.assessment import Budget, Run, RunSpec, Usage, run_assessment
from capscope.assessment.events import Listener, ignore
from capscope.assessment.run import write_atomically
from capscope.errors import CapscopeError, RunError
from capscope.export.model_json import model_document
from capscope.model import CapabilityModel, Models
from capscope.problems import canonical_source, is_named, load_problem
from capscope.query import Settings
from capscope.query.evidence import Evidence
from capscope.query.strategies import DEFAULT_STRATEGY
from capscope.query.verdict import Verdict
from capscope.report.digest.states import Pictures
from capscope.report.report_file import write_report
from capscope.world import Pictured, Problem

MODEL = "model.json"
REPORT = "report.html"


@dataclass(frozen=True)
class Result:
    """What an assessment found."""

    spec: RunSpec
    models: Models
    usage: Usage
    stopped_because: str
    states: int
    transitions: int
    run: Path | None
    """The run directory; None for a run that was not kept."""

    @property
    def verdict(self) -> Verdict:
        """What the evidence settles and what it leaves open."""
        return Evidence.of(self.models, self.spec.settings).verdict()

    @property
    def model(self) -> CapabilityModel:
        """The pessimistic model: what was seen, and nothing else."""
        return self.models.pessimistic


def assess(
    problem: str | Problem,
    *,
    strategy: str = DEFAULT_STRATEGY,
    seed: int = 0,
    settings: Settings | None = None,
    budget: Budget | None = None,
    run: str | Path | None = None,
    listener: Listener = ignore,
    workers: int = 1,
) -> Result:
    """Assess an agent; `problem` is a `Problem` or anything `capscope assess` takes.

    With `run`, everything is kept in that directory, and `resume` goes on with it; without, the
    record lives as long as the call. `workers` draws of a query are made side by side, each on a
    copy of the problem.
    """
    if isinstance(problem, str):
        source = canonical_source([problem])
        loaded = load_problem(source)
    else:
        source, loaded = problem.name, problem
    spec = RunSpec(
        loaded,
        source,
        strategy,
        seed,
        settings or Settings(),
        budget or Budget(),
        _copies(problem, workers - 1),
    )
    spec.check()
    with _directory(run) as path, Run.create(path, spec) as opened:
        return _carry_out(opened, spec, listener, keep=run is not None)


def resume(
    run: str | Path,
    *,
    problem: Problem | None = None,
    budget: Budget | None = None,
    listener: Listener = ignore,
    workers: int = 1,
) -> Result:
    """Go on with a run; only budget and workers may differ from what it was started with.

    `problem` is needed for a run that was started with a `Problem` object of one's own.
    """
    with Run.open(Path(run)) as opened:
        meta = opened.journal.read_meta()
        identity = meta["identity"]
        loaded = problem or load_problem(identity["problem"])
        spec = RunSpec(
            loaded,
            identity["problem"],
            identity["strategy"],
            identity["seed"],
            Settings.from_dict(identity["settings"]),
            budget or Budget(**meta["budget"]),
            _copies(problem or identity["problem"], workers - 1),
        )
        opened.admit(spec)
        return _carry_out(opened, spec, listener, keep=True)


def report_on(run: str | Path, output: Path | None = None, *, pictures: bool | None = None) -> Path:
    """Write the report of a run, finished or not, and return where it is.

    Pictures of states take the problem itself, and loading a problem runs its code. Without a word
    on `pictures` that is done only for problems that go by a name, and a problem that cannot be
    loaded here is a report without pictures.
    """
    path = Path(run)
    with Run.open(path, read_only=True) as opened:
        source: str = opened.journal.read_meta()["identity"]["problem"]
    draw = None
    if pictures or (pictures is None and is_named(source)):
        try:
            draw = _pictures(load_problem(source))
        except CapscopeError:
            if pictures:
                raise
    return write_report(path, output or path / REPORT, draw)


def _carry_out(opened: Run, spec: RunSpec, listener: Listener, *, keep: bool) -> Result:
    assessment = run_assessment(opened, spec, listener)
    if keep:
        document = model_document(assessment.models, spec.problem.name)
        write_atomically(opened.path / MODEL, json.dumps(document, indent=1) + "\n")
        write_report(opened.path, opened.path / REPORT, _pictures(spec.problem))
    return Result(
        spec=spec,
        models=assessment.models,
        usage=assessment.usage,
        stopped_because=assessment.stopped_because,
        states=len(assessment.knowledge.dataset.states),
        transitions=assessment.knowledge.dataset.distinct,
        run=opened.path if keep else None,
    )


def _copies(problem: str | Problem, number: int) -> tuple[Problem, ...]:
    if number and not isinstance(problem, str):
        raise RunError(
            "a Problem object serves one worker; name it as file.py:factory, of which each worker "
            "makes its own"
        )
    source = problem if isinstance(problem, str) else problem.name
    return tuple(load_problem(canonical_source([source])) for _ in range(number))


def _pictures(problem: Problem) -> Pictures | None:
    simulator = problem.simulator
    return simulator.picture if isinstance(simulator, Pictured) else None


@contextmanager
def _directory(run: str | Path | None) -> Iterator[Path]:
    if run is not None:
        yield Path(run)
        return
    try:
        folder = tempfile.TemporaryDirectory(prefix="capscope-", ignore_cleanup_errors=True)
    except OSError as error:
        raise RunError(f"no room for a temporary run: {error}; name a run directory") from error
    with folder as name:
        yield Path(name)
