"""The rules that judge claims of the paper by the numbers of the result files.

The runs with `--paper` decide; where there are none, those with the defaults do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from capscope_experiments.measured_numbers import (
    NOT_MEASURED,
    Measured,
    Ratio,
    mean,
    shown,
)
from capscope_experiments.result_rows import Row

FACTOR = 2.0
"""A ratio is reproduced if it is at least the paper's divided by this."""
POINTS = 0.05
"""A share is reproduced if it is at most this much below the paper's."""
_PAPER = ", --paper"
_FILTER = "filtered"
"""The weighting with the paper's filter."""
_WITHOUT = ", --xi 0"
ABLATED = ("blocksworld", "tireworld", "first-responders")


class Verdict(StrEnum):
    """What became of a claim."""

    REPRODUCED = "reproduced"
    SUBSTITUTE = "reproduced on a substitute"
    CONTRADICTED = "contradicted"
    NOT_TESTABLE = "not testable here"
    NOT_MEASURED = NOT_MEASURED


@dataclass(frozen=True)
class Judged:
    """Our numbers for a claim, and what follows from them."""

    literal: str
    default: str
    verdict: Verdict
    why: str


def verdict_of(holds: bool | None, substitute: bool = False) -> Verdict:
    """Return the verdict on a claim that holds or not; None if there is nothing to judge it by."""
    if holds is None:
        return Verdict.NOT_MEASURED
    if not holds:
        return Verdict.CONTRADICTED
    return Verdict.SUBSTITUTE if substitute else Verdict.REPRODUCED


@dataclass(frozen=True)
class FewerSteps:
    """A strategy reaches a level with fewer simulator steps than Random Query, by a factor."""

    problem: str
    strategy: str
    level: float
    times: float
    note: str = ""
    """What is special here; of a substitute, what it stands in for."""
    substitute: bool = False

    def __call__(self, measured: Measured) -> Judged:
        """Compare the ratio with the paper's."""
        literal, default = (
            measured.ratio(self.problem, self.strategy + mark, self.level, _FILTER)
            for mark in (_PAPER, "")
        )
        ratio = default if literal is None else literal
        holds = None if ratio is None else ratio.value >= self.times / FACTOR
        size = "" if holds is not False or ratio is None else _missed(ratio.value)
        why = f"{size}{self.note}"
        return Judged(shown(literal), shown(default), verdict_of(holds, self.substitute), why)


def _missed(ratio: float) -> str:
    return "Fewer steps, but less than half the ratio. " if ratio > 1 else "No fewer steps. "


@dataclass(frozen=True)
class MoreAgreement:
    """A strategy has a multiple of the agreement of Random Query after the same steps."""

    problem: str
    strategy: str
    least: float
    note: str

    def __call__(self, measured: Measured) -> Judged:
        """Compare what was known at the end."""
        chance = measured.at_end(self.problem, "random", _FILTER)
        ends = [
            measured.at_end(self.problem, self.strategy + mark, _FILTER) for mark in (_PAPER, "")
        ]
        literal, default = (
            None if end is None or not chance else Ratio(end / chance) for end in ends
        )
        ratio = default if literal is None else literal
        holds = None if ratio is None else ratio.value >= self.least
        why = f"Reproduced from {self.least:g}× on. {self.note}"
        return Judged(shown(literal), shown(default), verdict_of(holds, substitute=True), why)


def beats_baselines(measured: Measured) -> Judged:
    """Judge whether MCQS-S needs fewer executions than the best baseline on every problem."""
    cells, holds = [], None
    for mark in (_PAPER, ""):
        found = {
            problem: measured.against_best(problem, f"mcqs-s{mark}", 0.91, _FILTER)
            for problem in measured.problems
        }
        known = {problem: ratio for problem, ratio in found.items() if ratio is not None}
        lost = [problem for problem, ratio in known.items() if ratio.value <= 1]
        cells.append(_wins(len(known) - len(lost), len(known), lost))
        if known and holds is None:
            holds = not lost
    why = (
        "Executions to 0.91 with the paper's filter, against the best of Random Query with 25, 3 "
        "and 1 draws and a uniformly drawn untried pair, as far as measured. The paper has only "
        "Random Query with 25 draws."
    )
    return Judged(cells[0], cells[1], verdict_of(holds), why)


