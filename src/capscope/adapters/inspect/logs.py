"""The scores in an eval log, sample by sample."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capscope.errors import CapscopeError, install_hint

_KEPT = 5000
"""Characters of an input or target; summaries of inspect have a few more."""
_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


@dataclass(frozen=True)
class LoggedSample:
    """A sample, and the mean over its epochs of each score."""

    content: str
    """Input and target."""
    metadata: Mapping[str, Any]
    scores: Mapping[str, float]


@dataclass(frozen=True)
class LoggedScores:
    """The scores of an eval log."""

    path: str
    samples: Mapping[str, LoggedSample]
    """By id; those with a score."""
    without_score: int
    """Samples of which no epoch has a score, because of an error for example."""


def read_scores(path: str | Path) -> LoggedScores:
    """Read the scores of an eval log.

    Args:
        path: A file that inspect wrote, `.eval` or `.json`.

    Returns:
        The scores by sample.
    """
    try:
        from inspect_ai.log import read_eval_log_sample_summaries
    except ImportError as error:
        raise CapscopeError(f"eval logs need an extra: {install_hint('inspect')}") from error
    try:
        summaries = read_eval_log_sample_summaries(str(path))
    except Exception as error:  # many kinds: of files, archives, JSON and models
        raise CapscopeError(f"{path} cannot be read as an eval log: {error}") from error
    values: dict[str, dict[str, list[float]]] = {}
    known: dict[str, Any] = {}
    for summary in summaries:
        known.setdefault(str(summary.id), summary)
        mine = values.setdefault(str(summary.id), {})
        for name, score in (summary.scores or {}).items():
            for part, value in numbers(name, score.value):
                mine.setdefault(part, []).append(value)
    samples = {
        id: LoggedSample(
            sample_content(known[id]),
            known[id].metadata,
            {name: sum(several) / len(several) for name, several in scores.items()},
        )
        for id, scores in values.items()
        if scores
    }
    return LoggedScores(str(path), samples, len(values) - len(samples))


def sample_content(sample: Any) -> str:
    """Return input and target of a sample or a summary, as far as summaries have them."""
    given, target = sample.input, sample.target
    texts = [given] if isinstance(given, str) else [message.text for message in given]
    targets = [target] if isinstance(target, str) else target
    return json.dumps([[text[:_KEPT] for text in some] for some in (texts, targets)])


def numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Yield the numbers of a score, with their names; nothing for a value that is not a number.

    >>> list(numbers("match", "C")), list(numbers("f1", {"strict": 0.5, "note": "late"}))
    ([('match', 1.0)], [('f1.strict', 0.5)])
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from numbers(f"{name}.{key}", part)
    elif isinstance(value, bool | int | float):
        if math.isfinite(value):
            yield name, float(value)
    elif isinstance(value, str):
        known = _LETTERS.get(value, _WORDS.get(value.lower()))
        if known is not None:
            yield name, known
