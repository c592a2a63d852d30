"""The results in ten sentences, with numbers from the result files."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

from capscope_experiments.measured_numbers import (
    BASELINES,
    Measured,
    Ratio,
    strategy_of,
)

_LEVEL = 0.91
_FILTER = "filtered"
_CHOICES = ("random", "uniform", "mcqs-s", "mcqs-e", "adaptive")


def results_in_words(folder: Path) -> str:
    """Return the results as a numbered list of sentences."""
    measured = Measured(folder)
    sentences = (about(measured) or f"{title}: not measured." for title, about in _SENTENCES)
    return "\n".join(f"{place}. {text}" for place, text in enumerate(sentences, start=1))


def _printed(measured: Measured) -> str | None:
    problem, label = "first-responders", "mcqs-s, --paper"
    ratio = measured.ratio(problem, label, 0.99, _FILTER)
    steps = measured.needed(problem, label, 0.99, _FILTER, "simulator_steps")
    if ratio is None or steps is None:
        return None
    return (
        f"As printed, MCQS-S reaches 0.99 on first responders, with the paper's filter, after "
        f"{steps:,.0f} simulator steps: {ratio} fewer than Random Query, which the paper puts at "
        "18.1×."
    )


def _weak_baseline(measured: Measured) -> str | None:
    found = _each(
        measured, lambda p: measured.ratio(p, "random, --draws 1", _LEVEL, _FILTER, "executions")
    )
    if not found:
        return None
    return (
        "Most of that ratio is due to the baseline, which repeats each sequence 25 times: with one "
        f"draw, Random Query itself needs fewer executions for {_LEVEL:g}: {found}."
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


def _one_draw(measured: Measured) -> str | None:
    """Compare both defaults with Random Query of one draw, at the level that suits it best."""
    parts = [
        f"`{label}` needs more at {name} on {lost}"
        for label in ("mcqs-s", "mcqs-e")
        for name, levels in (("0.91 or 0.99", (0.91, 0.99)), ("0.5", (0.5,)))
        if (lost := _lost_to_one_draw(measured, label, levels))
    ]
    if not parts:
        return None
    return (
        "Default MCQS against Random Query with one draw, in executions, by agreement or with the "
        f"filter, whichever is worse (0.0×: only Random Query got there): {'; '.join(parts)}."
    )


def _lost_to_one_draw(measured: Measured, label: str, levels: tuple[float, ...]) -> str:
    """Say on how many problems a strategy needs more executions; empty if none is measured."""
    ratios = {
        problem: measured.least_ratio(problem, label, "random, --draws 1", levels)
        for problem in measured.problems
    }
    known = {problem: ratio for problem, ratio in ratios.items() if ratio is not None}
    below = {p: r for p, r in known.items() if r.value < 1 and not r.lower_bound}
    listed = f" ({_listed(below)})" if below else ""
    return f"{len(below)} of {len(known)} problems{listed}" if known else ""


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
    parts = []
    for problem in dict.fromkeys(row.get("problem", "") for row in measured.rows("reachability")):
        for label in ("mcqs-s, --paper", "mcqs-s", "adaptive"):
            share = measured.consistent(problem, label)
            if share is not None:
                parts.append(f"{problem} {share} ({_parted(label)})")
                break
    return (
        f"Sequences of five capabilities end as the model predicts: {'; '.join(parts)}."
        if parts
        else None
    )


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
    ("MCQS against Random Query with one draw", _one_draw),
    ("What the questions contribute", _questions),
    ("What the model contributes", _model),
    ("Agreement at the stop", _stop),
    ("The audit", _audits),
    ("Reachability", _reachability),
)
