"""How often the agent achieves an intent if it is asked at the beginning, right after a reset.

This is the success rate that is usually reported for a policy, and rates over all states are not:
draws go on from where earlier ones ended, and episodes that failed leave an agent in states in
which it is stuck. In a Taxi with varied starts, the mean over states was 8 % where 42 % of the
episodes succeeded.

Only executions that began in an initial position count: the first of a draw that started there, and
those after it as long as the simulator took no step. A strategy draws some
initial positions more often than others, so each is a stratum of its own, weighted by how many of
the resets led to it; the interval (`stratified_mean`) is valid however the draws were chosen, and a
position that was never tried may have any rate. Resets after which the intent holds already are not
counted, since nothing is left to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from capscope.journal.execution_table import ExecutionTable
from capscope.journal.run_meta import InitialPositions, position_digest
from capscope.logic import Intent, Vocabulary
from capscope.stats.stratified_mean import Stratum, mean_interval, mean_of_tried


@dataclass(frozen=True)
class ResetSuccess:
    """The probability that the agent achieves an intent when asked right after a reset."""

    rate: float | None
    """The mean over the resets whose positions were tried; None if none was."""
    low: float
    """The lower end of the 95 % interval of the mean over all resets below."""
    high: float
    draws: int
    """Executions that started right after a reset."""
    resets_tried: int
    """Resets that led to a position in which it was tried."""
    resets: int
    """The resets of the run after which the intent does not hold already."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return asdict(self)


def success_from_resets(
    executions: ExecutionTable,
    intents: Sequence[Intent],
    vocabulary: Vocabulary,
    initial: InitialPositions,
) -> dict[Intent, ResetSuccess]:
    """Return the success of each capability that does not hold after every reset.

    Nothing is returned for a journal that does not say where resets led.
    """
    table = executions.complete
    asked = _asked_after_reset(table, initial)
    found = {}
    for capability, intent in enumerate(intents):
        holds = intent.test(vocabulary)
        strata = [
            Stratum(one.resets, np.array([holds(table.states[i]) for i in ends], dtype=np.bool_))
            for one in initial.each
            if not holds(one.state)
            for ends in [asked.get((one.digest, capability), [])]
        ]
        if strata:
            found[intent] = _success(strata)
    return found


def _asked_after_reset(
    table: ExecutionTable, initial: InitialPositions
) -> Mapping[tuple[str, int], list[int]]:
    """Return the states that followed, by initial position and capability, in order."""
    known = {one.digest for one in initial.each}
    states = {one.state for one in initial.each}
    begins = [number for number, state in enumerate(table.states) if state in states]
    rows = np.flatnonzero(table.at_start & np.isin(table.before, begins))
    digests = {i: position_digest(table.position_names[i]) for i in set(table.position[rows])}
    asked: dict[tuple[str, int], list[int]] = {}
    columns = (table.position[rows], table.capability[rows], table.after[rows])
    for position, capability, after in zip(*(c.tolist() for c in columns), strict=True):
        if digests[position] in known:
            asked.setdefault((digests[position], capability), []).append(after)
    return asked


def _success(strata: Sequence[Stratum]) -> ResetSuccess:
    tried = [stratum for stratum in strata if len(stratum.hits)]
    low, high = mean_interval(strata)
    return ResetSuccess(
        mean_of_tried(strata),
        low,
        high,
        sum(len(stratum.hits) for stratum in tried),
        sum(stratum.weight for stratum in tried),
        sum(stratum.weight for stratum in strata),
    )
