"""Read off the executions of a comparison what changed, when, and whether it was needed.

`strategy.versions` has the evidence, of which everything said here is a part: a difference is one
of the questions whose weighted e-value reached the threshold. Of differences in the same executions
the most specific is told: a change instead of the request rather than that it was not achieved.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from capscope.assessment.known_positions import CARRIED
from capscope.errors import RunError
from capscope.insight.conditions import LiftedFeatures, find_condition
from capscope.insight.needs import need_of
from capscope.journal.execution_table import Transition
from capscope.journal.experience import Counts, Experience
from capscope.journal.run_meta import Usage
from capscope.journal.settings import Settings
from capscope.logic import Effect, Literal
from capscope.logic.json_values import OMITTED
from capscope.problem.counterfactual import Need
from capscope.stats.arrays import Integers, Mask
from capscope.stats.rate import Rate
from capscope.strategy.questions import (
    FAILURE,
    IMPOSSIBLE,
    Aim,
    EventEvidence,
    FormEvidence,
    Happening,
)
from capscope.strategy.versions import ERROR_CONDITIONS, Versions

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts


_COMMON = 0.8
"""The share of executions that did what was held impossible that have something in common."""


class ComparisonVerdict(StrEnum):
    """What a comparison shows."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"


_EXIT_CODES = {
    ComparisonVerdict.UNCHANGED: 0,
    ComparisonVerdict.CHANGED: 1,
    ComparisonVerdict.UNDECIDED: 3,
}


@dataclass(frozen=True)
class AgentChange:
    """An event that became more or less frequent."""

    request: str
    """The form of the request: `archived(x)`."""
    change: str
    """The form of a change beyond it; empty: the request is achieved; "impossible": an outcome that
    the baseline's model held impossible."""
    when: tuple[str, ...]
    """Under which condition; empty if none is known."""
    before: Rate | None
    """How often it happened in the baseline; None if it could not happen there."""
    after: Rate | None
    """How often it happens now; None if it could not happen."""
    score: float
    """The logarithm of the weighted e-value."""
    need: Need
    """Whether the request needed the change, as far as replays tell."""
    example: Transition | None
    """An execution that differs; None if what differs is that something no longer happens."""

    json_properties: ClassVar = ("more",)

    @property
    def more(self) -> bool:
        """Whether it became more frequent."""
        before, after = (rate.estimate if rate else 0.0 for rate in (self.before, self.after))
        return (after or 0.0) > (before or 0.0)


@dataclass(frozen=True)
class VersionComparison:
    """The verdict about a new version of an agent."""

    run: RunFacts = field(metadata=OMITTED)
    """The run of the new version."""
    baseline: str
    """What the new version was compared with."""
    verdict: ComparisonVerdict
    changes: tuple[AgentChange, ...]
    within: float
    """The rate that "unchanged" was to be shown for."""
    bound: float
    """The rate of executions in use that do what the baseline's model held impossible, at most."""
    baseline_bound: float
    """What the audit of the baseline bounds it to for the baseline itself; 1 without one."""
    in_use: int
    """The executions drawn as in use."""
    impossible: int
    """Those of them that did what the baseline's model held impossible."""
    more_needed: int | None
    """About how many more executions would decide; None if it is decided, or none would."""
    usage: Usage
    """What the comparison cost."""
    baseline_executions: int

    json_properties: ClassVar = ("exit_code",)

    @property
    def exit_code(self) -> int:
        """0: unchanged, 1: changed, 3: undecided."""
        return {
            ComparisonVerdict.UNCHANGED: 0,
            ComparisonVerdict.CHANGED: 1,
            ComparisonVerdict.UNDECIDED: 3,
        }[self.verdict]


def comparison_settings(baseline: RunFacts, within: float) -> Settings:
    """Return the settings with which a new version is compared: those of the baseline.

    Args:
        baseline: The run to compare with.
        within: As in `Settings.within`.
    """
    if not baseline.experience.executions:
        raise RunError(f"{baseline.path} has no executions to compare with; assess it first")
    asked = tuple(str(intent) for intent in baseline.experience.intents)
    return replace(baseline.identity.settings, intents=asked, within=within, batch=0)


def compared(run: RunFacts) -> VersionComparison:
    """Return the verdict about the run of a comparison, finished or not.

    Args:
        run: What `Run.compare` made, or loaded from its directory.
    """
    versions, source = _versions(run), run.meta.experience
    assert source is not None, "a comparison has a baseline"
    within = run.identity.settings.within
    changes = tuple(_changes(run, versions))
    verdict, more = ComparisonVerdict.UNDECIDED, None
    if changes or versions.impossible_shown:
        verdict = ComparisonVerdict.CHANGED
    elif versions.is_unchanged(within):
        verdict = ComparisonVerdict.UNCHANGED
    else:
        more = versions.more_needed(within)
    return VersionComparison(
        run, source.name, verdict, changes, within, versions.unchanged_to(), versions.bound,
        versions.use, versions.impossible, more, run.usage, source.executions,
    )  # fmt: skip


