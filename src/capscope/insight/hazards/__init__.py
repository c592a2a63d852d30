"""What a run says about hazards, whether or not it searched for them.

**Where it happened.** Every execution counts, and every state that it passed through, not only the
last. Draws of a pair are independent however the strategy chose it, so its interval is valid; since
the pairs in which something happened are selected by what happened, the interval of each allows for
all pairs that were tried.

**How likely it is in use** is another question, see `use`. Right after a reset, draws of every
initial position and capability are strata whose mean is bounded whatever was drawn how often.
Executions that ask for the hazard itself are left out of both: what happens on request is counted
by itself.

All numbers of all hazards that are asked together share one error rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from capscope.insight.hazards.recovery import Recovery, find_recovery
from capscope.insight.hazards.use import UseSample, sample_use
from capscope.journal.execution_table import ExecutionTable, longer_trajectories
from capscope.journal.run_meta import position_digest
from capscope.logic import Intent, State, Term
from capscope.logic.json_values import OMITTED, STATE
from capscope.model.transitions import KnownPath, KnownPaths, KnownStep
from capscope.problem import Hazard
from capscope.stats.arrays import Mask
from capscope.stats.rate import Rate
from capscope.stats.stratified_mean import Stratum

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts


@dataclass(frozen=True, slots=True)
class HazardPair:
    """A capability that led into a hazard from a state."""

    state: State = field(metadata=STATE)
    intent: Intent
    rate: Rate
    """How often it happened; the interval is valid for all pairs of the run together."""
    asked: bool
    """Whether the intent asks for the hazard itself."""
    way: KnownPath | None
    """The shortest known way from the beginning, this execution included; None if none is known."""


@dataclass(frozen=True, slots=True)
class HazardResult:
    """What a run says about a hazard."""

    hazard: str
    executions: int
    """The executions that did not ask for it and were not cut short."""
    happened: int
    """Those in which it happened."""
    requests: int
    """The executions that asked for it and were not cut short."""
    granted: int
    """Those in which it happened."""
    cut_short: int
    """Further executions in which it happened before a budget cut them short."""
    holds_at_beginning: bool
    """Whether an instance holds in a state in which the run began."""
    pairs: tuple[HazardPair, ...]
    """Where it happened: first without being asked for, first by short ways, first if probable."""
    in_use: Rate | None
    """For the executions that the audit draws, if they do not ask for it; None without draws."""
    drawn_from: str
    """Which executions `in_use` is about."""
    no_bound: str
    """Why `in_use` is None; empty if it is not."""
    after_reset: Rate | None
    """For a random capability right after a reset; None if resets were not recorded."""
    recovery: Recovery | None
    """None if it left no state behind."""

    @property
    def unasked(self) -> tuple[HazardPair, ...]:
        """Where it happened without being asked for."""
        return tuple(pair for pair in self.pairs if not pair.asked)


_UPPER, _LOWER, _PAIRS, _RESETS = 0.8, 0.1, 0.05, 0.05
"""How the error rate of a hazard is divided; the upper bound in use matters most."""


def find_hazards(run: RunFacts, hazards: Sequence[Hazard]) -> tuple[HazardResult, ...]:
    """Return what a run says about each hazard."""
    if not hazards:
        return ()
    error = (1.0 - run.identity.settings.confidence) / len(hazards)
    sample = sample_use(run)
    beginnings = run.initial_positions.states or list(run.graph.nodes)[:1]
    ways = KnownPaths(run.graph, beginnings)
    happened = happening(run, hazards)
    return tuple(
        _HazardEvidence(run, hazard, flags, error, ways).result(sample, beginnings)
        for hazard, flags in zip(hazards, happened, strict=True)
    )


def happening(run: RunFacts, hazards: Sequence[Hazard]) -> list[Mask]:
    """Return for each hazard and execution whether it happened, at the end or on the way."""
    table = run.executions
    size = max(len(table.states), 1)
    codes, which = np.unique(table.before * size + table.after, return_inverse=True)
    ends = [(table.states[code // size], table.states[code % size]) for code in codes.tolist()]
    found = [
        np.array([hazard.happens(*pair) for pair in ends], dtype=bool)[which.reshape(-1)]
        for hazard in hazards
    ]
    if (table.changes > 1).any():
        with run.open_journal() as journal:
            for row, (first, *others) in longer_trajectories(table, journal):
                for hazard, flags in zip(hazards, found, strict=True):
                    flags[row] = any(hazard.happens(first, other) for other in others)
    return found


def asked_by_executions(run: RunFacts, hazard: Hazard) -> Mask:
    """Return for each execution whether it asked for a hazard itself."""
    asking = np.array([hazard.asked_by(intent) for intent in run.capabilities], dtype=bool)
    flags: Mask = asking[run.executions.capability]
    return flags


class _HazardEvidence:
    """Everything about one hazard."""

    def __init__(
        self, run: RunFacts, hazard: Hazard, happened: Mask, error: float, ways: KnownPaths
    ) -> None:
        self._run, self._hazard, self._error, self._ways = run, hazard, error, ways
        self._table: ExecutionTable = run.executions
        self._happened = happened
        self._asking: Mask = np.array([hazard.asked_by(i) for i in run.capabilities], dtype=bool)

    def result(self, sample: UseSample, beginnings: Sequence[State]) -> HazardResult:
        table = self._table
        asking = self._asking[table.capability]
        pairs, left = self._pairs(), self._left_behind()
        example = pairs[0].way[-1].after if pairs and pairs[0].way else next(iter(left), None)
        return HazardResult(
            hazard=self._hazard.text,
            executions=int((~table.cut & ~asking).sum()),
            happened=int((self._happened & ~table.cut & ~asking).sum()),
            requests=int((~table.cut & asking).sum()),
            granted=int((self._happened & ~table.cut & asking).sum()),
            cut_short=int((self._happened & table.cut).sum()),
            holds_at_beginning=any(map(self._hazard.holds, beginnings)),
            pairs=pairs,
            in_use=None if sample.missing else self._in_use(sample),
            drawn_from=sample.executions,
            no_bound=sample.missing,
            after_reset=self._after_reset(),
            recovery=find_recovery(self._run.graph, left, example),
        )

    def _pairs(self) -> tuple[HazardPair, ...]:
        table, graph = self._table, self._run.graph
        ends: dict[tuple[int, int], dict[int, int]] = {}
        rows = np.flatnonzero(self._happened & ~table.cut)
        columns = (table.before[rows], table.capability[rows], table.after[rows])
        for before, capability, after in zip(*(c.tolist() for c in columns), strict=True):
            counts = ends.setdefault((before, capability), {})
            counts[after] = counts.get(after, 0) + 1
        confidence = 1.0 - _PAIRS * self._error / max(graph.pairs_tried, 1)
        found = []
        for (before, capability), counts in ends.items():
            state, intent = table.states[before], graph.capabilities[capability]
            pair = graph.pair(state, capability)
            assert pair is not None, "the graph has every execution that was not cut"
            count, after = sum(counts.values()), max(counts, key=lambda end: counts[end])
            there = self._ways.to(state)
            last = KnownStep(state, intent, table.states[after], count, pair.total)
            rate = Rate.single(count, pair.total, confidence)
            way = None if there is None else (*there, last)
            found.append(HazardPair(state, intent, rate, bool(self._asking[capability]), way))
        return tuple(sorted(found, key=_rank))

    def _left_behind(self) -> dict[State, set[Term]]:
        table, rows = self._table, np.flatnonzero(self._happened & ~self._table.cut)
        left: dict[State, set[Term]] = {}
        for before, after in dict.fromkeys(
            zip(table.before[rows].tolist(), table.after[rows].tolist(), strict=True)
        ):
            states = table.states[before], table.states[after]
            left.setdefault(states[1], set()).update(self._hazard.entered(*states))
        return left

    def _in_use(self, sample: UseSample) -> Rate:
        sample = sample.only(~self._asking[self._table.capability])
        hits, number = int(self._happened[sample.rows].sum()), len(sample.rows)
        low = sample.lower(hits, _LOWER * self._error)
        high = sample.upper(hits, _UPPER * self._error)
        return Rate(hits / number if number else None, low, high, hits, number)

    def _after_reset(self) -> Rate | None:
        table, initial = self._table, self._run.initial_positions
        if not initial.each or self._run.claim_withheld is not None:
            return None
        drawn: dict[tuple[str, int], list[bool]] = {}
        digests = [position_digest(name) for name in table.position_names]
        for row in np.flatnonzero(table.at_start & ~table.cut).tolist():
            stratum = digests[table.position[row]], int(table.capability[row])
            drawn.setdefault(stratum, []).append(bool(self._happened[row]))
        strata = [
            Stratum(one.resets, np.array(drawn.get((one.digest, capability), ()), dtype=bool))
            for one in initial.each
            for capability in np.flatnonzero(~self._asking).tolist()
        ]
        return Rate.of_strata(strata, 1.0 - _RESETS * self._error)


def _rank(pair: HazardPair) -> tuple[bool, float, float, int, str]:
    steps = float("inf") if pair.way is None else len(pair.way)
    return pair.asked, steps, -pair.rate.low, pair.state, str(pair.intent)


@dataclass(frozen=True)
class HazardUse:
    """How often a hazard happened in the draws of one run that were made as in use."""

    hits: int
    sample: UseSample = field(metadata=OMITTED)
    json_properties: ClassVar = ("draws",)

    @property
    def draws(self) -> int:
        """The number of those draws."""
        return len(self.sample.rows)

    def bounds(self, error: float) -> tuple[float, float]:
        """Return an interval for the rate that is wrong with at most this probability."""
        return self.sample.lower(self.hits, error / 2), self.sample.upper(self.hits, error / 2)


def uses_of(run: RunFacts) -> dict[str, HazardUse]:
    """Count the hazards of a run in the draws that were made as in use; none without such draws."""
    texts = run.identity.settings.hazards
    sample = sample_use(run) if texts else None
    if sample is None or sample.missing:
        return {}
    hazards = [Hazard.parse(text, run.graph.vocabulary) for text in texts]
    found = {}
    for hazard, happened in zip(hazards, happening(run, hazards), strict=True):
        unasked = sample.only(~asked_by_executions(run, hazard))
        found[hazard.text] = HazardUse(int(happened[unasked.rows].sum()), unasked)
    return found
