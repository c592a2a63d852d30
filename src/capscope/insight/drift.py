"""Notice an agent that changes while it is being assessed.

A model has one distribution for each pair of a state and a capability. If the agent changes (a
service degrades, a policy is still learning, a quota is used up), its rates are a mixture of two
agents, and the criteria that call a run settled do not apply.

Draws of a pair are reduced to hits and misses in two ways: whether anything changed, if the intent
did not hold already, and whether the outcome of the pair's first draw was repeated. While the agent
stays the same, a pair has one probability of either, unknown and its own, however the strategy
chose to draw it again. The test (`change_point`) asks whether these probabilities changed together,
in all capabilities or in one.
The second way needs one draw more and sees every kind of change. The evidence is the mean of both.

Positions that share a state may have different outcomes (`aliasing`), and a run draws other
positions early than late. So if two positions of any state are known, draws are compared only if
they began in the same position, which is known from the start of the draw. Otherwise all executions
of a pair are compared. That choice is made with hindsight, so each way has half of the error rate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from capscope.journal.execution_table import ExecutionTable, number_by_first_use
from capscope.logic import OMITTED, STATE, Intent, State, Vocabulary
from capscope.stats.arrays import Integers, Mask
from capscope.stats.beta import log_sum_exp
from capscope.stats.change_point import ArmDraws, ChangePoint, evidence_of_change
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget


@dataclass(frozen=True)
class Drift:
    """A change of the agent, with the pair that shows it most clearly."""

    executions: int
    """After about this many executions."""
    evidence: float
    """The log score."""
    capability: Intent | None
    """The capability that changed; None if it is not limited to one."""
    pairs: int
    """The number of pairs drawn repeatedly, both before and after."""
    intent: Intent
    state: State = field(metadata=STATE)
    before: Counter[State] = field(metadata=STATE)
    """How often each state followed the clearest pair before, most frequent first."""
    after: Counter[State] = field(metadata=STATE)
    """And after the change."""
    vocabulary: Vocabulary = field(repr=False, compare=False, metadata=OMITTED)


def find_drift(
    executions: ExecutionTable,
    intents: Sequence[Intent],
    vocabulary: Vocabulary,
    *,
    several_positions: Callable[[], bool] = lambda: False,
    discovered: int | None = None,
    error_rate: float = ERROR_RATE,
) -> Drift | None:
    """Find out whether outcomes changed in the course of a run; None if that is not shown.

    `several_positions` tells whether any state is known to have several positions; it is called
    only if the starts of draws do not show it. `discovered` is the number of capabilities that were
    known before the first execution.
    """
    table = executions.complete
    threshold = ErrorBudget(error_rate, 1).share("drift").threshold(2)
    families = len(intents) if discovered is None else discovered
    capabilities = int(table.capability.max(initial=0)) + 1

    def search(rows: Integers, places: Integers) -> Drift | None:
        """Compare some executions of a pair, or of a pair in one position."""
        arm, first = number_by_first_use((places * capabilities + table.capability)[rows])
        capability, before = (c[rows[first]].tolist() for c in (table.capability, table.before))
        pairs = zip(capability, before, strict=True)
        asking = [not intents[c].holds(table.states[s], vocabulary) for c, s in pairs]
        asked = np.array(asking, dtype=bool)
        ways = _hits_and_misses(table, rows, arm, rows[first], asked, families)
        found = [change for change in map(evidence_of_change, ways) if change is not None]
        evidence = log_sum_exp([c.evidence for c in found]) - math.log(2) if found else -math.inf
        if evidence <= threshold:
            return None
        best = max(found, key=lambda change: change.evidence)._replace(evidence=evidence)
        return _described(best, table, rows, arm, intents, vocabulary)

    if not _starts_differ(table):
        found = search(np.arange(len(table)), table.before)
        if found is None or not several_positions():
            return found
    # A position has one state.
    return search(np.flatnonzero(table.at_start), table.position)


def _starts_differ(table: ExecutionTable) -> bool:
    """Return whether draws started from several positions of one state."""
    starts = np.flatnonzero((table.number == 0) & table.at_start)
    _, first, which = np.unique(table.before[starts], return_index=True, return_inverse=True)
    return bool((table.position[starts] != table.position[starts[first]][which]).any())


def _hits_and_misses(
    table: ExecutionTable,
    rows: Integers,
    arm: Integers,
    first: Integers,
    asking: Mask,
    families: int,
) -> Iterator[ArmDraws]:
    """Yield the draws as hits and misses: "it changed something", "it repeated the first".

    An agent that changes nothing because the intent holds is as steady as can be. Many pairs are
    like that, and would outweigh those that show that it no longer does what it did.

    Args:
        table: All executions.
        rows: Those that count.
        arm: For each of these, the number of its arm.
        first: For each arm, its first execution.
        asking: For each arm, whether its intent did not hold in its state.
        families: The number of capabilities that were known before the first execution.
    """
    after, family = table.after, table.capability[first]
    changed: Mask = after[rows] != table.before[rows]
    asked: Mask = asking[arm]
    yield ArmDraws(rows[asked], arm[asked], changed[asked], family, families)
    reference = first[arm]
    later = rows != reference
    repeated: Mask = after[rows] == after[reference]
    yield ArmDraws(rows[later], arm[later], repeated[later], family, families)


def _described(
    change: ChangePoint,
    table: ExecutionTable,
    rows: Integers,
    arm: Integers,
    intents: Sequence[Intent],
    vocabulary: Vocabulary,
) -> Drift:
    """Describe a change by the arm that shows it most clearly."""
    drawn_early, drawn_late = (
        np.bincount(arm[when], minlength=len(change.arms)) > 0
        for when in (rows < change.time, rows >= change.time)
    )
    both = drawn_early & drawn_late
    clearest = rows[arm == np.where(both, change.arms, -math.inf).argmax()]
    return Drift(
        change.time,
        change.evidence,
        None if change.family is None else intents[change.family],
        int(both.sum()),
        intents[table.capability[clearest[0]]],
        table.states[table.before[clearest[0]]],
        _outcomes(table, clearest[clearest < change.time]),
        _outcomes(table, clearest[clearest >= change.time]),
        vocabulary,
    )


def _outcomes(table: ExecutionTable, rows: Integers) -> Counter[State]:
    counts = Counter(table.after[rows].tolist())
    return Counter({table.states[after]: count for after, count in counts.most_common()})