def joined_experience(run: RunFacts) -> Experience:
    """Return what a comparison and its baseline observed, for the next version to be compared with.

    What the baseline did where a difference was shown does not count any more.
    """
    versions, source = _versions(run), run.meta.experience
    assert source is not None, "a comparison has a baseline"
    gone = {c for form, _ in versions.shown for c in versions.forms[form].requests}
    learned = Counter({one: n for one, n in source.learned.items() if one[1] not in gone})
    audited = Counter({one: n for one, n in source.audited.items() if one[1] not in gone})
    for aim, transitions in _queries(run):
        for (before, capability, after), times in transitions.items():
            drawn: Counts = audited if aim is None and capability not in gone else learned
            drawn[before, capability, after] += times
    begun = dict.fromkeys((*source.beginnings, *run.initial_positions.states))
    return replace(
        source, problem=run.problem, learned=learned, audited=audited, beginnings=tuple(begun)
    )


def _queries(run: RunFacts) -> Iterator[tuple[Aim | None, Mapping[Transition, int]]]:
    """Yield what each query was aimed at, and its executions."""
    with run.open_journal() as journal:
        for number, transitions in enumerate(run.executions.transitions_by_query()):
            record = journal.query(number)
            policy = None if record is None or not record.policy else json.loads(record.policy)
            if policy is None:
                continue  # of a query that was interrupted it is not known
            aim = policy["aim"]
            yield None if aim is None else _aim(*aim), transitions


def _aim(form: str, event: str, when: Sequence[int], number: int) -> Aim:
    known = {one.name: one for one in (FAILURE, IMPOSSIBLE)}
    told = known.get(event) or Happening(event, Literal.parse(event))
    return Aim(form, told, tuple(when), number)


def _versions(run: RunFacts) -> Versions:
    source = run.meta.experience
    if source is None:
        raise RunError(f"{run.path} was not compared with a baseline; use `capscope compare`")
    with run.open_journal() as journal:
        known = {*journal.states_kept_in(CARRIED), *run.initial_positions.states}
    versions = Versions(source, known, run.identity.settings.expected)
    for aim, transitions in _queries(run):
        versions.add(transitions, aim)
    return versions


def _changes(run: RunFacts, versions: Versions) -> Iterator[AgentChange]:
    """Yield the differences, the clearest first; those in the same executions once."""
    told = [
        one
        for text, form in versions.forms.items()
        for one in form.distinct(own for (of, _), own in versions.shown.items() if of == text)
    ]
    found = [_described(run, versions, one, len(told)) for one in told]
    yield from sorted(found, key=lambda one: -one.score)


def _described(
    run: RunFacts, versions: Versions, change: EventEvidence, number: int
) -> AgentChange:
    """Describe one of some differences, under the condition that is found for it."""
    form, source = versions.forms[change.form], versions.experience
    event = _told(form, change)
    rows = form.executions(event)
    features = LiftedFeatures.of(
        source.vocabulary,
        [row.transition.before for row in rows],
        [source.intents[row.transition.capability].objects for row in rows],
    )
    did, times, new = (np.array(column) for column in zip(*(row[1:] for row in rows), strict=True))
    differing = {form.seen[i].transition for i in form.differing(change)}
    differs = new & np.array([row.transition in differing for row in rows])
    found = find_condition(
        features.where(new), (differs * times)[new], ERROR_CONDITIONS / number, draws=times[new]
    )
    when = () if found is None else found.when
    inside = features.holding(when)
    happened = ~did if event == FAILURE else did
    shown = [row.transition for row, own in zip(rows, inside & differs, strict=True) if own]
    more = change.more if event == change.event else event != FAILURE
    return AgentChange(
        change.form,
        str(event.change or "") or ("" if event == FAILURE else event.name),
        tuple(map(str, when)),
        _rate(happened, times, inside & ~new),
        _rate(happened, times, inside & new),
        change.score,
        _need(run, form, event.change, shown) if more else Need.UNDECIDED,
        shown[0] if change.more and shown else None,
    )


def _told(form: FormEvidence, change: EventEvidence) -> Happening:
    """Return what to tell of a difference: of outcomes held impossible, what they have in common.

    That is a change beyond the request that the baseline made least often, or that the request was
    not achieved.
    """
    if change.event != IMPOSSIBLE:
        return change.event
    rows = [form.seen[i].transition for i in form.differing(change)]

    def common(event: Happening) -> bool:
        return sum(form.outcome(event, row)[1] for row in rows) >= _COMMON * len(rows)

    def usual(event: Happening) -> float:
        hits, draws = form.of_baseline(event)
        return hits / max(draws, 1)

    changes = [one for one in form.events if one.change is not None and common(one)]
    if changes:
        return min(changes, key=usual)
    return FAILURE if common(FAILURE) else IMPOSSIBLE


def _rate(happened: Mask, times: Integers, among: Mask) -> Rate | None:
    number = int(times[among].sum())
    return Rate.single(int(times[among & happened].sum()), number) if number else None


def _need(
    run: RunFacts, form: FormEvidence, change: Literal | None, shown: Sequence[Transition]
) -> Need:
    """Return whether requests needed a new change, by the replays of executions that made it."""
    if change is None:
        return Need.UNDECIDED
    table, wanted = run.executions, set(shown)
    places = [i for i, one in enumerate(table.transitions()) if one in wanted]
    rows = np.flatnonzero(np.isin(table.transition, places)).tolist()
    effects = (form.change_of(change, one) for one in shown)
    return need_of(run.replays, set(rows), reduce(Effect.joined, effects, Effect(0, 0)))
