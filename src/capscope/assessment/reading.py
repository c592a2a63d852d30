"""Read a run back without its problem: what was seen and what follows from it.

The journal names its vocabulary and its intents, so a finished run can be shown, exported and
compared on a machine that has neither the simulator nor the agent. It can also be read as it was at
an earlier point: queries are the finest grain, since all draws of a query are absorbed together.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import Any

from capscope.assessment.run_state import tally
from capscope.model import StateGraph
from capscope.record.agent_failures import AgentFailure, agent_failures_of
from capscope.record.execution_table import ExecutionTable
from capscope.record.initial_positions import InitialPositions
from capscope.record.journal import Journal
from capscope.record.query_totals import QueryTotals, query_totals
from capscope.record.run_directory import RunDirectory
from capscope.record.settings import Settings
from capscope.record.transitions import Dataset, Transition
from capscope.record.usage import Usage
from capscope.strategy.evidence import Evidence
from capscope.strategy.verdict import Verdict
from capscope.symbolic import Vocabulary


@dataclass(frozen=True)
class Reading:
    """What a run directory holds."""

    path: Path
    meta: dict[str, Any]
    dataset: Dataset
    graph: StateGraph
    usage: Usage
    agent_failures: tuple[AgentFailure, ...] = ()
    """In what ways the agent broke down."""

    @property
    def verdict(self) -> Verdict:
        """What the evidence settles and what it leaves open, by the settings of the run."""
        settings = Settings.from_dict(self.meta["identity"]["settings"])
        return Evidence.of(self.graph, settings).verdict()

    @property
    def initial_positions(self) -> InitialPositions:
        """From how many initial positions the run began."""
        return InitialPositions.of(self.meta)

    @property
    def problem(self) -> str:
        """The name of the problem."""
        name: str = self.meta["name"]
        return name


def read_run(path: Path, most_executions: int | None = None) -> Reading:
    """Replay the journal of a run, an unfinished query included.

    With `most_executions`, only as far as the last query that ended within so many; what it really
    came to is in the usage.
    """
    with RunDirectory.open(path, read_only=True) as run:
        return read_journal(path, run.journal, most_executions)


def read_journal(path: Path, journal: Journal, most_executions: int | None = None) -> Reading:
    """Replay an open journal, all of it or its first executions."""
    return read_in_order(path, journal, most_executions)[0]


def read_in_order(
    path: Path, journal: Journal, most_executions: int | None = None
) -> tuple[Reading, ExecutionTable]:
    """Replay an open journal; return also the executions it was read from, in order."""
    meta = journal.read_meta()
    dataset, graph = Dataset(), _untaught(journal)
    queries, asking = 0, QueryTotals(0, 0, 0, 0.0, 0.0)
    for totals in query_totals(journal):
        if most_executions is not None and asking.executions + totals.executions > most_executions:
            break
        queries, asking = queries + 1, QueryTotals(*map(add, asking, totals))
    usage = Usage.before_asking(meta) + Usage(queries, *asking)
    # The order in which transitions came in leaves no trace in models, so all come in at once.
    table = ExecutionTable.of(journal, usage.queries, len(graph.capabilities))
    transitions = table.transitions()
    dataset.record(transitions)
    graph.update(transitions)
    agent_failures = agent_failures_of(journal, usage.queries)
    return Reading(path, meta, dataset, graph, usage, agent_failures), table


def replay(journal: Journal) -> Iterator[tuple[Usage, StateGraph]]:
    """Replay an open journal query by query; yield what was spent so far and what was known.

    It is one and the same `Models` each time, brought up to date in place: copying it would cost
    more than the query. It has every intent of the journal from the start; one that the run found
    later is untried until then.
    """
    graph, begun = _untaught(journal), Usage.before_asking(journal.read_meta())
    for usage, transitions in _answers(journal, begun, len(graph.capabilities)):
        graph.update(transitions)
        yield usage, graph


def _untaught(journal: Journal) -> StateGraph:
    return StateGraph(Vocabulary.from_dict(journal.read_meta()["vocabulary"]), journal.intents())


def _answers(
    journal: Journal, usage: Usage, capabilities: int
) -> Iterator[tuple[Usage, Counter[Transition]]]:
    """Yield what was spent up to the end of each query, and what the query itself showed."""
    for number in itertools.count():
        record = journal.query(number)
        if record is None:
            return
        draws = journal.draws(number)
        seconds = record.seconds or sum(draw.seconds for draw in draws)
        usage += Usage.of(draws, seconds, queries=1)
        yield usage, tally(draws, capabilities)
