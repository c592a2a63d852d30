"""The public object: a run, finished or not, and everything that can be asked of it.

`capscope.assess(...)` and `capscope.load(directory)` return the same `Run`. It is read from the
journal once; each derived fact is computed when it is first asked for, and kept.

>>> from capscope import Budget, assess
>>> assess("blocksworld", budget=Budget(executions=500)).usage.executions
500
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capscope.assessment import Listener, RunSpec, ignore, run_assessment
from capscope.assessment.remote_workers import MakeProblem
from capscope.assessment.run_state import with_declared
from capscope.assessment.time_limit import (
    SHORTEST_WORK,
    OutOfTime,
    TimedPictures,
    TimeLimit,
    time_left,
)
from capscope.assessment.workers import Workers, WorkerSettings, start_workers
from capscope.errors import RunError, SimulatorError
from capscope.insight.run_facts import RunFacts, initial_graph
from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal_file import understood
from capscope.journal.run_directory import REPORT, RunDirectory, TemporaryRun, journal_stamp
from capscope.journal.run_meta import Budget
from capscope.journal.settings import Settings
from capscope.logic import Condition, State
from capscope.phases import begin_phase
from capscope.problem import Problem, picture_of
from capscope.problem.attempt import only_by_itself
from capscope.problem.positions import SavedPosition
from capscope.problems import (
    FoundProblem,
    find_again,
    find_problem,
    picture_drawer,
    record_file_digest,
    resume_command,
)
from capscope.strategy.registry import COMPARISON, DEFAULT_STRATEGY, STRATEGIES

if TYPE_CHECKING:
    from capscope.export.tables import Frames
    from capscope.insight.compare import VersionComparison
    from capscope.insight.diff import Comparison
    from capscope.insight.evaluation.evaluate import Measure
    from capscope.insight.evaluation.sample import Progress
    from capscope.insight.explanation import Explanation
    from capscope.insight.planning import Plan
    from capscope.insight.planning.trial import PlanAttempt, Trial, TrialSettings
    from capscope.wording import PreformattedText


class Run(RunFacts):
    """A run as it was when it was loaded, or when it stopped.

    A run that was not kept lives in a temporary directory for as long as this object.
    """

    _trusted = False
    """Whether the problem was loaded from what the user named."""

    @property
    def report_path(self) -> Path:
        """Where the report of a kept run is."""
        return self.path / REPORT

    @property
    def resume_command(self) -> str:
        """The command that continues the run."""
        return resume_command(self.path, self.identity.source)

    def notes(self) -> Iterator[str]:
        """Yield the sentences to read before the model; most runs have none."""
        from capscope.insight.notes import run_notes

        return run_notes(self)

    def within(self, executions: int | None = None, *, simulator_steps: int | None = None) -> Run:
        """Return the run as it was after the last query that ended within some limits.

        Args:
            executions: The largest number of executions; None for no limit.
            simulator_steps: The largest number of steps, including those of discovery.

        Returns:
            A run that knows only what was seen until then.
        """
        if simulator_steps is not None:
            simulator_steps -= self.meta.discovery_usage.simulator_steps
        table = self.executions.within(executions, simulator_steps)
        graph = initial_graph(self.meta, self.capabilities)
        graph.update(table.transitions())
        return Run(
            self.path, self.meta, table, graph, lessons=self._lessons, temporary=self._temporary
        )

    def show(self, capability: str | None = None) -> PreformattedText:
        """Return the first screen, or what is known of capabilities, as text.

        Args:
            capability: A capability, or a pattern like `on(*,b)`.

        Returns:
            The text that `capscope show` prints.
        """
        from capscope.report.notebook import shown_capabilities

        asked = None if capability is None else self.graph.match_capabilities(capability)
        return shown_capabilities(self, asked)

    def rules(self) -> PreformattedText:
        """Return the rules of the model as text: those that are audited and exported."""
        from capscope.report.notebook import shown_rules

        return shown_rules(self)

    @cached_property
    def _explanations(self) -> dict[int | None, Explanation]:
        return {}

    def explain(self, query: int | None = None) -> Explanation:
        """Explain what a query asked and why, and what was learned from it.

        Args:
            query: Its number, from 0; the last one unless given.

        Returns:
            The explanation that `capscope explain` prints.
        """
        from capscope.insight.explanation import explain

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
        self, *, baseline: Run | str | Path, error_rate: float = 0.05, any_position: bool = False
    ) -> Comparison:
        """Return the differences from a baseline that the evidence supports.

        The baseline, the older version, is A; this run is B. What it can no longer do was lost.

        Args:
            baseline: The run to compare with, or its directory.
            error_rate: The probability of any difference between two identical agents, at most.
            any_position: Whether to take draws from different simulator positions as equal.

        Returns:
            The differences, and what could not be compared.
        """
        from capscope.insight.diff import compare_runs

        earlier = baseline if isinstance(baseline, Run) else load(baseline)
        begin_phase("comparing")
        return compare_runs(earlier, self, error_rate=error_rate, any_position=any_position)

    def compare(
        self,
        problem: str | Problem | MakeProblem,
        *,
        within: float = Settings().within,
        seed: int = 0,
        budget: Budget | None = None,
        run: str | Path | None = None,
        listener: Listener = ignore,
        workers: int | WorkerSettings = 1,
    ) -> VersionComparison:
        """Execute a new version of the agent until it is shown to differ from this run, or not to.

        Args:
            problem: The new version, as for `assess`; with the vocabulary and limits of this run.
            within: The rate of executions in use that may do what this run's model held impossible
                for the new version to be called unchanged.
            seed: Seeds all randomness.
            budget: The limits; none unless given.
            run: The directory to keep the executions in, for the next version to be compared with.
            listener: Called with each event.
            workers: The number of workers, or how to start them.

        Returns:
            The verdict, its differences, and the run of the new version (`run`).
        """
        from capscope.insight.compare import compared, comparison_settings

        settings = comparison_settings(self, within)
        made = assess(
            problem, strategy=COMPARISON.name, seed=seed, settings=settings, budget=budget,
            run=run, start_from=self, listener=listener, workers=workers,
        )  # fmt: skip
        return compared(made)

    def plan(self, goal: str, *, start: str | None = None, inferred: bool | None = None) -> Plan:
        """Return the most reliable policy of capabilities for a goal; needs the extra `plan`.

        Args:
            goal: A conjunction of literals, or several joined by `or`.
            start: A conjunction, or a state as in model.json; where the run began unless given.
            inferred: Whether steps may be pairs that the model infers; by default only if no tried
                path leads to the goal.

        Returns:
            The plan, also if no path is known (`found`).
        """
        from capscope.insight.planning import matching_states, plan_for

        wanted = Condition.parse(goal, self.graph.vocabulary)
        starts = [self.first_state] if start is None else matching_states(start, self.graph)
        if not inferred:
            plan = plan_for(self.model, wanted, starts)
            if plan.found or inferred is False:
                return plan
        return plan_for(self.model, wanted, starts, inferred=True)

    @only_by_itself()
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

        Args:
            plan: A plan of this run.
            settings: How many times to try, and how long.
            problem: As in `resume`.
            trust: As in `resume`.
            listener: Called after each try.

        Returns:
            The tries, compared with the prediction.
        """
        from capscope.insight.planning.trial import Trial, attempt_plan

        loaded = self.load_problem(problem, trust=trust)
        with self.open_journal() as journal:
            positions = journal.positions(plan.start)
        if not plan.found or not positions:
            missing = "position of the start" if plan.found else "path to the goal"
            raise RunError(f"no {missing} is known in {self.path}; there is nothing to try")
        tries = []
        for one in attempt_plan(loaded, plan, positions, settings):
            tries.append(one)
            listener(one)
        return Trial(plan, tuple(tries), settings.longest)

    @only_by_itself()
    def evaluate(
        self,
        measure: Measure | None = None,
        *,
        problem: Problem | str | MakeProblem | None = None,
        trust: bool = False,
        progress: Progress | None = None,
        workers: int | WorkerSettings = 1,
    ) -> dict[str, Any]:
        """Compare the model with the agent: with the exact truth if known, and with samples.

        Args:
            measure: What to compare, and with how many samples.
            problem: As in `resume`.
            trust: As in `resume`.
            progress: Called while sequences are sampled.
            workers: Number of workers that execute the sequences, or how to start them.

        Returns:
            The object that `capscope evaluate --json` prints.
        """
        from capscope.insight.evaluation.evaluate import Measure, evaluate_run
        from capscope.insight.evaluation.sample import silent

        _, loaded, make = find_again(self.identity.source, problem, trust=trust or self._trusted)
        measure = measure or Measure()
        limits = measure.after_executions, measure.after_steps
        whole = limits == (None, None)
        chosen = self if whole else self.within(limits[0], simulator_steps=limits[1])
        where = _worker_settings(workers)
        if where == WorkerSettings():  # no other thread than this one
            return evaluate_run(chosen, loaded, measure, progress or silent)
        with start_workers(where, loaded, make) as started:
            return evaluate_run(chosen, loaded, measure, progress or silent, started)

    def export(
        self, format: str = "json", to: str | Path | None = None, **options: Any
    ) -> str | dict[str, str | bytes]:
        """Return the model, or the whole run, in a format of `capscope.export.FORMATS`.

        Args:
            format: The name of the format.
            to: A file, or a directory for formats of several files, to write as well.
            options: The options of the format.

        Returns:
            The text, or the content of each file by name.
        """
        from capscope.export import export_run

        begin_phase(f"exporting to {format}")
        return export_run(self, format, to, **options)

    def frames(self) -> Frames:
        """Return the tables of transitions, rules and queries as pandas data frames."""
        from capscope.export.tables import run_frames

        return run_frames(self)

    @only_by_itself()
    def report(self, output: str | Path | None = None, *, pictures: bool | None = None) -> Path:
        """Write the report of the run.

        Args:
            output: The file; `report.html` in the run directory unless given.
            pictures: Whether to draw states, which loads the problem and runs its code. By default
                only for installed problems whose options name no file.

        Returns:
            The path of the report.
        """
        from capscope.report.page import write_report

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

        Args:
            problem: Needed for a run that was not started with the name of a problem.
            trust: Whether to load a file that only the run directory names; the directory may come
                from someone else.
            budget: The new limits; those of the run unless given.
            listener: Called with each event.
            workers: The number of workers, or how to start them.

        Returns:
            The run as it was when it stopped again.
        """
        find = partial(find_again, given=problem, trust=trust or self._trusted)
        return _resume(self.path, find, budget, listener, workers, self._temporary)

    def load_problem(self, problem: Problem | str | None = None, *, trust: bool = False) -> Problem:
        """Load the problem of the run, which runs its code.

        Args:
            problem: As in `resume`.
            trust: As in `resume`.

        Returns:
            The problem, with the identity that the run has.
        """
        _, loaded, _ = find_again(self.identity.source, problem, trust=trust or self._trusted)
        with RunDirectory.open(self.path, read_only=True) as opened:
            opened.require_same(RunSpec.continuing(self.meta, loaded).identity)
        return loaded

    def __repr__(self) -> str:
        return f"<capscope.Run {self.path}: {self.problem}, {self.usage.executions:,} executions>"

    def _repr_html_(self) -> str:
        from capscope.report.notebook import run_html

        return run_html(self)


def load(directory: str | Path) -> Run:
    """Load a run, finished or not, as it is at this moment; its problem is not needed.

    Args:
        directory: The run directory.

    Returns:
        The run.
    """
    path = Path(directory)
    begin_phase(f"reading {path}")
    stamp = journal_stamp(path)
    with RunDirectory.open(path, read_only=True) as opened, opened.journal.at_one_moment():
        meta, intents = opened.journal.read_meta(), opened.journal.intents()
        table = ExecutionTable.read(opened.journal)
        with understood(opened.journal.path):
            meta.require_known_atoms(table.states)
            graph = initial_graph(meta, intents)
            # The order of transitions leaves no trace in the graph, so all are added at once.
            graph.update(table.transitions())
    run = Run(path, meta, table, graph)
    run._verified = stamp
    return run


@only_by_itself()
def assess(
    problem: str | Problem | MakeProblem,
    *,
    strategy: str = DEFAULT_STRATEGY,
    seed: int = 0,
    settings: Settings | None = None,
    budget: Budget | None = None,
    run: str | Path | None = None,
    start_from: Run | str | Path | None = None,
    listener: Listener = ignore,
    workers: int | WorkerSettings = 1,
) -> Run:
    """Assess an agent.

    Args:
        problem: A `Problem`, a function that makes one, or a name as for `capscope assess`.
        strategy: The name of a strategy.
        seed: Seeds all randomness.
        settings: The settings; defaults unless given.
        budget: The limits; none unless given.
        run: The directory to keep the run in, for `load` and `resume`. Without it, the record lives
            as long as the returned object.
        start_from: A run in another instance of the same predicates, or its directory. Its rules
            are audited first, and only what they got wrong is learned.
        listener: Called with each event.
        workers: The number of draws to make in parallel, each on a copy of the problem, or how to
            start the workers.

    Returns:
        The run as it was when it stopped.
    """
    begun, where = time.monotonic(), _worker_settings(workers)
    whole = TimeLimit.of(begun, None if budget is None else budget.seconds)
    source_run = load(start_from) if isinstance(start_from, str | Path) else start_from
    source, loaded, make = whole.prepared("the problem was loaded", lambda: find_problem(problem))
    with _started(whole, where, loaded, make) as started:
        spec = RunSpec(
            loaded,
            source,
            strategy,
            seed,
            with_declared(settings or Settings(), loaded),
            budget or Budget(),
            started,
            TimeLimit() if run is None else _with_last_words(whole, where, Path(run), source),
            None if source_run is None else source_run.experience,
            _carried(source_run) if STRATEGIES.find(strategy).compares else {},
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

    Args:
        run: The run directory.
        problem: As in `Run.resume`.
        trust: As in `Run.resume`.
        budget: As in `Run.resume`.
        listener: As in `Run.resume`.
        workers: As in `Run.resume`.

    Returns:
        The run as it was when it stopped again.
    """
    find = partial(find_again, given=problem, trust=trust)
    return _resume(Path(run), find, budget, listener, workers, None)


