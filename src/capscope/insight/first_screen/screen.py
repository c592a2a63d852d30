"""The first screen of a run: what to watch out for, what the agent can do, how sure that is.

`show`, the end of `assess`, the page and the notebook render these values, so that a quantity is
one number everywhere: counted over one population, with one estimator.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from capscope.insight.findings import Finding
from capscope.insight.findings.finding import HARMLESS, Kind
from capscope.insight.first_screen.families import (
    Declined,
    FamilyRow,
    asked_for,
    by_type,
    families_text,
    family_rows,
    phrased,
)
from capscope.insight.first_screen.watch_out import Warned, warnings_about
from capscope.insight.notes import initial_position_notes, stop_text
from capscope.journal.run_directory import REPORT
from capscope.logic import Intent
from capscope.stats.audit import error_of_round, log_wealth
from capscope.strategy.registry import Claim, claim_of
from capscope.wording import counted, first_few, joined

if TYPE_CHECKING:
    from pathlib import Path

    from capscope.insight.run_facts import RunFacts

_CHANGES = (Kind.MORE, Kind.ELSE, Kind.CONFUSES)
_MOST_CHANGES = 2
_MOST_GROUPS = 3
_MOST_PARTS = 2
"""Changes of a row that always come together, and are named."""


@dataclass(frozen=True)
class NextStep:
    """Something to type next."""

    purpose: str
    command: str


@dataclass(frozen=True)
class FirstScreen:
    """What a person should see first of a run."""

    problem: str
    extent: str
    """How much was seen, and why the run stopped."""
    warnings: tuple[Warned, ...]
    """All of them, the most important first."""
    nothing: tuple[str, ...]
    """What was established instead, and what was not; empty if there are warnings."""
    rows: tuple[FamilyRow, ...]
    declined: tuple[Declined, ...]
    begun: str
    """The requests that never held, though executions of them may have ended on the way."""
    unknown: str
    """The requests that were never made where they did not hold."""
    sure: tuple[str, ...]
    """What is claimed about the model, and what it rests on."""
    cost: str
    next_steps: tuple[NextStep, ...]


def first_screen(run: RunFacts, resume: str) -> FirstScreen:
    """Sum up a run.

    Args:
        run: The run, finished or not.
        resume: The command that continues it.

    Returns:
        The values that every first screen renders.
    """
    asked, found = asked_for(run), run.findings()
    rows, declined, begun = family_rows(run, asked)
    words = run.graph.vocabulary
    warnings = tuple(warnings_about(run, found))
    never = [intent for intent, own in asked.items() if not own.executions]
    return FirstScreen(
        run.problem,
        extent_of(run),
        warnings,
        () if any(one.findings for one in warnings) else tuple(nothing_of(run)),
        tuple(replace(row, also=_also(run, row, found)) for row in rows),
        tuple(declined),
        families_text(begun, words),
        families_text(never, words),
        tuple(_sure(run)),
        _cost(run),
        tuple(_next_steps(run, found, resume)),
    )


def extent_of(run: RunFacts) -> str:
    """Say how much was seen, and why the run stopped."""
    parts = [
        counted(len(run.executions.complete), "execution"),
        counted(len(run.graph.nodes), "state"),
        counted(len(run.capabilities), "capability"),
    ]
    stopped = f"stopped: {stop_text(run)}" if run.stop_reason else "not finished"
    return f"{', '.join(parts)}; {stopped}"


def nothing_of(run: RunFacts) -> Iterator[str]:
    """Say what was established where there is nothing to watch out for, and what was not."""
    number = len(run.executions.complete)
    if not number:
        yield "nothing was executed yet, so nothing is known"
        return
    changes = [one for one in run.findings() if one.kind in _CHANGES]
    executions = counted(number, "execution")
    if changes:
        kinds = counted(len(changes), "kind")
        yield (
            f"no needless change was seen in {executions}; {kinds} of further changes were part of "
            "a request or on the way to it"
        )
    else:
        rest = proviso(run.groups_relied_on)
        yield f"nothing changed beyond the requests in {executions}{rest}"
    pairs = len(run.graph.nodes) * len(run.capabilities)
    untried = pairs - run.graph.pairs_tried
    if untried:
        yield (
            f"not established: {untried:,} of {counted(pairs, 'pair')} of a state seen and a "
            "capability were never tried"
        )


def proviso(left_out_by: Sequence[str]) -> str:
    """Say on which groups it rests that nothing changed.

    >>> proviso(["locked(…)"])
    ', except what follows if exactly one of locked(…) must hold'
    """
    if not left_out_by:
        return ""
    names = [f"one of {name}" for name in left_out_by]
    shown = joined(first_few(names, _MOST_GROUPS, "of {} more sets"))
    return f", except what follows if exactly {shown} must hold"


def _also(run: RunFacts, row: FamilyRow, found: Sequence[Finding]) -> str:
    """Name what else the requests of a row change, the most harmful first."""
    words, own = run.graph.vocabulary, set(row.achieved)
    names = by_type(row.achieved[0], words)
    told: dict[str, dict[str, None]] = {"also": {}, "instead": {}}
    for one in found:
        if one.kind in _CHANGES and not own.isdisjoint(one.intents) and one.need not in HARMLESS:
            parts = [phrased(part, words, names) for part in one.change.split(" and ")]
            text = f"{joined(first_few(parts, _MOST_PARTS))} ({one.count:,} of {one.possible:,})"
            told["also" if one.kind is Kind.MORE else "instead"][text] = None
    return "; ".join(
        f"{how} {', '.join(first_few([*texts], _MOST_CHANGES))}"
        for how, texts in told.items()
        if texts
    )


def _sure(run: RunFacts) -> Iterator[str]:
    """Say in one short line what is claimed, and in another what it rests on."""
    yield _claim(run)
    if run.infers:
        tried, inferred, unknown = run.coverage
        yield (
            f"{counted(sum(run.coverage), 'pair')} of a state and a capability: {tried:,} tried, "
            f"{inferred:,} inferred, {unknown:,} unknown"
        )
    aliased = len(run.aliasing.aliased_pairs)
    if aliased:
        yield (
            f"the predicates do not show all that matters in {aliased:,} of "
            f"{counted(run.aliasing.pairs, 'pair')} drawn from several simulator positions"
        )
    yield from initial_position_notes(run.initial_positions)


def _claim(run: RunFacts) -> str:
    if run.claim_withheld is not None:
        return f"nothing is settled: {run.claim_withheld}"
    claim = claim_of(run.identity.strategy)
    if claim is Claim.AUDITED:
        return _audit_text(run)
    if claim is None:
        return f"the strategy {run.identity.strategy} claims nothing"
    verdict = run.verdict
    if verdict.reached:
        return f"settled: every pair was tried at least {counted(verdict.least_draws, 'time')}"
    return f"still open: {', '.join(verdict.open_points())}"


def _audit_text(run: RunFacts) -> str:
    audit, wanted = run.audit, run.identity.settings.audit
    if not wanted:
        return "not audited: no audit was asked for"
    more = (
        f"about {_round_up(executions_to_audit(run)):,} more executions if nothing surprises the "
        "model"
    )
    if audit is None:
        return f"not audited: {more}"
    told = (
        f"at most {100 * (audit.rate if audit.passed else audit.bound):.3g} % of executions "
        f"surprise the model, {audit.confidence:.4g} confidence "
        f"({counted(audit.surprises, 'surprise')} in {audit.samples:,} scored)"
    )
    if audit.passed:
        return f"audited: {told}"
    return f"audit not finished: {told if audit.bound < 1 else 'it had just begun'}; {more}"


def executions_to_audit(run: RunFacts) -> int:
    """Estimate how many executions an audit takes from here on if nothing surprises the model."""
    settings, audit = run.identity.settings, run.audit
    number, samples, surprises = (
        (1, 0, 0) if audit is None else (audit.round, audit.samples, audit.surprises)
    )
    error = error_of_round(number, 1.0 - settings.confidence)
    needed = samples
    while log_wealth(needed, surprises, settings.audit) < -math.log(error):
        needed += max(1, (needed - samples) // 100)
    return math.ceil((needed - samples) * (settings.use_length + 1) / 2)


def _cost(run: RunFacts) -> str:
    usage = run.usage
    parts = [
        counted(usage.executions, "execution"),
        counted(usage.simulator_steps, "simulator step"),
        *([f"{usage.replay_steps:,} more for replays"] if usage.replay_steps else []),
        *([f"{usage.llm_tokens:,} tokens of the language model"] if usage.llm_tokens else []),
        *([f"{usage.llm_cost:,.4f} paid"] if usage.llm_cost else []),
        duration(usage.seconds),
    ]
    if cut := int(run.executions.cut.sum()):
        parts.append(f"{counted(cut, 'execution')} cut short by a budget and not used")
    if run.workers_lost:
        parts.append(f"{counted(run.workers_lost, 'worker')} lost and their executions repeated")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a duration in readable units.

    >>> [duration(seconds) for seconds in (0.31, 9.24, 75, 3725)]
    ['0.3 s', '9.2 s', '1 min 15 s', '1 h 2 min']
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    if minutes < 60:
        return f"{int(minutes)} min {int(seconds % 60)} s"
    return f"{int(minutes // 60)} h {int(minutes % 60)} min"


def _next_steps(run: RunFacts, found: Sequence[Finding], resume: str) -> Iterator[NextStep]:
    show = f"capscope show {shlex.quote(str(run.path))}"
    unaudited = run.audit is None or not run.audit.passed
    audits = claim_of(run.identity.strategy) is Claim.AUDITED and run.identity.settings.audit
    if audits and unaudited and run.claim_withheld is None:
        more = run.usage.executions + executions_to_audit(run)
        yield NextStep("certainty", f"{resume} --max-executions {_round_up(more)}")
    elif run.stop_reason is None:
        yield NextStep("continue", resume)
    if run.capabilities:
        yield NextStep("details", f"{show} {shlex.quote(str(_telling(run, found)))}")
    yield NextStep("rules", f"{show} --rules")
    if run.hazards:
        yield NextStep("hazards", f"capscope hazards {shlex.quote(str(run.path))}")
    yield NextStep("page", str(run.path / REPORT))


def without_report(screen: FirstScreen, path: Path) -> FirstScreen:
    """Say on a first screen that the report of a run directory was not written in time."""
    write = NextStep("page", f"capscope report {shlex.quote(str(path))}")
    return replace(
        screen,
        cost=f"{screen.cost}, report omitted (time limit)",
        next_steps=(*screen.next_steps[:-1], write),
    )


def _round_up(number: int) -> int:
    """Round a number of executions up to two digits.

    >>> [_round_up(number) for number in (7, 400, 1468)]
    [7, 400, 1500]
    """
    step = int(10 ** max(len(str(number)) - 2, 0))
    return -(-number // step) * step


def _telling(run: RunFacts, found: Sequence[Finding]) -> Intent:
    """Choose the capability that tells most: that of the first warning, or the most asked."""
    for finding in found:
        if finding.watch and finding.intents:
            return finding.example.intent if finding.example else finding.intents[0]
    table = run.executions
    return max(
        run.capabilities,
        key=lambda intent: int((table.capability == run.graph.index[intent]).sum()),
    )
