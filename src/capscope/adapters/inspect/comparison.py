"""Compare two eval logs sample by sample: what changed, what did not, and what is undecided.

The mean change of a score is bounded by bets (`stats/bounded_values.py`), overall and for each
group of samples. All intervals hold together with the stated confidence, so every sentence does:
half of the error rate is for the scores, half for their groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capscope.adapters.inspect.logs import LoggedSample, LoggedScores, read_scores
from capscope.errors import CapscopeError
from capscope.stats.arrays import Floats
from capscope.stats.beta import bisected
from capscope.stats.bounded_values import interval, log_score
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget
from capscope.wording import counted

_MOST_GROUPS = 12
_FEWEST_SAMPLES = 20
"""Of a group; fewer show nothing but a complete change."""
_TIMES = 1000.0
"""How many times the samples are foreseen at most."""
Pairs = Mapping[str, tuple[LoggedSample, LoggedSample]]
"""The same sample in both logs, by id."""


@dataclass(frozen=True)
class ScoreChange:
    """The change of a score from one log to another."""

    scorer: str
    group: str
    """Such as `level=hard`; empty for all samples."""
    samples: int
    better: int
    worse: int
    before: float
    after: float
    low: float
    high: float
    """Bounds on the change of the mean."""
    verdict: str
    """`changed`, `unchanged` (to within the margin) or `undecided`."""
    more_samples: int | None
    """How many more samples like these would decide; None if decided, or if far too many."""


@dataclass(frozen=True)
class LogComparison:
    """What two eval logs show about each other."""

    baseline: str
    log: str
    samples: int
    """Samples in both."""
    left_out: Mapping[str, int]
    """Samples that are not compared, by reason."""
    margin: float
    error_rate: float
    changes: tuple[ScoreChange, ...]
    """For each score that of all samples, then those of its groups."""

    @property
    def verdict(self) -> str:
        """`changed` if anything did; otherwise what holds for all samples."""
        if any(one.verdict == "changed" for one in self.changes):
            return "changed"
        overall = [one.verdict for one in self.changes if not one.group]
        return "undecided" if "undecided" in overall else "unchanged"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the comparison as text."""
        yield f"{self.baseline} → {self.log}: {counted(self.samples, 'sample')} in both"
        yield from (f"  left out: {n:,} {reason}" for reason, n in self.left_out.items())
        for one in self.changes:
            indent, name = ("  ", one.group) if one.group else ("", one.scorer)
            within = f" to within {self.margin:g}" if one.verdict == "unchanged" else ""
            yield (
                f"{indent}{name}: {one.verdict}{within}, {one.before:.3f} → {one.after:.3f}, by "
                f"{one.after - one.before:+.3f} [{one.low:+.3f}, {one.high:+.3f}]; better in "
                f"{one.better} and worse in {one.worse} of {counted(one.samples, 'sample')}"
            )
            if one.more_samples is not None:
                yield f"{indent}  about {one.more_samples:,} more samples like these would decide"
        yield f"probability of any false statement: {self.error_rate:.0%} at most"


