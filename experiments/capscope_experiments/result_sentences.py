"""The results in ten sentences, with numbers from the result files."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

from capscope_experiments.measured_numbers import Measured, Ratio
from capscope_experiments.plan import BASELINES
from capscope_experiments.variant import strategy_of

_LEVEL = 0.91
_FILTER = "filtered"
_CLAIMED = ("minigrid-q", "first-responders", "crafter-steve:stochastic=yes")
"""The problems of the paper's claims about reachability."""
_CHOICES = ("random", "uniform", "mcqs-s", "mcqs-e", "adaptive")


def results_in_words(folder: Path) -> str:
    """Return the results as a numbered list of sentences."""
    measured = Measured(folder)
    sentences = (about(measured) or f"{title}: not measured." for title, about in _SENTENCES)
    return "\n".join(f"{place}. {text}" for place, text in enumerate(sentences, start=1))


def _printed(measured: Measured) -> str | None:
    problem, label = "first-responders", "mcqs-s, --paper"
    points = [run.first_at(0.99) for run in measured.curves(problem, label, _FILTER)]
    steps = [point.simulator_steps for point in points if point is not None]
    if not steps or len(steps) < len(points):
        return None
    return (
        "As printed, MCQS-S reaches 0.99 on first responders, with the paper's filter, after "
        f"{statistics.fmean(steps):,.0f} simulator steps ({min(steps):,.0f} to "
        f"{max(steps):,.0f} in {len(steps)} seeds)."
    )


def _weak_baseline(measured: Measured) -> str | None:
    found = _each(
        measured, lambda p: measured.ratio(p, "random, --draws 1", _LEVEL, _FILTER, "executions")
    )
    if not found:
        return None
    return (
        "Most of the paper's ratios are due to the baseline, which repeats each sequence 25 times: "
        f"with one draw, Random Query itself needs fewer executions for {_LEVEL:g}: {found}."
    )


def _best(label: str, title: str) -> Callable[[Measured], str | None]:
    def sentence(measured: Measured) -> str | None:
        ratios = {p: measured.against_best(p, label, _LEVEL, _FILTER) for p in measured.problems}
        known = {problem: ratio for problem, ratio in ratios.items() if ratio is not None}
        if not known:
            return None
        won = sum(ratio.value > 1 for ratio in known.values())
        baselines = sorted({_parted(b) for b in BASELINES if _has(measured, b)})
        return (
            f"{title} needs fewer executions to {_LEVEL:g} than the best baseline "
            f"({'; '.join(baselines)}) on {won} of {len(known)} problems: {_listed(known)}."
        )

    return sentence


def _parted(label: str) -> str:
    return label.replace(", --", " with --")


def _has(measured: Measured, label: str) -> bool:
    return any(measured.curves(problem, label) for problem in measured.problems)


def _starts(measured: Measured) -> str | None:
    """Say what searching more than one start pays, on problems that it was not chosen on."""
    parts = []
    for label in ("mcqs-s", "mcqs-e"):
        fewer = _each(measured, partial(_against_one_start, measured, label))
        if fewer:
            parts.append(f"`{label}` {fewer}")
    if not parts:
        return None
    return (
        "Searching up to five starts instead of one before a random query saves executions to "
        f"{_LEVEL:g} on problems that it was not chosen on: {'; '.join(parts)}."
    )


def _against_one_start(measured: Measured, label: str, problem: str) -> Ratio | None:
    return measured.ratio(problem, label, _LEVEL, _FILTER, "executions", f"{label}, --starts 1")


def _questions(measured: Measured) -> str | None:
    """Compare ways of choosing, all with the learned model."""
    parts = []
    for problem, ends in _choices(measured, "learned").items():
        shown = ", ".join(f"{name} {ends[name]:.3f}" for name in _CHOICES if name in ends)
        if len(ends) > 1:
            parts.append(f"{problem}: {shown}")
    if not parts:
        return None
    return f"What the questions contribute, with the same learned model: {'; '.join(parts)}."


