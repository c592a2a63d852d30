"""The rules that judge claims of the paper by the numbers of the result files.

The runs with `--paper` decide; where there are none, those with the defaults do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from capscope_experiments.curve import CONSTANT
from capscope_experiments.measured_numbers import (
    NOT_MEASURED,
    Measured,
    Ratio,
    mean,
    shown,
)
from capscope_experiments.plan import ONE_DRAW
from capscope_experiments.plan import WITHOUT_BONUS as _WITHOUT
from capscope_experiments.result_rows import Row

FACTOR = 2.0
"""A ratio is reproduced if it is at least the paper's divided by this."""
POINTS = 0.05
"""A share is reproduced if it is at most this much below the paper's."""
_PAPER = ", --paper"
_FILTER = "filtered"
"""The weighting with the paper's filter."""
_BOTH = ("mcqs-s", "mcqs-e")
ABLATED = ("blocksworld", "tireworld", "first-responders")
_LEARNED = 0.98
"""The agreement that the paper's ablation reaches."""


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
        if ratio is not None and ratio.lower_bound:
            holds = holds or None  # Random Query was ended before it could decide
        size = "" if holds is not False or ratio is None else _missed(ratio.value)
        constant = measured.at_end(self.problem, CONSTANT, _FILTER) or 0.0
        known = f"The constant predictor has {constant:.2f}. " if constant >= self.level else ""
        why = f"{size}{known}{self.note}"
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
        literal, default = (
            measured.ratio_at_end(self.problem, self.strategy + mark, "random", _FILTER)
            for mark in (_PAPER, "")
        )
        ratio = default if literal is None else literal
        holds = None if ratio is None else ratio.value >= self.least
        why = f"Reproduced from {self.least:g}× on. {self.note}"
        return Judged(shown(literal), shown(default), verdict_of(holds, substitute=True), why)


def beats_baselines(measured: Measured) -> Judged:
    """Judge whether MCQS-S needs fewer executions than the best baseline on every problem."""

    def ratio(problem: str, label: str) -> Ratio | None:
        return measured.against_best(problem, label, 0.91, _FILTER)

    (literal, printed), (default, own) = (
        _wins(measured, f"mcqs-s{mark}", ratio, named="") for mark in (_PAPER, "")
    )
    why = (
        "Executions to 0.91 with the paper's filter, against the best of Random Query with 25, 3 "
        "and 1 draws and a uniformly drawn untried pair, as far as measured. The paper has only "
        "Random Query with 25 draws."
    )
    return Judged(literal, default, verdict_of(own if printed is None else printed), why)


def beats_one_draw(measured: Measured) -> Judged:
    """Judge whether MCQS never needs more executions than Random Query with one draw."""
    literal, default = (
        [_wins(measured, name + mark, partial(_to_one_draw, measured), name) for name in _BOTH]
        for mark in (_PAPER, "")
    )
    texts = ["; ".join(text for text, _ in parts) for parts in (literal, default)]
    known = [won for _, won in default if won is not None]
    why = (
        "Our own target. Executions to 0.91 and 0.99, by agreement or with the filter, whichever "
        "is worse (0.00×: only Random Query got there); where neither gets there, agreement after "
        "the same steps."
    )
    return Judged(texts[0], texts[1], verdict_of(all(known) if known else None), why)


def _wins(
    measured: Measured, label: str, ratio: Callable[[str, str], Ratio | None], named: str
) -> tuple[str, bool | None]:
    """Say on how many problems a strategy needs no more than a rival, and whether on all.

    With a name, the ratios of the other problems are shown.
    """
    found = {problem: ratio(problem, label) for problem in measured.problems}
    known = {problem: times for problem, times in found.items() if times is not None}
    lost = [f"{p} {times}" if named else p for p, times in known.items() if times.value < 1]
    if not known:
        return f"{named} {NOT_MEASURED}".strip(), None
    text = f"{named} {len(known) - len(lost)} of {len(known)} problems".strip()
    return text + (f", not {', '.join(lost)}" if lost else ""), not lost


def _to_one_draw(measured: Measured, problem: str, label: str) -> Ratio | None:
    found = measured.least_ratio(problem, label, ONE_DRAW, (0.91, 0.99))
    if found is None:
        both = (measured.ratio_at_end(problem, label, ONE_DRAW, w) for w in ("", _FILTER))
        found = min((r for r in both if r is not None), key=lambda r: r.value, default=None)
    return found


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


def learned_without_bonus(measured: Measured) -> Judged:
    """Judge whether problems are learned to 0.98 with ξ = 0, by the worse of both strategies."""
    literal, default = ([_worst_end(measured, p, mark) for p in ABLATED] for mark in (_PAPER, ""))
    pairs = zip(literal, default, strict=True)
    decisive = (end if printed is None else printed for printed, end in pairs)
    known = [end for end in decisive if end is not None]
    holds = all(end > _LEARNED for end in known) if known else None
    why = (
        "Blocksworld, tireworld, first responders; at the end, with the paper's filter; the worse "
        "of MCQS-S and MCQS-E."
    )
    return Judged(_ends(literal), _ends(default), verdict_of(holds), why)


def _worst_end(measured: Measured, problem: str, mark: str) -> float | None:
    labels = (f"{name}{mark}{_WITHOUT}" for name in _BOTH)
    ends = [measured.at_end(problem, label, _FILTER, "ablation") for label in labels]
    return min((end for end in ends if end is not None), default=None)


def _ends(ends: Sequence[float | None]) -> str:
    return ", ".join("–" if end is None else f"{end:.3f}" for end in ends)


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
    show: Callable[[Changes], str] | None = None
    """Words the changes, if they are not to be listed."""

    def __call__(self, measured: Measured) -> Judged:
        """Judge the changes with `--paper`, else those with the defaults."""
        literal, default = (self._changes(measured, mark) for mark in (_PAPER, ""))
        found = literal or default
        verdict = verdict_of(self.holds(found) if found else None)
        show = self.show or _listed
        printed, own = (show(found) if found else NOT_MEASURED for found in (literal, default))
        return Judged(printed, own, verdict, self.why)

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
    return measured.needed(problem, label, _LEARNED, _FILTER, "simulator_steps", "ablation")


def _listed(found: Changes) -> str:
    """List the changes of each strategy, in the order of the problems."""
    strategies = dict.fromkeys(name.rpartition(" ")[2] for name in found)
    parts = (
        f"{strategy} " + ", ".join(f"{found[key]:+.0%}" if key in found else "–" for key in keys)
        for strategy in strategies
        if (keys := [f"{problem} {strategy}" for problem in ABLATED])
    )
    return "; ".join(parts).replace("-", "−").replace("mcqs−", "mcqs-")


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
            for name in _BOTH
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
