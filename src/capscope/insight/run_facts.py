"""Everything that can be read off a run: what it observed, and what follows from that.

Each derived fact is computed when it is first asked for, and kept. What does something with a run
(print, compare, plan, continue) is in `capscope.run`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from capscope.errors import RunError
from capscope.insight.agent_failures import AgentFailure, find_agent_failures
from capscope.insight.aliasing import Aliasing, find_aliasing
from capscope.insight.changes import groups_relied_on
from capscope.insight.drift import Drift, find_drift
from capscope.insight.findings import Finding, find_findings
from capscope.insight.findings.finding import FindingList
from capscope.insight.first_screen import FirstScreen, first_screen
from capscope.insight.hazards import HazardResult, find_hazards
from capscope.insight.needs import ReplayedChange, replays_of
from capscope.insight.rates import CapabilityRates, achievement_rates, success_from_resets
from capscope.insight.repeated_requests import Persistence, persistences
from capscope.journal.execution_table import ExecutionTable
from capscope.journal.experience import Experience
from capscope.journal.journal import Journal
from capscope.journal.journal_file import JournalStamp
from capscope.journal.run_directory import RunDirectory, TemporaryRun
from capscope.journal.run_meta import (
    Budget,
    InitialPositions,
    RunIdentity,
    RunMeta,
    StopReason,
    Usage,
)
from capscope.logic import ExpectedEffects, Intent, State
from capscope.model import ExtremeModels, LearnedModel, ModelCoverage, StateGraph
from capscope.model.lessons import Lessons
from capscope.phases import begin_phase
from capscope.problem import Hazard
from capscope.problem.actions import WrittenAction
from capscope.stats.audit import AuditResult
from capscope.stats.rate import Rate
from capscope.strategy.registry import STRATEGIES
from capscope.strategy.settling import Imprecise, Verdict

if TYPE_CHECKING:
    from capscope.insight.carry_over import CarryOver

_SUMMARY = ("coverage", "agent_failures", "aliasing", "drift", "success", "first_screen")
"""The statements about a run at its end that take time to compute."""


class RunFacts:
    """What is known about a run as it was when it was loaded, or when it stopped."""

    def __init__(
        self,
        path: Path,
        meta: RunMeta,
        executions: ExecutionTable,
        graph: StateGraph,
        *,
        model: LearnedModel | None = None,
        lessons: Lessons | None = None,
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
        self._model = model
        self._lessons = lessons
        self._temporary = temporary
        self._verified: JournalStamp | None = None
        """The journal that was found intact."""

    def sum_up(self) -> None:
        """Compute the statements about a run at its end."""
        for fact in _SUMMARY:
            getattr(self, fact)

    @property
    def kept(self) -> bool:
        """Whether the run directory outlives this object."""
        return self._temporary is None

    @property
    def summed_up(self) -> bool:
        """Whether there was time to compute the statements about a run at its end."""
        return self.omitted is None or all(fact in vars(self) for fact in _SUMMARY)

    @cached_property
    def first_screen(self) -> FirstScreen:
        """What a person should see first, whichever front end shows it."""
        return first_screen(self, self.resume_command)

    @property
    def resume_command(self) -> str:
        """The command that continues the run."""
        return f"capscope resume {self.path}"

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

        The model of an audited run is the one that was audited: the draws of the audit count for
        probabilities and for the pairs that they are about, not for what else is held possible.
        """
        seed, audit = self.identity.seed, self.meta.audit
        if audit is None:
            return self._model or LearnedModel.fitted(self.graph, seed, self.lessons)
        model = self._model
        if model is None:
            before_audit = initial_graph(self.meta, self.capabilities)
            before_audit.update(self.executions.first_queries(audit.since_query).transitions())
            model = LearnedModel.fitted(before_audit, seed, self.lessons)
        model.follow(self.graph)
        return model

    @property
    def lessons(self) -> Lessons | None:
        """What was learned about another instance, if the run started from that."""
        source = self.meta.experience
        if self._lessons is None and source is not None:
            begin_phase(f"learning from {source.problem}")
            learned = LearnedModel.of_experience(source)
            self._lessons = learned.lessons_for(self.meta.vocabulary)
        return self._lessons

    @property
    def experience(self) -> Experience:
        """What was observed, for another run to start from or to be compared with."""
        known = STRATEGIES.get(self.identity.strategy)
        if known is not None and known.compares:
            from capscope.insight.compare import joined_experience

            return joined_experience(self)
        table = self.executions
        before = table if self.audit is None else table.first_queries(self.audit.since_query)
        learned = before.transitions()
        drawn = table.transitions() - learned
        return Experience(
            self.problem,
            self.meta.vocabulary,
            tuple(self.capabilities),
            self.identity.seed,
            self.initial_positions.states,
            Counter({(s, c, t): n for (s, c, t), n in learned.items()}),
            Counter({(s, c, t): n for (s, c, t), n in drawn.items()}),
            self.meta.experience,
        )

    @cached_property
    def carry_over(self) -> CarryOver | None:
        """What held of the rules that the run started from; None if it started from nothing."""
        if self.lessons is None or self.meta.experience is None:
            return None
        from capscope.insight.carry_over import CarryOver

        graph = initial_graph(self.meta, self.capabilities[: self.meta.discovered])
        carried = LearnedModel.fitted(graph, self.identity.seed, self.lessons)
        return CarryOver.of(self.meta, self.meta.experience, carried, self.executions)

    @cached_property
    def imprecise(self) -> Imprecise:
        """The types and rules whose probabilities are not known to within `--precision`."""
        return Imprecise.of(self.model, self.identity.settings)

    @property
    def infers(self) -> bool:
        """Whether statements about the run use what the model infers.

        Only if the strategy chooses its draws so that inference can be audited.
        """
        known = STRATEGIES.get(self.identity.strategy)
        return known is not None and known.infers and self.graph.pairs_tried > 0

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
        return Verdict.of(self.graph, self.identity.settings)

    @cached_property
    def agent_failures(self) -> tuple[AgentFailure, ...]:
        """The failures of the agent: it raised, or chose an unavailable action."""
        return find_agent_failures(
            self.executions, self.open_journal, self.capabilities, self.graph.vocabulary
        )

    @cached_property
    def aliasing(self) -> Aliasing:
        """Where outcomes depend on simulator state that the predicates do not capture."""
        return find_aliasing(self.executions, self.capabilities, self.graph.vocabulary)

    @cached_property
    def groups_relied_on(self) -> tuple[str, ...]:
        """The exactly-one groups by which changes are left out of the findings."""
        return groups_relied_on(
            self.executions, self.capabilities, self.graph.exactly_one, self.graph.vocabulary
        )

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
            return journal.has_several_positions()

    @cached_property
    def success(self) -> Mapping[Intent, Rate]:
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
        return achievement_rates(
            self.graph, self.executions, self.initial_positions, self.persistences
        )

    @cached_property
    def persistences(self) -> Mapping[Intent, Persistence]:
        """For each state tried, how probable it is that an intent holds in the end if asked for."""
        begin_phase("following repeated requests")
        return persistences(self.model, inferring=self.infers)

    @property
    def claim_withheld(self) -> str | None:
        """Why the run claims nothing, whatever the verdict; None if it may."""
        if self.drift is not None:
            return "the agent changed while the run was under way"
        if self.executions.idle:
            return "no execution changed anything"
        return None

    def findings(self) -> list[Finding]:
        """Return everything notable about the agent, the most important first."""
        return self._findings

    @cached_property
    def _findings(self) -> list[Finding]:
        begin_phase("looking for findings")
        return FindingList(find_findings(self))

    @cached_property
    def hazards(self) -> tuple[HazardResult, ...]:
        """What is known about the hazards that the run searched for."""
        return self.find_hazards(self.identity.settings.hazards)

    def find_hazards(self, hazards: Sequence[str]) -> tuple[HazardResult, ...]:
        """Return what is known about hazards, whether or not the run searched for them.

        Args:
            hazards: Written as for `capscope assess --hazard`.

        Returns:
            A result for each; all bounds hold together with the confidence of the run.
        """
        words = self.graph.vocabulary
        return find_hazards(self, [Hazard.parse(text, words) for text in dict.fromkeys(hazards)])

    @contextmanager
    def open_journal(self) -> Iterator[Journal]:
        """Open the journal, for trajectories, transcripts and positions."""
        with RunDirectory.open(self.path, read_only=True, verified=self._verified) as opened:
            yield opened.journal

    @cached_property
    def replays(self) -> Sequence[ReplayedChange]:
        """What replays without the agent decided about changes beyond requests."""
        with self.open_journal() as journal:
            return replays_of(self.executions, journal)

    def actions(self, execution: int) -> tuple[WrittenAction, ...] | None:
        """Return the actions of an execution; None if they took too much room to be recorded.

        Args:
            execution: Its row in the table of executions.

        Returns:
            Numbers and texts as they are; a tool call as a dict with its tool, arguments and error
            under "call".
        """
        table = self.executions
        with self.open_journal() as journal:
            made = journal.actions(int(table.query[execution]), int(table.draw[execution]))
        return made[int(table.number[execution])]

    def replay(self) -> Iterator[tuple[Usage, StateGraph]]:
        """Yield the usage and the state graph after each query.

        The graph is updated in place and has every capability from the start.
        """
        graph = initial_graph(self.meta, self.capabilities)
        usages = self.executions.queries.running_usage(self.meta.discovery_usage)
        for usage, transitions in zip(usages, self.executions.transitions_by_query(), strict=True):
            graph.update(transitions)
            yield usage, graph


def initial_graph(meta: RunMeta, intents: Sequence[Intent]) -> StateGraph:
    """Return a graph with only the states in which the run began."""
    graph = StateGraph(meta.vocabulary, intents)
    graph.expected = ExpectedEffects(meta.identity.settings.expected, meta.vocabulary)
    for state in meta.initial_positions.states:
        graph.node(state)
    return graph