def _model(measured: Measured) -> str | None:
    """Compare both models on the executions of random sequences."""
    tables, parts = _choices(measured, "table"), []
    for problem, ends in _choices(measured, "learned").items():
        table = tables.get(problem, {})
        name = next((n for n in _CHOICES if n in table and n in ends), None)
        if name is not None:
            parts.append(f"{problem} {table[name]:.3f} to {ends[name]:.3f} ({name})")
    if not parts:
        return None
    return (
        "What the model contributes, agreement of a table and of the learned model on the same "
        f"executions: {'; '.join(parts)}."
    )


def _choices(measured: Measured, model: str) -> dict[str, dict[str, float]]:
    """Return the mean agreement of each choice of executions with a model, problem by problem.

    They are those after the middle one of the numbers of executions that were scored.
    """
    rows = [row for row in measured.rows("choice") if row.get(f"{model}_agreement")]
    scored = sorted({int(row.get("executions") or 0) for row in rows})
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if int(row.get("executions") or 0) == scored[len(scored) // 2]:
            choices = found.setdefault(row.get("problem") or "", {})
            ends = choices.setdefault(strategy_of(row.get("strategy") or ""), [])
            ends.append(float(row[f"{model}_agreement"]))
    return {
        problem: {choice: statistics.fmean(ends) for choice, ends in choices.items()}
        for problem, choices in found.items()
    }


def _stop(measured: Measured) -> str | None:
    ends = []
    for label, title in (("mcqs-s, --paper", "as printed"), ("mcqs-s", "by default")):
        end = measured.at_end("first-responders", label, _FILTER)
        cut = any("budget" in r for r in measured.ended_by("first-responders", label))
        if end is not None:
            ends.append(f"{end:.4f} {title}{' (a budget ended it before)' if cut else ''}")
    if not ends:
        return None
    return (
        "When it stops by itself on first responders, MCQS-S has an agreement, with the paper's "
        f"filter, of {' and of '.join(ends)}."
    )


def _audits(measured: Measured) -> str | None:
    rows = measured.rows("efficiency-audits")
    passed = [row for row in rows if row.get("passed") == "True"]
    judged = [row for row in passed if row.get("rate") and row.get("audited")]
    true = sum(_first(row["rate"]) <= _first(row["audited"]) for row in judged)
    if not rows:
        return None
    return (
        f"The audit of adaptive passed in {len(passed)} of {len(rows)} runs, and its statement was "
        f"true in {true} of the {len(judged)} where the truth is known."
    )


def _first(cell: str) -> float:
    """Read a number, or the mean of those of runs that are known only together."""
    return float(cell.partition("±")[0])


def _reachability(measured: Measured) -> str | None:
    """Give the rates of the problems that the paper's claims are not about."""
    parts = []
    for problem in dict.fromkeys(row.get("problem", "") for row in measured.rows("reachability")):
        shares = (
            (measured.consistent(problem, label, routes), label)
            for label in ("mcqs-s, --paper", "mcqs-s", "adaptive")
            for routes in ("as printed", "")
        )
        share, label = next(((s, name) for s, name in shares if s is not None), (None, ""))
        if share is not None and problem not in _CLAIMED:
            parts.append(f"{problem} {share} ({_parted(label)})")
    if not parts:
        return None
    return f"Sequences of five capabilities end as the model predicts: {'; '.join(parts)}."


def _each(measured: Measured, ratio: Callable[[str], Ratio | None]) -> str:
    found = {problem: ratio(problem) for problem in measured.problems}
    return _listed({problem: value for problem, value in found.items() if value is not None})


def _listed(found: dict[str, Ratio]) -> str:
    return ", ".join(f"{problem} {ratio}" for problem, ratio in found.items())


_SENTENCES: tuple[tuple[str, Callable[[Measured], str | None]], ...] = (
    ("MCQS-S as printed on first responders", _printed),
    ("Random Query with one draw", _weak_baseline),
    ("Default MCQS-S against the best baseline", _best("mcqs-s", "Default MCQS-S")),
    ("Adaptive against the best baseline", _best("adaptive", "Adaptive")),
    ("Several starts", _starts),
    ("What the questions contribute", _questions),
    ("What the model contributes", _model),
    ("Agreement at the stop", _stop),
    ("The audit", _audits),
    ("Reachability", _reachability),
)
