"""How the executions of each pair ended: the agent raised, chose what is unavailable, or looped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np

from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import ENDINGS
from capscope.logic import Intent, State, Vocabulary
from capscope.problem.attempt import Ending


class Breakdown(StrEnum):
    """A way in which an execution ends without a decision of the agent."""

    RAISED = "raises an error"
    INVALID = "chooses an action that is not available"
    LOOPED = "goes on until it is stopped"


_ENDINGS = {
    Breakdown.RAISED: Ending.AGENT_RAISED,
    Breakdown.INVALID: Ending.INVALID_ACTION,
    Breakdown.LOOPED: Ending.HORIZON,
}
PairEndings = Mapping[Breakdown, Mapping[tuple[int, State], int]]
"""For each breakdown, how often each pair of a capability and a state ended like that."""


def pair_endings(
    table: ExecutionTable, intents: Sequence[Intent], vocabulary: Vocabulary
) -> PairEndings:
    """Count the breakdowns of each pair; executions that a budget cut do not count.

    An agent that is stopped has broken down only if its intent does not hold.
    """
    complete = table.complete
    found: dict[Breakdown, dict[tuple[int, State], int]] = {}
    for breakdown, ending in _ENDINGS.items():
        rows = np.flatnonzero(complete.ending == ENDINGS.index(ending))
        if breakdown is Breakdown.LOOPED:
            ends = zip(complete.capability[rows], complete.after[rows], strict=True)
            held = [intents[c].holds(complete.states[s], vocabulary) for c, s in ends]
            rows = rows[~np.array(held, dtype=bool)]
        own = np.stack([complete.capability[rows], complete.before[rows]])
        pairs, times = np.unique(own, axis=1, return_counts=True)
        found[breakdown] = {
            (c, complete.states[s]): n
            for (c, s), n in zip(pairs.T.tolist(), times.tolist(), strict=True)
        }
    return found
