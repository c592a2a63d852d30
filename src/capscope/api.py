"""The same in Python as on the command line: assess, resume, plan, try a plan.

>>> from capscope import Budget, assess
>>> assess("blocksworld", budget=Budget(executions=500)).usage.executions
500
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from capscope.analysis.aliasing import Aliasing, find_aliasing
from capscope.analysis.planning import Effort, Goal, Plan, Trial, Try, plan_for
from capscope.analysis.planning.origin import states_described, where_it_began
from capscope.analysis.planning.trial import try_out
from capscope.assessment import Budget, RunDirectory, RunSpec, Usage, run_assessment
from capscope.assessment.events import Listener, ignore
from capscope.assessment.reading import Reading, read_run
from capscope.errors import CapscopeError, RunError, SimulatorError
from capscope.export.frames import Frames, model_frames, run_frames
from capscope.export.model_json import model_document
from capscope.model import CapabilityModel, StateGraph
from capscope.present.notebook import Shown, result_html, shown_capability, shown_model
from capscope.present.report_file import write_report
from capscope.present.run_notes import run_notes
from capscope.present.text import counted
from capscope.problems import canonical_source, is_named, load_problem, text_digest
from capscope.record.agent_failures import AgentFailure, agent_failures_of
from capscope.record.initial_positions import InitialPositions
from capscope.record.run_directory import TEXTS, write_atomically
from capscope.strategy import Settings
from capscope.strategy.evidence import Evidence
from capscope.strategy.registry import DEFAULT_STRATEGY
from capscope.strategy.verdict import Verdict
from capscope.world import Problem
from capscope.world.problem import picture_of

MODEL = "model.json"
REPORT = "report.html"


@dataclass(frozen=True)
class Result:
    """What an assessment found."""

    spec: RunSpec
    graph: StateGraph
    usage: Usage
    stopped_because: str
    states: int
    transitions: int
    run: Path | None
    """The run directory; None for a run that was not kept."""
    initial_positions: InitialPositions
    """From how many initial positions the run began."""
    aliasing: Aliasing
    """Where what happens depends on something that the words do not tell."""
    agent_failures: tuple[AgentFailure, ...] = ()
    """In what ways the agent broke down."""

    @property
    def verdict(self) -> Verdict:
        """What the evidence settles and what it leaves open."""
        return Evidence.of(self.graph, self.spec.settings).verdict()

    @property
    def model(self) -> CapabilityModel:
        """The pessimistic model: what was seen, and nothing else."""
        return self.graph.pessimistic

    def show(self, capability: str | None = None) -> Shown:
        """Say when a capability does what, as text; of all of them, the most interesting first."""
        if capability is None:
            return shown_model(self.graph)
        return shown_capability(self.graph, self.graph.resolve_capability(capability))

    def notes(self) -> Iterator[str]:
        """Say what a reader must know before the model: breakdowns, other beginnings, and the like.

        There is nothing to say of most runs.
        """
        return run_notes(
            self.agent_failures,
            self.initial_positions,
            self.aliasing,
            self.graph.always,
            self.run or "DIR",
        )

    def frames(self) -> Frames:
        """Return the tables as pandas frames: transitions, rules and, of a kept run, queries.

        Those of a kept run are read from its directory, as it is now.
        """
        return model_frames(self.graph) if self.run is None else run_frames(self.run)

    def _repr_html_(self) -> str:
        usage = self.usage
        said = [
            f"{self.spec.problem.name}: {counted(len(self.graph.capabilities), 'capability')}, "
            f"{counted(self.states, 'state')} seen",
            f"{counted(usage.executions, 'execution')} in {counted(usage.queries, 'query')}, "
            f"{counted(usage.simulator_steps, 'simulator step')}; ended: {self.stopped_because}",
            str(self.verdict),
            *self.notes(),
        ]
        return result_html(said, self.graph)


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
    with _directory(run) as path, RunDirectory.create(path, spec.meta()) as opened:
        _note_text(opened, source)
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
    with RunDirectory.open(Path(run)) as opened:
        spec = _spec_of(opened, problem, budget, workers)
        opened.admit(spec.identity(), spec.budget)
        _note_text(opened, spec.source)
        return _carry_out(opened, spec, listener, keep=True)


def report_on(run: str | Path, output: Path | None = None, *, pictures: bool | None = None) -> Path:
    """Write the report of a run, finished or not, and return where it is.

    Pictures of states take the problem itself, and loading a problem runs its code. Without a word
    on `pictures` that is done only for problems that go by a name, and a problem that cannot be
    loaded here is a report without pictures.
    """
    path = Path(run)
    with RunDirectory.open(path, read_only=True) as opened:
        source: str = opened.journal.read_meta()["identity"]["problem"]
    draw = None
    if pictures or (pictures is None and is_named(source)):
        try:
            draw = picture_of(load_problem(source))
        except CapscopeError:
            if pictures:
                raise
    return write_report(path, output or path / REPORT, draw)


def plan(run: str | Path | Reading, goal: str, *, start: str | None = None) -> Plan:
    """Plan with the pessimistic model of a run: the most reliable policy of capabilities.

    `run` is a directory, or one that was read already. `goal` is a conjunction of literals. `start`
    is one too, or a state's number as in model.json; without it the plan begins where the run did.
    Needs the extra `plan`.
    """
    reading = run if isinstance(run, Reading) else read_run(Path(run))
    graph = reading.graph
    wanted = Goal.parse(goal, graph.vocabulary)
    starts = [where_it_began(reading.path)] if start is None else states_described(start, graph)
    return plan_for(graph, wanted, starts)


def try_plan(
    run: str | Path,
    plan: Plan,
    effort: Effort,
    *,
    problem: Problem | None = None,
    heard: Callable[[Try], None] = lambda _: None,
) -> Trial:
    """Try a plan on the agent of a run, from positions kept of its start; nothing is recorded.

    `problem` is needed for a run that was started with a `Problem` object of one's own. `heard` is
    told of each try.
    """
    with RunDirectory.open(Path(run), read_only=True) as opened:
        spec = _spec_of(opened, problem)
        opened.require_same(spec.identity())
        positions = opened.journal.snapshots(plan.start)
    if not plan.found or not positions:
        missing = "position of the start" if plan.found else "way to the goal"
        raise RunError(f"no {missing} is known in {run}; there is nothing to try")
    tries = []
    for one in try_out(spec.problem, plan, positions, effort):
        tries.append(one)
        heard(one)
    return Trial(plan, tuple(tries), effort.longest)


def _spec_of(
    opened: RunDirectory, problem: Problem | None, budget: Budget | None = None, workers: int = 1
) -> RunSpec:
    """Return what a run was started with, its problem loaded anew."""
    meta = opened.journal.read_meta()
    identity = meta["identity"]
    return RunSpec(
        problem or load_problem(identity["problem"]),
        identity["problem"],
        identity["strategy"],
        identity["seed"],
        Settings.from_dict(identity["settings"]),
        budget or Budget(**meta["budget"]),
        _copies(problem or identity["problem"], workers - 1),
    )


def _note_text(opened: RunDirectory, source: str) -> None:
    """Write down which texts the problem's file had while the run was under way."""
    texts, now = opened.journal.read_meta().get(TEXTS, []), text_digest(source)
    if now is not None and now not in texts[-1:]:
        opened.journal.write_meta({TEXTS: [*texts, now]})