def _wins(won: int, of: int, lost: list[str]) -> str:
    if not of:
        return NOT_MEASURED
    return f"{won} of {of} problems" + (f"; not {', '.join(lost)}" if lost else "")


@dataclass(frozen=True)
class QaceOutcome:
    """The outcome of QACE on a problem: a model, none in 50 hours, or not runnable."""

    problem: str
    outcome: str
    note: str = ""

    def __call__(self, measured: Measured) -> Judged:
        """Compare the outcome, compiled as in the paper, with the paper's."""
        rows = {
            row.get("conditions", ""): row
            for row in measured.rows("qace")
            if row.get("problem") == self.problem
        }
        literal, default = (_outcome(rows.get(name)) for name in ("compiled", "compiled further"))
        row = rows.get("compiled")
        if row is None:
            return Judged(literal, default, Verdict.NOT_MEASURED, self.note)
        reason = (row.get("reason") or "").partition(";")[0]
        if reason.startswith("budget") and self.outcome == "no model":
            why = f"Ours has no model either, but its budget is seconds, not 50 hours: {reason}."
            return Judged(literal, default, Verdict.NOT_TESTABLE, why)
        verdict = verdict_of(row.get("outcome") == self.outcome, self.problem == "minigrid-q")
        why = " ".join(part for part in (f"{reason}." if reason else "", self.note) if part)
        return Judged(literal, default, verdict, f"{why[:1].upper()}{why[1:]}")


def _outcome(row: Row | None) -> str:
    if row is None:
        return NOT_MEASURED
    agreement = row.get("agreement")
    return f"{row.get('outcome')}" + (f", agreement {float(agreement):.3f}" if agreement else "")


@dataclass(frozen=True)
class Quirk:
    """A property of one agent: a substitute can show it too, and cannot contradict it."""

    problems: tuple[str, ...]
    pattern: str
    """What the sentence of a finding must match."""
    note: str
    measurable: bool = True
    """Whether the agent, or a substitute for it, can be measured here."""

    def __call__(self, measured: Measured) -> Judged:
        """Look for a finding that says so."""
        rows = [row for row in measured.rows("findings") if row.get("problem") in self.problems]
        cells = {True: NOT_MEASURED, False: NOT_MEASURED}
        matched = False
        for row in rows:
            literal = _PAPER in (row.get("strategy") or "")
            hit = re.search(self.pattern, row.get("finding") or "")
            if hit is not None and not matched:
                cells[literal], matched = _probability(row), True
            elif cells[literal] == NOT_MEASURED:
                cells[literal] = "no such finding"
        verdict = Verdict.SUBSTITUTE if matched else Verdict.NOT_TESTABLE
        if not rows and self.measurable:
            verdict = Verdict.NOT_MEASURED
        return Judged(cells[True], cells[False], verdict, self.note)


def _probability(row: Row) -> str:
    found = re.search(r"probability (\d\.\d+)", row.get("finding") or "")
    seen = f"in {row.get('seen in')} of {row.get('runs')} runs"
    return f"{found.group(1)}, {seen}" if found else seen


@dataclass(frozen=True)
class Reaches:
    """A share of the executed sequences of five capabilities is consistent with the model."""

    problem: str
    share: float
    note: str = ""
    substitute: bool = True

    def __call__(self, measured: Measured) -> Judged:
        """Compare the share with the paper's."""
        default, other = (
            measured.consistent(self.problem, label) for label in ("mcqs-s", "adaptive")
        )
        printed = (
            measured.consistent(self.problem, label, routes)
            for label, routes in (
                *((f"mcqs-s{_PAPER}", "as printed"), ("mcqs-s", "as printed")),
                (f"mcqs-s{_PAPER}", ""),
            )
        )
        literal = next((share for share in printed if share is not None), None)
        share = default if literal is None else literal
        holds = None if share is None else share.mean >= self.share - POINTS
        shown_default = shown(default)
        if default is None and other is not None:
            shown_default = f"{NOT_MEASURED} (adaptive: {other})"
        why = f"Reproduced from {self.share - POINTS:.0%} on. {self.note}"
        return Judged(shown(literal), shown_default, verdict_of(holds, self.substitute), why)