@only_by_itself()
def _resume(
    path: Path,
    find: Callable[[str], FoundProblem],
    budget: Budget | None,
    listener: Listener,
    workers: int | WorkerSettings,
    temporary: TemporaryRun | None,
) -> Run:
    begun, where = time.monotonic(), _worker_settings(workers)
    with RunDirectory.open(path) as opened:
        meta = opened.journal.read_meta()
        whole = TimeLimit.of(begun, (budget or meta.budget).seconds)
        source = meta.identity.source
        _, loaded, make = whole.prepared(
            "the problem was loaded", lambda: find(source), at_least=SHORTEST_WORK
        )
        with _started(whole, where, loaded, make) as started:
            spec = RunSpec.continuing(meta, loaded, budget, started)
            opened.admit(spec.identity, spec.budget)
            if temporary is None:
                left = time_left(opened.journal, spec.budget, begun)
                spec = replace(spec, limit=_with_last_words(left, where, path, source))
            return _carry_out(opened, spec, listener, temporary)


def _carried(run: Run | None) -> Mapping[State, SavedPosition]:
    """Return a position of each state that a run has one of."""
    if run is None:
        return {}
    with run.open_journal() as journal:
        positions = {state: journal.positions(state) for state in run.graph.nodes}
    return {state: own[0] for state, own in positions.items() if own}