def compare_logs(
    baseline: str | Path | LoggedScores,
    log: str | Path | LoggedScores,
    *,
    margin: float = 0.05,
    by: Sequence[str] | None = None,
    error_rate: float = ERROR_RATE,
) -> LogComparison:
    """Compare the scores of two eval logs by the samples that are in both.

    Args:
        baseline: The earlier log, a file that inspect wrote.
        log: The later one.
        margin: A change of a mean score by less than this is none.
        by: The metadata of samples that make groups; default: all with up to 12 values, of which
            each has 20 samples.
        error_rate: The probability of any false statement, at most.

    Returns:
        The comparison; printing it shows it as text.
    """
    if not 0 < margin < 1:
        raise CapscopeError(f"the margin must be between 0 and 1, not {margin}")
    before, after = (
        one if isinstance(one, LoggedScores) else read_scores(one) for one in (baseline, log)
    )
    pairs, left_out = _in_both(before, after)
    values: dict[tuple[str, str], Floats] = {}
    groups = {"": [*pairs], **_groups(pairs, by)}
    for name in dict.fromkeys(name for one, _ in pairs.values() for name in one.scores):
        scored = {
            id: (one.scores[name], other.scores[name])
            for id, (one, other) in pairs.items()
            if name in one.scores and name in other.scores
        }
        if all(0 <= value <= 1 for pair in scored.values() for value in pair):
            for group, members in groups.items():
                if some := [scored[id] for id in members if id in scored]:
                    values[name, group] = np.array(some)
        else:
            left_out[f"with a {name} that is not between 0 and 1"] = len(scored)
    if not values:
        raise CapscopeError(
            f"{before.path} and {after.path} have no score between 0 and 1 of the same sample in "
            "common; evaluate both on the same dataset, with an id for each sample"
        )
    grouped = sum(bool(group) for _, group in values)
    budget = ErrorBudget(error_rate, shares=1 + bool(grouped))
    # Each interval has two sides.
    threshold = budget.share("scores").threshold(2 * (len(values) - grouped))
    of_group = budget.share("groups").threshold(2 * grouped) if grouped else threshold
    changes = tuple(
        score_change(*of, some, of_group if of[1] else threshold, margin)
        for of, some in values.items()
    )
    return LogComparison(before.path, after.path, len(pairs), left_out, margin, error_rate, changes)


def _in_both(before: LoggedScores, after: LoggedScores) -> tuple[Pairs, dict[str, int]]:
    """Return the samples that both logs have, and how many are left out, by reason."""
    shared = [id for id in before.samples if id in after.samples]
    pairs = {id: (before.samples[id], after.samples[id]) for id in shared}
    same = {id: pair for id, pair in pairs.items() if pair[0].content == pair[1].content}
    left_out = {
        "with another input or target": len(shared) - len(same),
        "in the baseline alone": len(before.samples) - len(shared),
        "in the other log alone": len(after.samples) - len(shared),
        "without a score in the baseline": before.without_score,
        "without a score in the other log": after.without_score,
    }
    return same, {reason: number for reason, number in left_out.items() if number}


def _groups(pairs: Pairs, by: Sequence[str] | None) -> dict[str, list[str]]:
    """Return the ids of the samples of each group; scores have no part in what is a group."""
    found: dict[str, list[str]] = {}
    for key in dict.fromkeys(k for one, _ in pairs.values() for k in one.metadata):
        of_key: dict[str, list[str]] = {}
        for id, (one, _) in pairs.items():
            if isinstance(one.metadata.get(key), str | int | bool):
                of_key.setdefault(f"{key}={one.metadata[key]}", []).append(id)
        large = min(map(len, of_key.values()), default=0) >= _FEWEST_SAMPLES
        if key in by if by is not None else 2 <= len(of_key) <= _MOST_GROUPS and large:
            found |= of_key
    if missing := [key for key in by or () if not any(g.startswith(f"{key}=") for g in found)]:
        raise CapscopeError(f"no sample has a text, number or truth value as {missing[0]}")
    return found


def score_change(
    scorer: str, group: str, pairs: Floats, threshold: float, margin: float
) -> ScoreChange:
    """Judge the scores of samples before and after, by a threshold for each side."""
    before, after = pairs.T
    changes = after - before
    values, narrow = (1 + changes) / 2, (1 - margin) / 2

    def verdict(times: float) -> str:
        def shown(bound: float) -> list[bool]:
            # Above the bound, and below its negative.
            return [log_score(v, bound, times) >= threshold for v in (values, 1 - values)]

        if any(shown(0.5)):
            return "changed"
        return "unchanged" if all(shown(narrow)) else "undecided"

    low, high = interval(values, threshold)
    more = None
    if verdict(1.0) == "undecided" != verdict(_TIMES):
        times = bisected(1.0, _TIMES, lambda times: verdict(times) == "undecided", 20)[1]
        more = math.ceil((times - 1) * len(pairs))
    return ScoreChange(
        scorer, group, len(pairs), int((changes > 0).sum()), int((changes < 0).sum()),
        float(before.mean()), float(after.mean()), 2 * low - 1, 2 * high - 1,
        verdict(1.0), more,
    )  # fmt: skip
