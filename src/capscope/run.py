"""The public object: a run, finished or not, and everything that can be asked of it.

`capscope.assess(...)` and `capscope.load(directory)` return the same `Run`. It is read from the
journal once; each derived fact is computed when it is first asked for, and kept.

>>> from capscope import Budget, assess
>>> assess("blocksworld", budget=Budget(executions=500)).usage.executions
500
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from capscope.analysis.aliasing import Aliasing, find_aliasing
from capscope.analysis.drift import Drift, find_drift
from capscope.analysis.evaluation.evaluate import Measure, evaluate_run
from capscope.analysis.evaluation.sample import Progress, silent
from capscope.analysis.findings import Finding, find_findings
from capscope.analysis.findings.pair_endings import pair_endings
from capscope.analysis.hazards import HazardResult, find_hazards
from capscope.analysis.planning import Goal, Plan, PlanAttempt, Trial, TrialSettings, plan_for
from capscope.analysis.planning.goal import matching_states
from capscope.analysis.planning.trial import attempt_plan
from capscope.analysis.rates import CapabilityRates, achievement_rates
from capscope.analysis.success import ResetSuccess, success_from_resets
from capscope.assessment import Listener, RunSpec, ignore, run_assessment
from capscope.assessment.run_state import RunState
from capscope.assessment.time_limit import OutOfTime, TimedPictures, TimeLimit
from capscope.assessment.workers import WorkerSettings, start_workers
from capscope.assessment.workers.contract import MakeProblem
from capscope.errors import ProblemError, RunError, SimulatorError
from capscope.model import ExtremeModels, LearnedModel, ModelCoverage, StateGraph
from capscope.phases import begin_phase
from capscope.problems import (
    ProblemLoader,
    canonical_source,
    picture_drawer,
    refuse_python_file,
    text_digest,
)
from capscope.record.agent_failures import AgentFailure, find_agent_failures
from capscope.record.execution_table import ExecutionTable, has_several_positions
from capscope.record.identity import InitialPositions, RunIdentity, RunMeta
from capscope.record.journal import Journal
from capscope.record.journal_file import JournalStamp, understood
from capscope.record.progress import journal_stamp
from capscope.record.run_directory import MODEL, REPORT, RunDirectory, TemporaryRun
from capscope.record.settings import Settings
from capscope.record.stop_reason import StopReason
from capscope.record.usage import Budget, Usage
from capscope.statistics.audit import AuditResult
from capscope.strategy.evidence import Evidence
from capscope.strategy.registry import DEFAULT_STRATEGY
from capscope.strategy.verdict import Verdict
from capscope.symbolic import ExpectedEffects, Intent, State
from capscope.world import Hazard, Problem, picture_of

if TYPE_CHECKING:
    from capscope.analysis.diff import Comparison
    from capscope.export.frames import Frames
    from capscope.present.explanation import Explanation
    from capscope.present.notebook import PreformattedText

_SUMMARY = ("coverage", "agent_failures", "aliasing", "drift", "success")
"""What is said of a run at its end, and takes time to compute."""


class Run:
    """A run as it was when it was loaded, or when it stopped.

    A run that was not kept lives in a temporary directory for as long as this object.
    """

    def __init__(
        self,
        path: Path,
        meta: RunMeta,
        executions: ExecutionTable,
        graph: StateGraph,
        *,
        evidence: Evidence | None = None,
        model: LearnedModel | None = None,
        temporary: TemporaryRun | None = None,
    ) -> None:
        self.path = path
        """The run directory."""
        self.meta = meta
        self.executions = executions
        """Every execution, as columns."""
        self.graph = graph
        """The states seen and the pairs tried."""
        self.omitted: str | None = None
        """Why the report was not written at the end of the run; None if it was."""
        self.workers_lost = 0
        """Workers that were lost while this object was made; their draws were made again."""
        self._evidence = evidence
        self._model = model
        self._temporary = temporary
        self._trusted = False
        """Whether the problem was loaded from what the user named."""
        self._verified: JournalStamp | None = None
        """The journal that was found intact."""
        self._explanations: dict[int | None, Explanation] = {}

    @property
    def kept(self) -> bool:
        """Whether the run directory outlives this object."""
        return self._temporary is None

    @property
    def summed_up(self) -> bool:
        """Whether there was time to compute what is said of a run at its end."""
        return self.omitted is None or all(fact in vars(self) for fact in _SUMMARY)

    @property
    def report_path(self) -> Path:
        """Where the report of a kept run is."""
        return self.path / REPORT

    @property
    def identity(self) -> RunIdentity:
        """What the run was started with."""
        return self.meta.identity

    @property
    def problem(self) -> str:
        """The name of the problem."""
        return self.meta.name

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that were assessed."""
        return self.graph.capabilities

    @cached_property
    def models(self) -> ExtremeModels:
        """The pessimistic and the optimistic model."""
        return ExtremeModels(self.graph)

    @cached_property
    def model(self) -> LearnedModel:
        """The learned model: what was seen, and what that makes likely of pairs never tried.

        The model of an audited run is the one that was audited: the draws of the audit count only
        for the pairs that they are about.
        """
        if self._model is not None:
            return self._model
        seed, audit = self.identity.seed, self.meta.audit
        if audit is None:
            return LearnedModel.fitted(self.graph, seed)
        before = _graph(self.meta, self.capabilities)
        before.update(self.executions.first_queries(audit.since_query).transitions())
        model = LearnedModel.fitted(before, seed)
        model.follow(self.graph)
        return model

    @property
    def audit(self) -> AuditResult | None:
        """How far an audit of the model got; None if none was begun."""
        return self.meta.audit

    @cached_property
    def coverage(self) -> ModelCoverage:
        """How many pairs of the states seen were tried, are inferred, and are unknown."""
        return self.model.coverage()

    @cached_property
    def usage(self) -> Usage:
        """What was spent."""
        return self.meta.discovery_usage + self.executions.queries.usage()

    @property
    def budget(self) -> Budget:
        """What it was allowed to spend."""
        return self.meta.budget

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the run ended; None if it has not, or went on since with another budget."""
        return self.meta.stop_reason

    @property
    def initial_positions(self) -> InitialPositions:
        """Where the run began."""
        return self.meta.initial_positions

    @property
    def first_state(self) -> State:
        """The state in which the first query started."""
        if not len(self.executions.queries):
            raise RunError(
                f"{self.path} has asked nothing yet; continue it with `capscope resume {self.path}`"
            )
        return self.executions.states[int(self.executions.queries.start[0])]

    @cached_property
    def verdict(self) -> Verdict:
        """What the evidence settles and what it leaves open; see also `claim_withheld`."""
        evidence = self._evidence or Evidence.of(self.graph, self.identity.settings)
        return evidence.verdict()

    @cached_property
    def agent_failures(self) -> tuple[AgentFailure, ...]:
        """The ways in which the agent failed: it raised, or chose an unavailable action."""
        return find_agent_failures(
            self.executions, self.open_journal, self.capabilities, self.graph.vocabulary
        )

    @cached_property
    def aliasing(self) -> Aliasing:
        """Where outcomes depend on simulator state that the predicates do not capture."""
        return find_aliasing(self.executions, self.capabilities, self.graph.vocabulary)

    @cached_property
    def drift(self) -> Drift | None:
        """How the agent changed while the run was under way; None if that is not shown."""
        return find_drift(
            self.executions,
            self.capabilities,
            self.graph.vocabulary,
            several_positions=self._has_several_positions,
            discovered=self.meta.discovered,
        )

    def _has_several_positions(self) -> bool:
        with self.open_journal() as journal:
            return has_several_positions(journal)

    @cached_property
    def success(self) -> Mapping[Intent, ResetSuccess]:
        """How often the agent achieves each intent if asked right after a reset.

        Intents that hold after every reset are missing. Runs of earlier versions have none.
        """
        return success_from_resets(
            self.executions, self.capabilities, self.graph.vocabulary, self.initial_positions
        )

    @cached_property
    def rates(self) -> Mapping[Intent, CapabilityRates]:
        """How often the agent achieves each intent at once, and if asked until it holds.

        From the states in which it was asked for and did not hold; intents without such a state are
        missing.
        """
        return achievement_rates(self.graph, self.executions, self.initial_positions)

    @property
    def claim_withheld(self) -> str | None:
        """Why nothing is called settled, whatever the verdict; None if there is no such reason."""
        if self.drift is not None:
            return "the agent changed while the run was under way"
        if self.executions.idle:
            return "no execution changed anything"
        return None

    def findings(self) -> list[Finding]:
        """Return what a user should know about the agent, the most harmful first."""
        return self._findings

    @cached_property
    def _findings(self) -> list[Finding]:
        begin_phase("looking for surprises")
        return find_findings(
            self.graph,
            temporal_length=self.identity.temporal_length,
            beginnings=self.initial_positions.states,
            endings=pair_endings(self.executions, self.capabilities, self.graph.vocabulary),
            drift=self.drift,
        )

    @cached_property
    def hazards(self) -> tuple[HazardResult, ...]:
        """What is known about the hazards that the run searched for."""
        return self.find_hazards(self.identity.settings.hazards)

    def find_hazards(self, hazards: Sequence[str]) -> tuple[HazardResult, ...]:
        """Return what is known about hazards, whether or not the run searched for them.

        All bounds hold together with the confidence of the run.
        """
        words = self.graph.vocabulary
        return find_hazards(self, [Hazard.parse(text, words) for text in dict.fromkeys(hazards)])

    def notes(self) -> Iterator[str]:
        """Yield what a reader must know before the model; for most runs there is nothing."""
        from capscope.present.notes import run_notes

        return run_notes(self)

    @contextmanager
    def open_journal(self) -> Iterator[Journal]:
        """Open the journal, for trajectories, transcripts and positions."""
        with RunDirectory.open(self.path, read_only=True, verified=self._verified) as opened:
            yield opened.journal

    def within(self, executions: int | None = None, *, simulator_steps: int | None = None) -> Run:
        """Return the run as it was after the last query that ended within this much.

        The steps of discovery count, as in `usage`.
        """
        if simulator_steps is not None:
            simulator_steps -= self.meta.discovery_usage.simulator_steps
        table = self.executions.within(executions, simulator_steps)
        graph = _graph(self.meta, self.capabilities)
        graph.update(table.transitions())
        return Run(self.path, self.meta, table, graph, temporary=self._temporary)

    def replay(self) -> Iterator[tuple[Usage, StateGraph]]:
        """Yield what was spent and what was known after each query.

        It is the same graph each time, updated in place. It has every capability from the start.
        """
        graph = _graph(self.meta, self.capabilities)
        usages = self.executions.queries.running_usage(self.meta.discovery_usage)
        for usage, transitions in zip(usages, self.executions.transitions_by_query(), strict=True):
            graph.update(transitions)
            yield usage, graph

    def show(self, capability: str | None = None) -> PreformattedText:
        """Return when a capability does what, as text; all of them if none is named.

        A pattern like `on(*,b)` names those that it matches.
        """
        from capscope.present.notebook import ShownRates, shown_capabilities, shown_model

        rates = ShownRates.of(self)
        if capability is None:
            return shown_model(self.graph, rates)
        intents = self.graph.match_capabilities(capability)
        return shown_capabilities(self.graph, intents, rates)

    def explain(self, query: int | None = None) -> Explanation:
        """Return what a query asked and why, and what it taught; the last one if none is named."""
        from capscope.present.explanation import explain

        if query not in self._explanations:
            try:
                self._explanations[query] = explain(self, query)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise RunError(
                    f"a query of {self.path} cannot be explained ({' '.join(str(error).split())}); "
                    "capscope did not write its record"
                ) from error
        return self._explanations[query]

    def diff(
        self, other: Run | str | Path, *, error_rate: float = 0.05, any_position: bool = False
    ) -> Comparison:
        """Return in what another run differs from this one, as far as the evidence supports it.

        With `any_position` the symbolic state is taken to capture everything that matters: draws
        that started from different positions of the simulator count as equal.
        """
        from capscope.analysis.diff import compare_runs

        later = other if isinstance(other, Run) else load(other)
        begin_phase("comparing")
        return compare_runs(self, later, error_rate=error_rate, any_position=any_position)

    def plan(self, goal: str, *, start: str | None = None, inferred: bool | None = None) -> Plan:
        """Plan: the most reliable policy of capabilities for a goal.

        `goal` is a conjunction of literals. `start` is one too, or a state as in model.json;
        without it the plan begins where the run did. Steps are pairs that were tried. If none of
        these lead to the goal, or with `inferred=True`, they may also be pairs that the model
        infers; with `inferred=False` never. Needs the extra `plan`.
        """
        wanted = Goal.parse(goal, self.graph.vocabulary)
        starts = [self.first_state] if start is None else matching_states(start, self.graph)
        if not inferred:
            plan = plan_for(self.models, wanted, starts)
            if plan.found or inferred is False:
                return plan
        return plan_for(self.models, wanted, starts, inferred=self.model)

    def try_plan(
        self,
        plan: Plan,
        settings: TrialSettings,
        *,
        problem: Problem | str | None = None,
        trust: bool = False,
        listener: Callable[[PlanAttempt], None] = lambda _: None,
    ) -> Trial:
        """Execute a plan with the agent, from positions kept of its start; nothing is recorded.

        `problem` and `trust` are as in `resume`; `listener` is called per try.
        """
        loaded = self._load_problem(problem, trust)
        with self.open_journal() as journal:
            positions = journal.positions(plan.start)
        if not plan.found or not positions:
            missing = "position of the start" if plan.found else "way to the goal"
            raise RunError(f"no {missing} is known in {self.path}; there is nothing to try")
        tries = []
        for one in attempt_plan(loaded, plan, positions, settings):
            tries.append(one)
            listener(one)
        return Trial(plan, tuple(tries), settings.longest)

    def evaluate(
        self,
        measure: Measure | None = None,
        *,
        problem: Problem | str | MakeProblem | None = None,
        trust: bool = False,
        progress: Progress = silent,
        workers: int | WorkerSettings = 1,
    ) -> dict[str, Any]:
        """Compare the model with the agent: with the exact truth if known, and with samples.

        The samples are kept in the folder `datasets` beside the run directory; `workers` execute
        their sequences. `problem` and `trust` are as in `resume`.
        """
        given = _GivenProblem(problem, trust or self._trusted)
        _, loaded, make = _found_again(self.identity.source, given)
        measure = measure or Measure()
        limits = measure.after_executions, measure.after_steps
        whole = limits == (None, None)
        chosen = self if whole else self.within(limits[0], simulator_steps=limits[1])
        where = _worker_settings(workers)
        if where == WorkerSettings():  # no other thread than this one
            return evaluate_run(chosen, loaded, measure, progress)
        with start_workers(where, loaded, make) as started:
            return evaluate_run(chosen, loaded, measure, progress, started)

    def export(
        self, format: str = "json", to: str | Path | None = None, **options: Any
    ) -> str | dict[str, str | bytes]:
        """Return the model, or the whole run, in a format of `capscope.export.FORMATS`.

        A format of one text gives the text, others a file content for each file name. With `to`,
        the file, or the directory of the files, is written as well.
        """
        from capscope.export.formats import export_run

        begin_phase(f"exporting to {format}")
        return export_run(self, format, to, **options)

    def frames(self) -> Frames:
        """Return the tables of transitions, rules and queries as pandas data frames."""
        from capscope.export.frames import run_frames

        return run_frames(self)

    def report(self, output: str | Path | None = None, *, pictures: bool | None = None) -> Path:
        """Write the report of the run, and return where it is.

        Pictures of states need the problem, and loading a problem runs its code. By default that is
        done only for problems with a name, if they can be loaded here.
        """
        from capscope.present.page import write_report

        draw = picture_drawer(self.identity.source, pictures)
        begin_phase("writing the report")
        return write_report(self, self.report_path if output is None else Path(output), draw)

    def resume(
        self,
        *,
        problem: Problem | str | MakeProblem | None = None,
        trust: bool = False,
        budget: Budget | None = None,
        listener: Listener = ignore,
        workers: int | WorkerSettings = 1,
    ) -> Run:
        """Continue the run; only budget and workers may differ from what it was started with.

        `problem` is needed for a run that was not started with the name of a problem. A run
        directory may come from somebody else: the Python file that it names is run only if it was
        named in this process before, is named as `problem`, or with `trust`.
        """
        given = _GivenProblem(problem, trust or self._trusted)
        return _resume(self.path, given, budget, listener, workers, self._temporary)

    def _load_problem(self, problem: Problem | str | None, trust: bool) -> Problem:
        given = _GivenProblem(problem, trust or self._trusted)
        _, loaded, _ = _found_again(self.identity.source, given)
        with RunDirectory.open(self.path, read_only=True) as opened:
            opened.require_same(RunSpec.continuing(self.meta, loaded).identity)
        return loaded

    def __repr__(self) -> str:
        return f"<capscope.Run {self.path}: {self.problem}, {self.usage.executions:,} executions>"

    def _repr_html_(self) -> str:
        from capscope.present.notebook import run_html

        return run_html(self)


def load(directory: str | Path) -> Run:
    """Load a run, finished or not, as it is at this moment; its problem is not needed."""
    path = Path(directory)
    begin_phase(f"reading {path}")
    stamp = journal_stamp(path)
    with RunDirectory.open(path, read_only=True) as opened, opened.journal.at_one_moment():
        meta, intents = opened.journal.read_meta(), opened.journal.intents()
        table = ExecutionTable.read(opened.journal)
        with understood(opened.journal.path):
            meta.require_known_atoms(table.states)
            graph = _graph(meta, intents)
            # The order of transitions leaves no trace in the graph, so all are added at once.
            graph.update(table.transitions())
    run = Run(path, meta, table, graph)
    run._verified = stamp
    return run


def assess(
    problem: str | Problem | MakeProblem,
    *,
    strategy: str = DEFAULT_STRATEGY,
    seed: int = 0,
    settings: Settings | None = None,
    budget: Budget | None = None,
    run: str | Path | None = None,
    listener: Listener = ignore,
    workers: int | WorkerSettings = 1,
) -> Run:
    """Assess an agent; `problem` is a `Problem`, a function that makes one, or a name.

    A name is anything that `capscope assess` takes. With `run`, everything is kept in that
    directory, and `resume` continues it; without, the record lives as long as the returned object.
    `workers` draws of a query are made in parallel, each on a copy of the problem.
    """
    begun = time.monotonic()
    source, loaded, make = _found(problem)
    with start_workers(_worker_settings(workers), loaded, make) as started:
        spec = RunSpec(
            loaded,
            source,
            strategy,
            seed,
            _as_declared(settings or Settings(), loaded),
            budget or Budget(),
            started,
            TimeLimit.of(begun, None if budget is None or run is None else budget.seconds),
        )
        temporary = None
        if run is None:
            temporary = TemporaryRun()
            run = temporary.path
        with RunDirectory.create(Path(run), spec.meta()) as opened:
            return _carry_out(opened, spec, listener, temporary)


def resume(
    run: str | Path,
    *,
    problem: Problem | str | MakeProblem | None = None,
    trust: bool = False,
    budget: Budget | None = None,
    listener: Listener = ignore,
    workers: int | WorkerSettings = 1,
) -> Run:
    """Continue a run; only budget and workers may differ from what it was started with.

    `problem` is needed for a run that was not started with the name of a problem. A run directory
    may come from somebody else: the Python file that it names is run only with `trust`, or if it is
    named as `problem`.
    """
    return _resume(Path(run), _GivenProblem(problem, trust), budget, listener, workers, None)


class _GivenProblem(NamedTuple):
    """What the user says about the problem of an existing run."""

    problem: Problem | str | MakeProblem | None
    trust: bool


def _resume(
    path: Path,
    given: _GivenProblem,
    budget: Budget | None,
    listener: Listener,
    workers: int | WorkerSettings,
    temporary: TemporaryRun | None,
) -> Run:
    begun = time.monotonic()
    with RunDirectory.open(path) as opened:
        meta = opened.journal.read_meta()
        _, loaded, make = _found_again(meta.identity.source, given)
        with start_workers(_worker_settings(workers), loaded, make) as started:
            spec = RunSpec.continuing(meta, loaded, budget, started)
            opened.admit(spec.identity, spec.budget)
            if temporary is None:
                spec = replace(spec, limit=_time_left(opened.journal, spec.budget, begun))
            return _carry_out(opened, spec, listener, temporary)


def _found_again(source: str, given: _GivenProblem) -> tuple[str, Problem, MakeProblem | None]:
    """Return the problem that a run directory names, or the one that is given instead."""
    if given.problem is None and not given.trust:
        refuse_python_file(source)
    return _found(source if given.problem is None else given.problem)


def _found(problem: str | Problem | MakeProblem) -> tuple[str, Problem, MakeProblem | None]:
    """Return the source of a problem, the problem, and how to make another copy of it."""
    if isinstance(problem, Problem):
        return problem.name, problem, None
    if isinstance(problem, str):
        source = canonical_source([problem])
        begin_phase(f"loading {source}")
        loader = ProblemLoader(source)
        return source, loader(), loader
    made = problem()
    if not isinstance(made, Problem):
        raise ProblemError(f"{problem!r} returned {type(made).__name__}, not a capscope Problem")
    return made.name, made, problem


def _worker_settings(workers: int | WorkerSettings) -> WorkerSettings:
    return WorkerSettings(workers) if isinstance(workers, int) else workers


def _as_declared(settings: Settings, problem: Problem) -> Settings:
    """Add what a problem declares; it is recorded, whatever the problem says later.

    Intents that the user names replace those of the problem.
    """
    for name in ("hazards", "intents", "expected"):
        if isinstance(getattr(problem, name), str):
            raise ProblemError(
                f"the {name} of a problem are a list, like [{getattr(problem, name)!r}]"
            )
    return replace(
        settings,
        hazards=tuple(dict.fromkeys([*settings.hazards, *problem.hazards])),
        intents=settings.intents or tuple(problem.intents),
        expected=tuple(dict.fromkeys([*settings.expected, *problem.expected])),
    )


def _time_left(journal: Journal, budget: Budget, begun: float) -> TimeLimit:
    """Return the limit of a resumed run: what it took before counts."""
    if budget.seconds is None:
        return TimeLimit()
    before = sum(seconds for (seconds,) in journal.select("SELECT seconds FROM queries"))
    limit = TimeLimit.of(begun, max(budget.seconds - before, 0.0))
    if journal.read_meta().stop_reason == StopReason.budget("seconds"):
        # The time was spent: there is nothing to do but to write what is known.
        return TimeLimit(begun, inf)
    return limit


def _graph(meta: RunMeta, intents: Sequence[Intent]) -> StateGraph:
    """Return a graph that has seen nothing but where the run began."""
    graph = StateGraph(meta.vocabulary, intents)
    graph.expected = ExpectedEffects(meta.identity.settings.expected, meta.vocabulary)
    for state in meta.initial_positions.states:
        graph.node(state)
    return graph


def _carry_out(
    opened: RunDirectory, spec: RunSpec, listener: Listener, temporary: TemporaryRun | None
) -> Run:
    _record_file_digest(opened.journal, spec.source)
    try:
        state = run_assessment(opened.journal, spec, listener)
    except SimulatorError as error:
        if temporary is not None or not opened.journal.asked:
            raise
        raise SimulatorError(
            f"{error}, and resume the run: what was observed so far is kept"
        ) from error.__cause__
    run = _finished(opened, state, temporary)
    run.workers_lost = 0 if spec.workers is None else spec.workers.lost
    if run.kept:
        try:
            with spec.limit.enforced():
                _write_results(run, spec)
        except OutOfTime:
            run.omitted = f"time limit; write it with: capscope report {run.path}"
    return run


def _write_results(run: Run, spec: RunSpec) -> None:
    from capscope.export.model_json import model_document
    from capscope.present.page import write_report

    # What is printed at the end comes first: if time runs out, it is there.
    begin_phase("summing up")
    for fact in _SUMMARY:
        getattr(run, fact)
    begin_phase(f"writing {MODEL}")
    text = json.dumps(model_document(run.graph, run.problem), indent=1) + "\n"
    RunDirectory.write(run.path, MODEL, text)
    draw = picture_of(spec.problem)
    begin_phase("writing the report")
    write_report(run, run.report_path, draw and TimedPictures(draw, spec.limit))


def _finished(opened: RunDirectory, state: RunState, temporary: TemporaryRun | None) -> Run:
    """Take over what a live run has built; reading it back would build the same again."""
    evidence = state.strategy.evidence
    if evidence is not None:
        evidence.refresh()
    run = Run(
        opened.path,
        opened.journal.read_meta(),
        state.table(),
        state.graph,
        evidence=evidence,
        model=state.strategy.audited,
        temporary=temporary,
    )
    run._trusted = True
    return run


def _record_file_digest(journal: Journal, source: str) -> None:
    """Record which texts the problem's file has had while the run was under way."""
    known, now = journal.read_meta().file_digests, text_digest(source)
    if now is not None and now not in known[-1:]:
        journal.set_file_digests([*known, now])
