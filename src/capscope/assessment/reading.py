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

from capscope.assessment.beginnings import Beginnings
from capscope.assessment.knowledge import tally
from capscope.assessment.run import Run
from capscope.assessment.usage import Usage
from capscope.data.chronicle import Chronicle
from capscope.data.dataset import Dataset, Transition
from capscope.data.journal import Journal
from capscope.data.mishaps import Mishap, mishaps_of
from capscope.data.sweep import QueryTotals, query_totals
from capscope.model import Models
from capscope.query.evidence import Evidence
from capscope.query.settings import Settings
from capscope.query.verdict import Verdict
from capscope.symbolic import Vocabulary


@dataclass(frozen=True)
class Reading:
    """What a run directory holds."""

    path: Path
    meta: dict[str, Any]
    dataset: Dataset
    models: Models
    usage: Usage
    mishaps: tuple[Mishap, ...] = ()
    """In what ways the agent broke down."""

    @property
    def verdict(self) -> Verdict:
        """What the evidence settles and what it leaves open, by the settings of the run."""
        settings = Settings.from_dict(self.meta["identity"]["settings"])
        return Evidence.of(self.models, settings).verdict()

    @property
    def beginnings(self) -> Beginnings:
        """From how many initial positions the run began."""
        return Beginnings.of(self.meta)

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
    with Run.open(path, read_only=True) as run:
        return read_journal(path, run.journal, most_executions)


def read_journal(path: Path, journal: Journal, most_executions: int | None = None) -> Reading:
    """Replay an open journal, all of it or its first executions."""
    return read_in_order(path, journal, most_executions)[0]


def read_in_order(
    path: Path, journal: Journal, most_executions: int | None = None
) -> tuple[Reading, Chronicle]:
    """Replay an open journal; return also the executions it was read from, in order."""
    meta = journal.read_meta()
    dataset, models = Dataset(), _untaught(journal)
    queries, asking = 0, QueryTotals(0, 0, 0, 0.0, 0.0)
    for totals in query_totals(journal):
        if most_executions is not None and asking.executions + totals.executions > most_executions:
            break
        queries, asking = queries + 1, QueryTotals(*map(add, asking, totals))
    usage = Usage.before_asking(meta) + Usage(queries, *asking)
    # The order in which transitions came in leaves no trace in models, so all come in at once.
    chronicle = Chronicle.of(journal, usage.queries, len(models.capabilities))
    transitions = chronicle.transitions()
    dataset.record(transitions)
    models.update(transitions)
    mishaps = mishaps_of(journal, usage.queries)
    return Reading(path, meta, dataset, models, usage, mishaps), chronicle


def replay(journal: Journal) -> Iterator[tuple[Usage, Models]]:
    """Replay an open journal query by query; yield what was spent so far and what was known.

    It is one and the same `Models` each time, brought up to date in place: copying it would cost
    more than the query. It has every intent of the journal from the start; one that the run found
    later is untried until then.
    """
    models, begun = _untaught(journal), Usage.before_asking(journal.read_meta())
    for usage, transitions in _answers(journal, begun, len(models.capabilities)):
        models.update(transitions)
        yield usage, models


def _untaught(journal: Journal) -> Models:
    return Models(Vocabulary.from_dict(journal.read_meta()["vocabulary"]), journal.intents())


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