def _worker_settings(workers: int | WorkerSettings) -> WorkerSettings:
    return WorkerSettings(workers) if isinstance(workers, int) else workers


def _started(
    limit: TimeLimit, where: WorkerSettings, problem: Problem, make: MakeProblem | None
) -> Workers:
    return limit.prepared("workers were started", lambda: start_workers(where, problem, make))


def _with_last_words(limit: TimeLimit, where: WorkerSettings, path: Path, source: str) -> TimeLimit:
    if not where.ends_program:
        return limit
    command = resume_command(path, source)
    return replace(
        limit,
        last_words="capscope: the time is over, and most likely the agent or the simulator does "
        "not return, so the program was ended; everything observed is kept. Continue with: "
        f"{command}",
    )


def _carry_out(
    opened: RunDirectory, spec: RunSpec, listener: Listener, temporary: TemporaryRun | None
) -> Run:
    from capscope.insight.first_screen.screen import without_report
    from capscope.report.page.report import write_results

    record_file_digest(opened.journal, spec.source)
    try:
        state = run_assessment(opened.journal, spec, listener)
    except SimulatorError as error:
        if temporary is not None or not opened.journal.asked:
            raise
        raise SimulatorError(
            f"{error}, and resume the run: what was observed so far is kept"
        ) from error.__cause__
    # The graph and the model are taken over: loading the run would build the same again.
    meta, table = opened.journal.read_meta(), ExecutionTable.read(opened.journal)
    # A model that was carried over is fitted again: what it plans depends on the order in which
    # states were met, and a loaded run meets them all at once.
    audited = state.strategy.audited if spec.experience is None else None
    run = Run(
        opened.path, meta, table, state.graph,
        model=audited, lessons=state.lessons, temporary=temporary,
    )  # fmt: skip
    run._trusted = True
    run.workers_lost = 0 if spec.workers is None else spec.workers.lost
    if run.kept:
        draw = picture_of(spec.problem)
        try:
            pictures = draw and TimedPictures(draw, spec.limit)
            spec.limit.enforced(lambda: write_results(run, pictures))
        except OutOfTime:
            run.omitted = f"time limit; write it with: capscope report {run.path}"
            if run.summed_up:
                run.first_screen = without_report(run.first_screen, run.path)
    return run
