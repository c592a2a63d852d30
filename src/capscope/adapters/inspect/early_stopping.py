"""Stop an evaluation as soon as its question is decided.

inspect asks before it starts a sample whether to leave it out, and tells when one is done. Quick
samples end first, and whether a sample is quick may depend on its score. So results count in the
order in which samples were planned, and a sample without a score yet counts against every decision:
as 0 against a high mean and as 1 against a low one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from capscope.adapters.inspect.logs import LoggedScores, numbers, read_scores, sample_content
from capscope.errors import CapscopeError
from capscope.stats.arrays import Floats
from capscope.stats.bounded_values import MeanTest
from capscope.stats.error_budget import ERROR_RATE
from capscope.stats.sequential_test import SequentialTest

if TYPE_CHECKING:
    from inspect_ai.util import EarlyStop


class StopWhenDecided:
    """An `EarlyStopping` of inspect: samples are left out once the question is decided.

    Its decision is in `decision` and, with the evidence, in the log's `results.early_stopping`.
    """

    def __init__(
        self,
        question: str,
        bounds: tuple[float, float],
        error_rate: float,
        scorer: str | None,
        baseline: LoggedScores | None = None,
    ) -> None:
        self.question = question
        self.decision: bool | None = None
        self._bounds, self._error_rate = bounds, error_rate
        self._scorer, self._baseline = scorer, baseline
        self._places: dict[str, int] = {}
        self._scores: Floats = np.empty((0, 0))
        self._before: Floats = np.empty(0)

    async def start_task(self, task: Any, samples: Sequence[Any], epochs: int) -> str:
        """Note the order of the samples."""
        if not (task.dataset.shuffled or task.config.sample_shuffle):
            raise CapscopeError(
                "the first samples stand for all of them only in a random order; shuffle the "
                "dataset, or evaluate with sample_shuffle=True"
            )
        ids = [str(sample.id) for sample in samples]
        if self._baseline is not None:
            assert self._scorer is not None
            known = self._baseline.samples
            contents = {str(sample.id): sample_content(sample) for sample in samples}
            ids = [id for id in ids if id in known and known[id].content == contents[id]]
            ids = [id for id in ids if self._scorer in known[id].scores]
            if not ids:
                raise CapscopeError("no sample has a score in the baseline; use the same dataset")
            self._before = np.array([known[id].scores[self._scorer] for id in ids])
        self._places = {id: place for place, id in enumerate(ids)}
        self._scores = np.full((len(ids), epochs), np.nan)
        self.decision = None
        return "capscope"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Leave a sample out if the question is decided."""
        if self.decision is None:
            return None
        from inspect_ai.util import EarlyStop

        return EarlyStop(id=id, epoch=epoch, reason=self._answer)

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, Any]) -> None:
        """Count a score, and see whether the question is decided."""
        place = self._places.get(str(id))
        if place is None or self.decision is not None or epoch > self._scores.shape[1]:
            return
        found = dict(pair for n, one in scores.items() for pair in numbers(n, one.score.value))
        names = list(found) if self._scorer is None else [self._scorer]
        if len(names) > 1:
            raise CapscopeError(f"name the score to decide by, one of {', '.join(names)}")
        if names and names[0] in found:
            value = found[names[0]]
            if not 0 <= value <= 1:
                raise CapscopeError(f"{names[0]} is {value:g}, not between 0 and 1")
            self._scores[place, epoch - 1] = value
            self._decide()

    async def complete_task(self) -> dict[str, Any]:
        """Return the decision and its evidence, for the log."""
        scored = self._scores[~np.isnan(self._scores)]
        return {
            "question": self.question,
            "decision": self._answer,
            "scored": len(scored),
            "planned": self._scores.size,
            "mean": float(scored.mean()) if len(scored) else None,
            "error_rate": self._error_rate,
        }

    @property
    def _answer(self) -> str:
        return {None: "undecided", True: "yes", False: "no"}[self.decision]

    def _decide(self) -> None:
        """Decide by the first epoch, by the first two and so on, with equal error rates."""
        epochs = self._scores.shape[1]
        for used in range(1, epochs + 1):
            some = self._scores[:, :used]
            seen = np.flatnonzero(~np.isnan(some[:, -1]))
            if not len(seen):
                break
            some = some[: seen[-1] + 1]
            least, most = (np.where(np.isnan(some), worst, some).mean(axis=1) for worst in (0, 1))
            rate = self._error_rate / epochs
            if self._first_verdict(least, rate) is True:
                self.decision = True
            elif self._first_verdict(most, rate) is False:
                self.decision = False

    def _first_verdict(self, scores: Floats, error_rate: float) -> bool | None:
        low, high = self._bounds
        if self._baseline is None:
            return SequentialTest(low, high, error_rate).first_verdict(scores)
        changes = scores - self._before[: len(scores)]
        return MeanTest((1 + low) / 2, (1 + high) / 2, error_rate).first_verdict((1 + changes) / 2)


def stop_when_decided(
    *,
    at_least: float | None = None,
    baseline: str | Path | None = None,
    margin: float = 0.05,
    error_rate: float = ERROR_RATE,
    scorer: str | None = None,
) -> StopWhenDecided:
    """Return an early stopping for a task of inspect, which ends when a question is decided.

    Give one of `at_least` and `baseline`. Between the two means that a question tells apart, either
    answer may come; beyond each, the wrong one has the error rate at most.

    Args:
        at_least: Is the mean score this high? It decides between `at_least` + `margin` and
            `at_least` - `margin`.
        baseline: An eval log. Is the mean score not worse? It decides between the score of the
            baseline and `margin` less, by the samples that are in both.
        margin: How close a mean may be.
        error_rate: The probability of a wrong answer, at most.
        scorer: The score that counts, if there are several.

    Returns:
        What `Task(early_stopping=…)` takes.
    """
    if (at_least is None) == (baseline is None):
        raise CapscopeError("give either at_least or baseline")
    if at_least is not None:
        bounds = at_least - margin, at_least + margin
        SequentialTest(*bounds, error_rate)  # raises if they are impossible
        question = f"a mean score of at least {at_least:g}, to within {margin:g}"
        return StopWhenDecided(question, bounds, error_rate, scorer)
    assert baseline is not None
    if not (0 < margin < 1 and 0 < error_rate < 0.5):
        raise CapscopeError("the margin must be between 0 and 1, the error rate below 0.5")
    log = read_scores(baseline)
    names = {name for sample in log.samples.values() for name in sample.scores}
    if scorer is None and len(names) != 1:
        raise CapscopeError(f"name the score to decide by, one of {', '.join(sorted(names))}")
    chosen = scorer or next(iter(names))
    if chosen not in names:
        raise CapscopeError(f"{baseline} has no score {chosen}; it has {', '.join(sorted(names))}")
    question = f"a mean {chosen} not worse than in {baseline}, to within {margin:g}"
    return StopWhenDecided(question, (-margin, 0.0), error_rate, chosen, log)
