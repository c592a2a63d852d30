"""A plan that was tried, for people: how often it worked, what was predicted, and why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from capscope.analysis.planning import Trial
from capscope.analysis.planning.trial import TryEnd, Verdict
from capscope.present.plans import difference, wrapped
from capscope.present.text import counted
from capscope.sanitize import sanitize

_MOST_LINES = 6


def trial_lines(trial: Trial) -> Iterator[str]:
    """Write down what came of the tries."""
    for line in _lines(trial):
        yield sanitize(line)


def _lines(trial: Trial) -> Iterator[str]:
    number = len(trial.tries)
    yield f"tried {counted(number, 'time')}; none of this is recorded in the run"
    if not number:
        return
    low, high = trial.interval
    yield (
        f"reached the goal {trial.successes} times: "
        f"{trial.successes / number:.2f} [{low:.2f}, {high:.2f}]; {_judged(trial)}"
    )
    yield f"{trial.executions / number:.1f} executions on average"
    too_long = sum(one.end is TryEnd.TOO_LONG for one in trial.tries)
    if too_long:
        yield f"not done after {counted(trial.longest, 'execution')}: {counted(too_long, 'time')}"
    yield from _lost_lines(trial)
    yield from _unforeseen_lines(trial)


def _lost_lines(trial: Trial) -> Iterator[str]:
    lost = trial.lost_in.most_common()
    if not lost:
        return
    yield "came to where no way on is known, beside the start with"
    for state, count in lost[:_MOST_LINES]:
        beside = difference(trial.plan.start, state, trial.plan.goal.vocabulary)
        yield from wrapped(f"{count}×  {beside}", "  ")
    if len(lost) > _MOST_LINES:
        yield f"  and {counted(len(lost) - _MOST_LINES, 'other state')}"


def _judged(trial: Trial) -> str:
    predicted = f"{trial.predicted:.2f} was predicted"
    if abs(trial.predicted - trial.plan.success) >= 0.005:
        predicted += f" for {counted(trial.longest, 'execution')}"
    if trial.verdict is Verdict.AS_PREDICTED:
        return f"{predicted}, which agrees"
    few = "few" if trial.verdict is Verdict.LOWER else "many"
    return f"{predicted}: {trial.verdict} (so {few} by chance: p = {trial.tail:.2g})"


def _unforeseen_lines(trial: Trial) -> Iterator[str]:
    words = trial.plan.goal.vocabulary
    unforeseen = trial.unforeseen.most_common()
    if not unforeseen:
        return
    yield "what the model had not seen:"
    for move, count in unforeseen[:_MOST_LINES]:
        yield from wrapped(
            f"{count}×  asked for {move.capability} in {move.before:#x}: "
            f"{difference(move.before, move.after, words)} ({move.ending})",
            "  ",
        )
    if len(unforeseen) > _MOST_LINES:
        yield f"  and {counted(len(unforeseen) - _MOST_LINES, 'other outcome')}"


def trial_document(trial: Trial) -> dict[str, Any]:
    """Return what came of the tries as JSON-ready values."""
    words = trial.plan.goal.vocabulary
    number = len(trial.tries)
    return {
        "tries": number,
        "successes": trial.successes,
        "share": trial.successes / number if number else None,
        "interval": list(trial.interval) if number else None,
        "predicted": trial.predicted,
        "verdict": str(trial.verdict) if number else None,
        "p": trial.tail if number else None,
        "executions": trial.executions,
        "longest": trial.longest,
        "ends": {str(end): sum(one.end is end for one in trial.tries) for end in TryEnd},
        "lost_in": {hex(state): count for state, count in trial.lost_in.items()},
        "unforeseen": [
            {
                "state": hex(move.before),
                "ask_for": [str(literal) for literal in move.capability.literals],
                "after": hex(move.after),
                "changes": difference(move.before, move.after, words),
                "ending": str(move.ending),
                "count": count,
            }
            for move, count in trial.unforeseen.most_common()
        ],
    }
