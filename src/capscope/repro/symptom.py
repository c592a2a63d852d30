"""What a finding is about: a symptom that executions show, and the positions that showed it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from capscope.errors import CapscopeError
from capscope.insight.findings import Finding, Kind
from capscope.insight.findings.context import FindingContext
from capscope.journal.draws import ENDINGS
from capscope.logic import Effect, Intent, Literal, State
from capscope.logic.footprint import Footprint, RequestForm
from capscope.model.transitions import KnownPath
from capscope.problem import Ending, InvalidAction, Problem, Snapshot
from capscope.problem.actions import UnknownAction, read_action
from capscope.problem.attempt import observed_state
from capscope.repro.check import TriedRequest
from capscope.run import Run

_MOST_CANDIDATES = 4
_MOST_POSITIONS = 2
"""Positions tried of one state."""
_MOST_SEEDS = 5
"""Of the actions that lead to a position, in a world with chance."""
_NO_EVENT = {
    Kind.DRIFT: "it is about when an execution was made, which no position repeats",
    Kind.PREFERS: "it is about which of several right things the agent does",
}


@dataclass(frozen=True)
class Symptom:
    """What must not happen to a request."""

    intent: Intent
    unwanted: Effect | None
    """The changes of which none must be made; None: the request must not fail."""
    endings: frozenset[Ending]
    """How failures ended."""
    idle: bool
    """Whether nothing changed when it failed."""

    def shown_by(self, effect: Effect, *, failed: bool) -> bool:
        """Return whether it shows in what changed, and in whether the request failed."""
        if self.unwanted is not None:
            adds, deletes = self.unwanted.adds, self.unwanted.deletes
            return bool(effect.adds & adds or effect.deletes & deletes)
        return failed and not (self.idle and effect != Effect(0, 0))

    def happened(self, made: TriedRequest) -> bool:
        """Return whether an execution shows it; a failure of another kind does not."""
        alike = self.unwanted is not None or made.attempt.ending in self.endings
        return alike and self.shown_by(made.effect, failed=made.failed)


@dataclass(frozen=True)
class SeenSymptom:
    """A state in which a finding was seen, and how to get there."""

    symptom: Symptom
    state: State
    rate: float
    """How often it happens there, as far as that is known."""
    positions: Sequence[Snapshot]
    path: KnownPath | None


def candidates(run: Run, problem: Problem, finding: Finding) -> Iterator[SeenSymptom]:
    """Yield states that showed a finding, those with the fewest atoms first.

    Args:
        run: The run.
        problem: Its problem.
        finding: One of its findings.

    Yields:
        States with positions that were kept; those that showed it rarely come last.

    Raises:
        CapscopeError: No position can show the finding.
    """
    reason = _NO_EVENT.get(Kind(finding.kind)) if finding.kind in set(Kind) else None
    if reason or finding.example is None:
        raise CapscopeError(f"{finding.kind}: {reason or 'it has no example'}")
    found, context = [], FindingContext(run)
    for intent in finding.intents:
        symptom = _symptom(context, finding, intent)
        for state, (hits, draws, row) in _seen(context, finding, symptom).items():
            path = context.path(state)
            few = (state & ~run.graph.always).bit_count()
            length = len(path) if path is not None else len(run.graph.nodes)
            usual = finding.count / max(finding.possible, 1)
            rate = (hits + 2 * usual) / (draws + 2)  # few executions say little
            rare = rate < usual / 2
            idle = intent.holds(state, run.graph.vocabulary)  # nothing has to be done there
            found.append(((idle, rare, few, length, -rate, row), symptom, state, path))
    for order, symptom, state, path in sorted(found, key=lambda one: one[0])[:_MOST_CANDIDATES]:
        yield SeenSymptom(
            symptom, state, -order[-2], _positions(run, problem, state, order[-1]), path
        )


def _symptom(context: FindingContext, finding: Finding, intent: Intent) -> Symptom:
    words, table = context.vocabulary, context.table
    if finding.change:
        form = RequestForm(intent, context.exactly_one, words)
        first, *_ = finding.change.split(" and ")
        return Symptom(intent, form.changes(Literal.parse(first)), frozenset(), idle=False)
    rows = table.capability == context.graph.index[intent]
    endings = frozenset(ENDINGS[number] for number in np.unique(table.ending[rows]).tolist())
    return Symptom(intent, None, endings - {Ending.CHANGED}, finding.kind == Kind.REFUSES)


def _seen(
    context: FindingContext, finding: Finding, symptom: Symptom
) -> dict[State, tuple[int, int, int]]:
    """Return how often a symptom happened in the states that showed it, of how often, and a row."""
    words, table = context.vocabulary, context.table
    holds = symptom.intent.test(words)
    binding = {v: name for name, v in Footprint(symptom.intent, words).variables.items()}
    counts: dict[State, list[int]] = defaultdict(lambda: [0, 0, -1])
    rows = np.flatnonzero((table.capability == context.graph.index[symptom.intent]) & ~table.cut)
    for row in rows.tolist():
        before, after = (table.states[side[row]] for side in (table.before, table.after))
        own = counts[before]
        own[1] += 1
        if holds(before) and symptom.unwanted is None:
            continue
        failed = not holds(after) and ENDINGS[table.ending[row]] is not Ending.CHANGED
        if symptom.shown_by(Effect.between(before, after), failed=failed):
            own[0] += 1
            if own[2] < 0 or table.number[row] < table.number[own[2]]:
                own[2] = row
    return {
        state: (hits, draws, row)
        for state, (hits, draws, row) in counts.items()
        if hits and all(one.holds(binding, state, words) for one in finding.when)
    }


def _positions(run: Run, problem: Problem, state: State, row: int) -> list[Snapshot]:
    """Return positions of a state, first the one in which an execution began."""
    begun = _replayed(run, problem, state, row)
    with run.open_journal() as journal:
        kept = [one.snapshot for one in journal.positions(state)]
    return list(dict.fromkeys([*([] if begun is None else [begun]), *kept]))[:_MOST_POSITIONS]


def _replayed(run: Run, problem: Problem, state: State, row: int) -> Snapshot | None:
    """Repeat the actions of a draw before an execution; None if that leads elsewhere."""
    table, simulator = run.executions, problem.simulator
    place = int(table.query[row]), int(table.draw[row])
    with run.open_journal() as journal:
        begun, earlier = journal.start_of(*place), journal.actions(*place)[: table.number[row]]
    if begun is None or None in earlier:
        return None
    for seed in range(_MOST_SEEDS):
        observation = simulator.restore(begun.snapshot, seed)
        with suppress(InvalidAction, UnknownAction):
            for written in (one for actions in earlier for one in actions or ()):
                observation = simulator.step(read_action(written, simulator.actions))
            if observed_state(problem, observation) == state:
                return simulator.snapshot()
    return None
