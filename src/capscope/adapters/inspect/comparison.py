"""Compare two eval logs sample by sample: what changed, what did not, and what is undecided.

The mean difference of a score is bounded by bets (`stats/bounded_values.py`), overall and for each
group of samples. All intervals hold together with the stated confidence, so every sentence does:
half of the error rate is for the scores, half for their groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from capscope.adapters.inspect.logs import LoggedScores, read_scores
from capscope.errors import CapscopeError
from capscope.stats.arrays import Floats
from capscope.stats.beta import bisected
from capscope.stats.bounded_values import interval
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget
from capscope.wording import counted

_MOST_GROUPS = 12
_FEWEST_SAMPLES = 20
"""Of a group; fewer show nothing but a complete change."""
_TIMES = 1000.0
"""No more than that many times the samples are foreseen."""


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
    """How many more samples like these would decide; None if decided or if far too many."""


@dataclass(frozen=True)
class LogComparison:
    """What two eval logs show about each other."""

    baseline: str
    log: str
    samples: int
    """Samples in both."""
    left_out: Mapping[str, int]
    """Samples and scores that are not compared, by reason."""
    margin: float
    error_rate: float
    differences: tuple[ScoreChange, ...]
    """For each score the one of all samples, then those of its groups."""

    @property
    def verdict(self) -> str:
        """`changed` if anything did; otherwise what holds for all samples."""
        if any(one.verdict == "changed" for one in self.differences):
            return "changed"
        overall = [one for one in self.differences if not one.group]
        return "unchanged" if all(o.verdict == "unchanged" for o in overall) else "undecided"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the comparison as text."""
        yield f"{self.baseline} → {self.log}: {counted(self.samples, 'sample')} in both"
        for reason, number in self.left_out.items():
            yield f"  left out: {number:,} {reason}"
        for one in self.differences:
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
    baseline: str | Path,
    log: str | Path,
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
    before, after = read_scores(baseline), read_scores(log)
    ids, left_out = _in_both(before, after)
    groups = {"": ids} | _groups({id: before.samples[id].metadata for id in ids}, by)
    pairs: dict[tuple[str, str], Floats] = {}
    for name in dict.fromkeys(name for id in ids for name in before.samples[id].scores):
        scored = {
            id: (before.samples[id].scores[name], after.samples[id].scores[name])
            for id in ids
            if name in before.samples[id].scores and name in after.samples[id].scores
        }
        if not all(0 <= value <= 1 for pair in scored.values() for value in pair):
            left_out[f"with a {name} that is not between 0 and 1"] = len(scored)
            continue
        for group, members in groups.items():
            if some := [scored[id] for id in members if id in scored]:
                pairs[name, group] = np.array(some)
    if not pairs:
        raise CapscopeError(
            f"{baseline} and {log} have no score between 0 and 1 of the same sample in common; "
            "evaluate both on the same dataset, with an id for each sample"
        )
    grouped = sum(bool(group) for _, group in pairs)
    budget = ErrorBudget(error_rate, shares=1 + bool(grouped))
    # Each interval has two sides.
    threshold = budget.share("scores").threshold(2 * (len(pairs) - grouped))
    of_group = budget.share("groups").threshold(2 * grouped) if grouped else threshold
    differences = tuple(
        _difference(name, group, some, of_group if group else threshold, margin)
        for (name, group), some in pairs.items()
    )
    return LogComparison(
        str(baseline), str(log), len(ids), left_out, margin, error_rate, differences
    )


def _in_both(before: LoggedScores, after: LoggedScores) -> tuple[list[str], dict[str, int]]:
    """Return the ids of the samples that both logs have, and what is left out, by reason."""
    shared = [id for id in before.samples if id in after.samples]
    same = [id for id in shared if before.samples[id].content == after.samples[id].content]
    left_out = {
        "with another input or target": len(shared) - len(same),
        "in the baseline alone": len(before.samples) - len(shared),
        "in the other log alone": len(after.samples) - len(shared),
        "without a score in the baseline": before.without_score,
        "without a score in the other log": after.without_score,
    }
    return same, {reason: number for reason, number in left_out.items() if number}


def _groups(
    metadata: Mapping[str, Mapping[str, Any]], by: Sequence[str] | None
) -> dict[str, list[str]]:
    """Return the ids of the samples of each group; scores have no part in what is a group."""
    found: dict[str, list[str]] = {}
    keys = dict.fromkeys(key for one in metadata.values() for key in one) if by is None else by
    for key in keys:
        of_key: dict[str, list[str]] = {}
        for id, one in metadata.items():
            if isinstance(one.get(key), str | int | bool):
                of_key.setdefault(f"{key}={one[key]}", []).append(id)
        if by is not None and not of_key:
            raise CapscopeError(f"no sample has text, a whole number or a truth value as {key}")
        large = min(map(len, of_key.values()), default=0) >= _FEWEST_SAMPLES
        if by is not None or (2 <= len(of_key) <= _MOST_GROUPS and large):
            found |= of_key
    return found


def _difference(
    scorer: str, group: str, pairs: Floats, threshold: float, margin: float
) -> ScoreChange:
    before, after = pairs.T
    changes = after - before

    def bounds(times: float = 1.0) -> tuple[float, float]:
        low, high = interval((1 + changes) / 2, threshold, times)
        return 2 * low - 1, 2 * high - 1

    def undecided(times: float) -> bool:
        return _verdict(*bounds(times), margin) == "undecided"

    more = None
    if undecided(1.0) and not undecided(_TIMES):
        times = bisected(1.0, _TIMES, undecided, 20)[1]
        more = math.ceil((times - 1) * len(pairs))
    return ScoreChange(
        scorer, group, len(pairs), int((changes > 0).sum()), int((changes < 0).sum()),
        float(before.mean()), float(after.mean()), *bounds(), _verdict(*bounds(), margin), more,
    )  # fmt: skip


def _verdict(low: float, high: float, margin: float) -> str:
    if low > 0 or high < 0:
        return "changed"
    return "unchanged" if -margin < low and high < margin else "undecided"
