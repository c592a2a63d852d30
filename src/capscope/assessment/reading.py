"""Read a run back without its problem: what was seen and what follows from it.

The journal names its vocabulary and its intents, so a finished run can be shown, exported and
compared on a machine that has neither the simulator nor the agent.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capscope.assessment.knowledge import tally
from capscope.assessment.run import Run
from capscope.assessment.usage import Usage
from capscope.data.dataset import Dataset
from capscope.data.journal import Journal
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

    @property
    def verdict(self) -> Verdict:
        """What the evidence settles and what it leaves open, by the settings of the run."""
        settings = Settings.from_dict(self.meta["identity"]["settings"])
        return Evidence.of(self.models, settings).verdict()

    @property
    def problem(self) -> str:
        """The name of the problem."""
        name: str = self.meta["name"]
        return name


def read_run(path: Path) -> Reading:
    """Replay the journal of a run, an unfinished query included."""
    with Run.open(path, read_only=True) as run:
        return read_journal(path, run.journal)


def read_journal(path: Path, journal: Journal) -> Reading:
    """Replay an open journal."""
    meta = journal.read_meta()
    dataset = Dataset()
    models = Models(Vocabulary.from_dict(meta["vocabulary"]), journal.intents())
    usage = Usage(simulator_steps=meta.get("discovery", {}).get("simulator_steps", 0))
    for number in itertools.count():
        record = journal.query(number)
        if record is None:
            break
        draws = journal.draws(number)
        transitions = tally(draws, len(models.capabilities))
        dataset.record(transitions)
        models.update(transitions)
        usage += Usage(
            queries=1,
            executions=sum(len(draw.executions) for draw in draws),
            simulator_steps=sum(draw.simulator_steps for draw in draws),
            llm_tokens=sum(draw.llm_tokens for draw in draws),
            seconds=record.seconds or sum(draw.seconds for draw in draws),
        )
    return Reading(path, meta, dataset, models, usage)