def _carry_out(opened: RunDirectory, spec: RunSpec, listener: Listener, *, keep: bool) -> Result:
    try:
        assessment = run_assessment(opened, spec, listener)
    except SimulatorError as error:
        if not keep or not opened.asked:
            raise
        raise SimulatorError(
            f"{error}, and resume the run: what was seen so far is kept"
        ) from error.__cause__
    if keep:
        document = model_document(assessment.graph, spec.problem.name)
        write_atomically(opened.path / MODEL, json.dumps(document, indent=1) + "\n")
        write_report(opened.path, opened.path / REPORT, picture_of(spec.problem))
    return Result(
        spec=spec,
        graph=assessment.graph,
        usage=assessment.usage,
        stopped_because=assessment.stopped_because,
        states=len(assessment.run_state.dataset.states),
        transitions=assessment.run_state.dataset.distinct,
        run=opened.path if keep else None,
        initial_positions=InitialPositions.of(opened.journal.read_meta()),
        aliasing=find_aliasing(opened.journal),
        agent_failures=agent_failures_of(opened.journal),
    )


def _copies(problem: str | Problem, number: int) -> tuple[Problem, ...]:
    if number and not isinstance(problem, str):
        raise RunError(
            "a Problem object serves one worker; name it as file.py:factory, of which each worker "
            "makes its own"
        )
    source = problem if isinstance(problem, str) else problem.name
    return tuple(load_problem(canonical_source([source])) for _ in range(number))


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
