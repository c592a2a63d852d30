"""What is known about hazards of a run, whether or not it searched for them.

**Where it happened.** Every execution counts, and every state that it passed through, not only the
last. Draws of a pair are independent however the strategy chose it, so its interval is valid; since
pairs are selected by their outcomes, the interval of each allows for all pairs that were tried.

**How likely it is in use** is another question. A strategy draws where it expects to learn, and
with hazards where it expects harm, so the fraction of all executions in which a hazard happened
estimates nothing. The draws of an audit do: the last executions of sequences of random capabilities
after a reset (`capscope.stats.audit`). The time of an audit depends on earlier draws,
its sequences do not, so all rounds are one sequence of independent samples, and a betting score
bounds the rate at any time. If capabilities were discovered meanwhile, later rounds request others,
and only the samples since then count; each such restart spends its own part of the error rate, as
each round of an audit does.

**Right after a reset**, draws of every initial position and capability are strata whose mean is
bounded however often each was drawn. Executions that ask for the hazard itself are left out of both
and counted separately.

**Recovery.** The absence of a known path back is weak evidence while requests are untried, so
states in which everything was tried are counted separately.

All numbers of all hazards that are asked together share one error rate.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from capscope.insight.rates import asked_after_reset
from capscope.journal.execution_table import ExecutionTable, longer_trajectories
from capscope.logic import Condition, Effect, Intent, State, Term, Vocabulary
from capscope.logic.json_values import OMITTED, STATE
from capscope.model import StateGraph
from capscope.model.state_graph import StateMatrix
from capscope.model.transitions import KnownPath, KnownPaths, KnownStep, SeenTransitions
from capscope.problem import Hazard
from capscope.stats import mean_bounds
from capscope.stats.arrays import Integers, Mask
from capscope.stats.audit import error_of_round, upper_bound
from capscope.stats.rate import Rate
from capscope.stats.stratified_mean import Stratum
from capscope.strategy.registry import Claim, claim_of

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts

_UPPER, _LOWER, _PAIRS, _RESETS = 0.8, 0.1, 0.05, 0.05
"""How the error rate of a hazard is divided; the upper bound in use matters most."""
_NEVER = 7 / 8  # the part of an error rate that is for bounds without hits


@dataclass(frozen=True, slots=True)
class Recovery:
    """Whether a hazard was seen to be undone, by requests to the agent."""

    states: int
    """The states that it left behind: an instance that it made true still holds."""
    undone: int
    """Those from which a path is known to a state in which the instance does not hold."""
    closed: int
    """Those without such a path, although everything was tried in all reachable states."""
    way: KnownPath | None
    """A shortest path back, from the end of the first pair of the result; None if none is known."""


@dataclass(frozen=True, slots=True)
class HazardPair:
    """A capability that led into a hazard from a state."""

    state: State = field(metadata=STATE)
    intent: Intent
    rate: Rate
    """How often it happened; the interval is valid for all pairs of the run together."""
    asked: bool
    """Whether the request named the instances that happened."""
    way: KnownPath | None
    """The shortest known path from the beginning, with this execution; None if none is known."""


@dataclass(frozen=True, slots=True)
class HazardResult:
    """What a run says about a hazard."""

    hazard: str
    executions: int
    """The executions that did not ask for each instance of it and were not cut short."""
    happened: int
    """Those in which an instance happened that the request did not name."""
    requests: int
    """The executions that asked for an instance and were not cut short."""
    granted: int
    """Those in which only what they asked for happened."""
    cut_short: int
    """Further executions in which it happened before a budget cut them short."""
    holds_at_beginning: bool
    """Whether an instance holds in a state in which the run began."""
    pairs: tuple[HazardPair, ...]
    """Where it happened, sorted: not asked for, short paths, probable."""
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
        _result(run, hazard, flags, error, ways, sample, beginnings)
        for hazard, flags in zip(hazards, happened, strict=True)
    )


@dataclass(frozen=True)
class Happened:
    """In which executions a hazard happened, at the end or before."""

    at_all: Mask
    unasked: Mask
    """Whether an instance happened that the request did not name."""


def _happens(hazard: Hazard, before: State, after: State, intent: Intent) -> bool:
    return hazard.happens(before, after)


def happening(run: RunFacts, hazards: Sequence[Hazard]) -> list[Happened]:
    """Return for each hazard in which executions it happened."""
    table, intents = run.executions, run.capabilities
    rows = np.stack([table.before, table.capability, table.after])
    distinct, which = np.unique(rows, axis=1, return_inverse=True)
    columns = distinct.T.tolist()

    def flags(test: Callable[[State, State, Intent], bool]) -> Mask:
        of_each = [test(table.states[s], table.states[t], intents[c]) for s, c, t in columns]
        return np.array(of_each, dtype=bool)[which.reshape(-1)]

    found = [Happened(flags(partial(_happens, one)), flags(one.happens_unasked)) for one in hazards]
    if (table.changes > 1).any():
        with run.open_journal() as journal:
            for row, (first, *others) in longer_trajectories(table, journal):
                intent = intents[table.capability[row]]
                for hazard, own in zip(hazards, found, strict=True):
                    own.at_all[row] = any(hazard.happens(first, other) for other in others)
                    own.unasked[row] = any(
                        hazard.happens_unasked(first, other, intent) for other in others
                    )
    return found


def cannot_happen_unasked(run: RunFacts, hazard: Hazard) -> Mask:
    """Return for each execution whether it asked for every instance of a hazard."""
    asking = np.array([hazard.asked_in_full_by(intent) for intent in run.capabilities], dtype=bool)
    flags: Mask = asking[run.executions.capability]
    return flags


def _result(
    run: RunFacts,
    hazard: Hazard,
    happened: Happened,
    error: float,
    ways: KnownPaths,
    sample: UseSample,
    beginnings: Sequence[State],
) -> HazardResult:
    table, closed = run.executions, cannot_happen_unasked(run, hazard)
    asking = np.array([hazard.asked_by(i) for i in run.capabilities], dtype=bool)
    asking = asking[table.capability] & ~table.cut
    unasked = happened.unasked
    pairs = _pairs(run, happened, _PAIRS * error, ways)
    left = _left_behind(table, hazard, happened.at_all)
    example = pairs[0].way[-1].after if pairs and pairs[0].way else next(iter(left), None)
    return HazardResult(
        hazard=hazard.text,
        executions=int((~table.cut & ~closed).sum()),
        happened=int((unasked & ~table.cut).sum()),
        requests=int(asking.sum()),
        granted=int((happened.at_all & ~unasked & asking).sum()),
        cut_short=int((happened.at_all & table.cut).sum()),
        holds_at_beginning=any(map(hazard.holds, beginnings)),
        pairs=pairs,
        in_use=None if sample.missing else _use(sample, unasked, closed).rate(error),
        drawn_from=sample.executions,
        no_bound=sample.missing,
        after_reset=_after_reset(run, hazard, unasked, _RESETS * error),
        recovery=find_recovery(run.graph, left, example),
    )


def _pairs(
    run: RunFacts, happened: Happened, error: float, ways: KnownPaths
) -> tuple[HazardPair, ...]:
    table, graph = run.executions, run.graph
    ends: defaultdict[tuple[int, int, bool], Counter[int]] = defaultdict(Counter)
    rows = np.flatnonzero(happened.at_all & ~table.cut)
    columns = (table.before, table.capability, ~happened.unasked, table.after)
    for s, c, asked, after in zip(*(column[rows].tolist() for column in columns), strict=True):
        ends[s, c, asked][after] += 1
    confidence = 1.0 - error / max(graph.pairs_tried, 1)
    found = []
    for (before, capability, asked), counts in ends.items():
        state, intent = table.states[before], graph.capabilities[capability]
        pair = graph.pair(state, capability)
        assert pair is not None, "the graph has every execution that was not cut"
        count, ((after, _),) = counts.total(), counts.most_common(1)
        there = ways.to(state)
        last = KnownStep(state, intent, table.states[after], count, pair.total)
        rate = Rate.single(count, pair.total, confidence)
        way = None if there is None else (*there, last)
        found.append(HazardPair(state, intent, rate, asked, way))
    return tuple(sorted(found, key=_rank))


def _left_behind(table: ExecutionTable, hazard: Hazard, happened: Mask) -> dict[State, set[Term]]:
    rows = np.flatnonzero(happened & ~table.cut)
    left: defaultdict[State, set[Term]] = defaultdict(set)
    ends = zip(table.before[rows].tolist(), table.after[rows].tolist(), strict=True)
    for before, after in dict.fromkeys(ends):
        left[table.states[after]] |= {*hazard.entered(table.states[before], table.states[after])}
    return left


def _after_reset(run: RunFacts, hazard: Hazard, happened: Mask, error: float) -> Rate | None:
    initial, cut = run.initial_positions, run.executions.cut
    if not initial.each or run.claim_withheld is not None:
        return None
    asked = asked_after_reset(run.executions.complete, initial)
    happened = happened[~cut]
    strata = [
        Stratum(one.resets, happened[asked.get((one.digest, capability), [])])
        for one in initial.each
        for capability, intent in enumerate(run.capabilities)
        if not hazard.asked_in_full_by(intent)
    ]
    return Rate.of_strata(strata, 1.0 - error)


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

    def rate(self, error: float) -> Rate:
        """Return the rate in use, with the parts of an error rate that are for its bounds."""
        low = self.sample.lower(self.hits, _LOWER * error)
        high = self.sample.upper(self.hits, _UPPER * error)
        return Rate(
            self.hits / self.draws if self.draws else None, low, high, self.hits, self.draws
        )

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
    return {
        hazard.text: _use(sample, happened.unasked, cannot_happen_unasked(run, hazard))
        for hazard, happened in zip(hazards, happening(run, hazards), strict=True)
    }


def _use(sample: UseSample, happened: Mask, closed: Mask) -> HazardUse:
    possible = sample.only(~closed)
    return HazardUse(int(happened[possible.rows].sum()), possible)


def find_recovery(
    graph: StateGraph, left: Mapping[State, Set[Term]], example: State | None
) -> Recovery | None:
    """Return the number of states with a path back, and such a path from the example."""
    vocabulary = graph.vocabulary
    holding = {
        state: {one for one in instances if vocabulary.test(one)(state)}
        for state, instances in left.items()
    }
    holding = {state: instances for state, instances in holding.items() if instances}
    if not holding:
        return None
    matrix = StateMatrix(len(vocabulary.atoms))
    matrix.rows(graph.nodes)
    seen = SeenTransitions(list(graph.nodes.values()))
    row = seen.index
    stuck = set()
    for instance in {one for instances in holding.values() for one in instances}:
        back = seen.reaching(~matrix.holding(*vocabulary.literal_masks(instance)))
        stuck |= {s for s, some in holding.items() if instance in some and not back[row[s]]}
    open_ended = seen.reaching(seen.incomplete)
    closed = sum(not open_ended[row[state]] for state in stuck)
    way = None
    if example in holding:
        way = _path_back(graph, example, holding[example])
    return Recovery(len(holding), len(holding) - len(stuck), closed, way)


def _path_back(graph: StateGraph, state: State, instances: Set[Term]) -> KnownPath | None:
    happened = Condition(tuple(instances)).test(graph.vocabulary)
    return KnownPaths(graph, [state]).nearest(lambda other: not happened(other))


@dataclass(frozen=True)
class UseSample:
    """The executions that were drawn as in use."""

    rows: Integers
    """Of the table of executions."""
    share: float
    """The part of an error rate that these may spend."""
    executions: str
    """Which executions they are a sample of."""
    missing: str = ""
    """Why there are none; empty if there are."""

    def only(self, kept: Mask) -> UseSample:
        """Restrict it to some executions, chosen by what they asked for."""
        return replace(self, rows=self.rows[kept[self.rows]])

    def upper(self, hits: int, error: float) -> float:
        """Return what the rate is at most, but for the given error rate.

        The bet of an audit is best without hits, and poor with some of them.
        """
        if not hits:
            return self.upper_if_never(_NEVER * error)
        confidence = 1.0 - self.share * (1.0 - _NEVER) * error
        return mean_bounds.upper_bound([(hits, len(self.rows))], confidence)

    def upper_if_never(self, error: float) -> float:
        """Return what the rate is at most, for who claims nothing if there are hits."""
        return upper_bound(len(self.rows), 0, self.share * error)

    def lower(self, hits: int, error: float) -> float:
        """Return what the rate is at least, but for the given error rate."""
        if not hits:
            return 0.0
        confidence = 1.0 - self.share * error
        return mean_bounds.lower_bound([(hits, len(self.rows))], confidence)


def sample_use(run: RunFacts) -> UseSample:
    """Return the executions of a run that were drawn as in use."""
    settings = run.identity.settings
    length = settings.use_length
    missing = run.claim_withheld or ""
    if claim_of(run.identity.strategy) is not Claim.AUDITED:
        missing = f"only audits draw as in use, and the strategy {run.identity.strategy} makes none"
    elif not settings.audit:
        missing = "only audits draw as in use, and --audit 0 asks for none"
    elif not length:
        missing = "with --audit-length 0 the audit does not start from the beginning"
    table, none = run.executions, np.empty(0, dtype=np.int64)
    if missing:
        return UseSample(none, 1.0, "", missing)
    with run.open_journal() as journal:
        cut = journal.cut_draws()
    rows = _last_of_audits(table, cut)
    grown = _growths(run)
    audits = table.query[rows]
    rows = rows[audits > max(grown, default=-1)]
    earlier = {sum(at < query for at in grown) for query in audits.tolist()} - {len(grown)}
    # A list given by the user does not grow, so nothing need be kept for a restart.
    share = 1.0 if settings.intents else error_of_round(1 + len(earlier), 1.0)
    if not len(rows):
        return UseSample(none, share, "", "the run stopped before its audit had begun")
    many = f"in sequences of 1 to {length} random capabilities"
    of = "of a random capability" if length == 1 else many
    return UseSample(rows, share, f"{of} from the beginning")


def _last_of_audits(table: ExecutionTable, cut: set[tuple[int, int]]) -> Integers:
    """Return the last execution of each draw of an audit, unless a budget cut the draw short."""
    last = np.append(table.number[1:] == 0, True)[: len(table)]
    rows = np.flatnonzero(last & ~table.queries.informative[table.query])
    whole = [(int(table.query[row]), int(table.draw[row])) not in cut for row in rows]
    kept: Integers = rows[np.array(whole, dtype=bool)]
    return kept


def _growths(run: RunFacts) -> list[int]:
    """Return the queries that discovered capabilities."""
    if run.identity.settings.intents:
        return []
    vocabulary, found = run.graph.vocabulary, run.executions.distinct
    known = _signs(run.capabilities[: run.meta.discovered or 0], vocabulary)
    states, grown = run.executions.states, []
    columns = (found.first.tolist(), found.before.tolist(), found.after.tolist())
    for row, before, after in zip(*columns, strict=True):
        effect = Effect.between(states[before], states[after])
        new = Effect(effect.adds & ~known.adds, effect.deletes & ~known.deletes)
        if new != Effect(0, 0):
            grown.append(int(run.executions.query[row]))
            more = _signs([Intent.of([one]) for one in new.literals(vocabulary)], vocabulary)
            known = Effect(known.adds | more.adds, known.deletes | more.deletes)
    return sorted(set(grown))


def _signs(intents: Sequence[Intent], vocabulary: Vocabulary) -> Effect:
    """Return the groundings of the predicates that intents make true, and of those they delete."""
    names = {
        (literal.atom.predicate, literal.positive) for one in intents for literal in one.mentioned
    }

    def groundings(positive: bool) -> int:
        atoms = (vocabulary.groundings(name) for name, sign in names if sign is positive)
        return reduce(or_, (vocabulary.state(some) for some in atoms), 0)

    return Effect(groundings(True), groundings(False))
