"""Several runs side by side: how often each achieved a capability, and where that changed.

Each run is compared with the one before it, and the last with the first: a capability may fade in
steps too small to show. All of these comparisons share one error rate.

The rates of a row are over the same states, those in which all runs of the row tried the capability
while its intent did not hold, with equal weights. Over its own states, each run would be measured
by where it happened to ask. The intervals are valid however the runs chose their draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from capscope.errors import CapscopeError
from capscope.insight.diff.compare import compare_data
from capscope.insight.diff.comparison import Comparison, Difference
from capscope.insight.diff.run_data import RunData, knows, projected, shared_atoms
from capscope.insight.rates import answers_in
from capscope.logic import Intent, State, to_json
from capscope.stats.error_budget import ERROR_RATE
from capscope.stats.rate import Rate
from capscope.stats.stratified_mean import Stratum
from capscope.wording import ShownInWords

FORMAT_VERSION = 2


@dataclass(frozen=True)
class TableRow:
    """One capability in all runs."""

    capability: Intent
    states: int
    """The states over which the rates are means."""
    rates: tuple[Rate | None, ...]
    """One for each run; None for a run that did not try it in a shared state."""
    changes: tuple[tuple[Difference, ...], ...]
    """For each run the differences from the run before; none for the first."""
    overall: tuple[Difference, ...]
    """The differences of the last run from the first."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "capability": str(self.capability),
            "states": self.states,
            "rates": to_json(self.rates),
            "changes": [[str(one.change) for one in found] for found in self.changes],
            "overall": [str(one.change) for one in self.overall],
        }


@dataclass(frozen=True, repr=False)
class RunTable(ShownInWords):
    """Three or more runs, capability by capability."""

    runs: tuple[dict[str, Any], ...]
    """Which runs they are: see `RunData.named`."""
    error_rate: float
    """Shared by all comparisons."""
    rows: tuple[TableRow, ...]
    """Those that changed first."""
    steps: tuple[Comparison, ...]
    """Each run compared with the one before."""
    overall: Comparison
    """The last run compared with the first."""
    format: int = FORMAT_VERSION


def table_of(
    runs: Sequence[RunData], *, error_rate: float = ERROR_RATE, any_position: bool = False
) -> RunTable:
    """Compare three or more runs in the given order.

    Args:
        runs: The data of the runs (`RunData.of`).
        error_rate: The probability of any difference between identical agents, at most.
        any_position: Whether all positions that share a symbolic state count as equal.

    Returns:
        A row for each capability, and the comparisons behind it.
    """
    if len(runs) < 3:
        raise CapscopeError(f"a table needs at least three runs, not {len(runs)}")
    pairs = [*pairwise(runs), (runs[0], runs[-1])]
    share = error_rate / len(pairs)
    compared = [compare_data(a, b, error_rate=share, any_position=any_position) for a, b in pairs]
    *steps, overall = compared
    shared = shared_atoms(*runs)
    states = [projected(run, runs[0].vocabulary, shared) for run in runs]
    intents = dict.fromkeys(intent for run in runs for intent in run.intents)
    rows = [
        TableRow(
            intent,
            *_rates(runs, states, shared, intent),
            ((), *(_achievement(step, intent) for step in steps)),
            _achievement(overall, intent),
        )
        for intent in intents
    ]
    rows.sort(key=lambda row: (not row.overall, not any(row.changes)))
    named = tuple(run.named for run in runs)
    return RunTable(named, error_rate, tuple(rows), tuple(steps), overall)


def _achievement(comparison: Comparison, intent: Intent) -> tuple[Difference, ...]:
    found = comparison.differences
    return tuple(d for d in found if d.capability == intent and not d.literals)


def _rates(
    runs: Sequence[RunData], states: Sequence[Sequence[State]], shared: State, intent: Intent
) -> tuple[int, tuple[Rate | None, ...]]:
    """Return the number of states that the runs share, and the rate of each run in them.

    `states` are those of each run, reduced to the atoms that all of them have.
    """
    nothing, vocabulary = (0, (None,) * len(runs)), runs[0].vocabulary
    if not knows(vocabulary, shared, intent):
        return nothing
    holds = intent.test(vocabulary)
    found = [
        answers_in(run.executions, list(run.intents).index(intent), own, holds)
        if intent in run.intents
        else {}
        for run, own in zip(runs, states, strict=True)
    ]
    tried = [set(answers) for answers in found if answers]
    common = sorted(set.intersection(*tried)) if len(tried) > 1 else []
    if not common:
        return nothing
    rates = (
        Rate.of_strata([Stratum(1, np.array(own[s])) for s in common]) if own else None
        for own in found
    )
    return len(common), tuple(rates)