@dataclass(frozen=True)
class WithoutBonus:
    """With ξ = 0, a problem is learned to an agreement above 0.98."""

    problem: str
    least: float = 0.98

    def __call__(self, measured: Measured) -> Judged:
        """Take the agreement at the end, with the paper's filter, of the worse variant."""
        cells: list[float | None] = []
        for mark in (_PAPER, ""):
            ends = [
                measured.at_end(self.problem, f"{name}{mark}{_WITHOUT}", _FILTER, "ablation")
                for name in ("mcqs-s", "mcqs-e")
            ]
            known = [end for end in ends if end is not None]
            cells.append(min(known) if known else None)
        worst = cells[1] if cells[0] is None else cells[0]
        holds = None if worst is None else worst > self.least
        texts = [NOT_MEASURED if end is None else f"{end:.4f}" for end in cells]
        why = "At the end, with the paper's filter; the worse of MCQS-S and MCQS-E."
        return Judged(texts[0], texts[1], verdict_of(holds), why)


Changes = Mapping[str, float]
"""The relative change of a cost by ξ, for each problem and strategy."""


@dataclass(frozen=True)
class BonusEffect:
    """What ξ changes, over the problems of the ablation."""

    strategies: tuple[str, ...]
    cost: Callable[[Measured, str, str], float | None]
    """The cost of a strategy on a problem."""
    holds: Callable[[Changes], bool]
    why: str

    def __call__(self, measured: Measured) -> Judged:
        """Judge the changes with `--paper`, else those with the defaults."""
        literal, default = (self._changes(measured, mark) for mark in (_PAPER, ""))
        found = literal or default
        verdict = verdict_of(self.holds(found) if found else None)
        return Judged(_listed(literal), _listed(default), verdict, self.why)

    def _changes(self, measured: Measured, mark: str) -> Changes:
        changes = {}
        for problem in ABLATED:
            for name in self.strategies:
                label = name + mark
                own = self.cost(measured, problem, label)
                without = self.cost(measured, problem, label + _WITHOUT)
                if own is not None and without:
                    changes[f"{problem} {name}"] = own / without - 1
        return changes


def steps_to_stop(measured: Measured, problem: str, label: str) -> float | None:
    """Return the mean steps until runs stopped by themselves; None if a budget ended one."""
    reasons = measured.ended_by(problem, label, "ablation")
    if not reasons or any("budget" in reason for reason in reasons):
        return None
    return mean(r.last.simulator_steps for r in measured.curves(problem, label, name="ablation"))


def steps_to_level(measured: Measured, problem: str, label: str) -> float | None:
    """Return the mean steps until an agreement of 0.98."""
    return measured.needed(problem, label, 0.98, _FILTER, "simulator_steps", "ablation")


def _listed(found: Changes) -> str:
    return ", ".join(f"{name} {change:+.0%}" for name, change in found.items()) or NOT_MEASURED


@dataclass(frozen=True)
class RunTime:
    """A run of a strategy takes at most a number of hours."""

    problems: tuple[str, ...]
    hours: float

    def __call__(self, measured: Measured) -> Judged:
        """Take the slowest of both strategies, if it stopped by itself."""
        cells = [self._longest(measured, mark) for mark in (_PAPER, "")]
        hours = cells[1] if cells[0] is None else cells[0]
        holds = None if hours is None else hours <= self.hours
        texts = [NOT_MEASURED if cell is None else f"{60 * cell:,.1f} min" for cell in cells]
        why = "The slower of MCQS-S and MCQS-E, of runs that no budget ended."
        if holds is None and any(measured.ended_by(problem, "mcqs-s") for problem in self.problems):
            why = "A budget ended our runs, so their time says nothing."
            return Judged(texts[0], texts[1], Verdict.NOT_TESTABLE, why)
        return Judged(texts[0], texts[1], verdict_of(holds), why)

    def _longest(self, measured: Measured, mark: str) -> float | None:
        seconds = [
            mean(run.last.seconds for run in measured.curves(problem, name + mark))
            for problem in self.problems
            for name in ("mcqs-s", "mcqs-e")
            if not any("budget" in reason for reason in measured.ended_by(problem, name + mark))
        ]
        known = [value for value in seconds if value is not None]
        return max(known) / 3600 if known else None


@dataclass(frozen=True)
class NotTestable:
    """Nothing here can show it."""

    why: str

    def __call__(self, measured: Measured) -> Judged:
        """Say why."""
        return Judged("–", "–", Verdict.NOT_TESTABLE, self.why)
