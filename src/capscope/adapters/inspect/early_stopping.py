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
    """An early stopping for a task of inspect: samples are left out once a question is decided.

    The decision and its evidence are in the log's `results.early_stopping`. Between the two means
    that a question tells apart, either answer may come; beyond each, the wrong one has the error
    rate at most. Give one of `at_least` and `baseline`.

    Args:
        at_least: Is the mean score this high? It decides between `at_least` + `margin` and
            `at_least` - `margin`.
        baseline: An eval log. Is the mean score not worse? It decides between the score of the
            baseline and `margin` less, by the samples that are in both.
        margin: How close a mean may be.
        error_rate: The probability of a wrong answer, at most.
        scorer: The score that counts, if there are several.
    """

    def __init__(
        self,
        *,
        at_least: float | None = None,
        baseline: str | Path | LoggedScores | None = None,
        margin: float = 0.05,
        error_rate: float = ERROR_RATE,
        scorer: str | None = None,
    ) -> None:
        if (at_least is None) == (baseline is None):
            raise CapscopeError("give either at_least or baseline")
        if not (0 < margin < 0.5 and 0 < error_rate < 0.5):
            raise CapscopeError("the margin and the error rate must be between 0 and 0.5")
        self.decision: bool | None = None
        self._margin, self._error_rate, self._scorer = margin, error_rate, scorer
        self._at_least, self._baseline = at_least, None
        if at_least is not None:
            SequentialTest(at_least - margin, at_least + margin, error_rate)  # raises if impossible
            self.question = f"a mean score of at least {at_least:g}, to within {margin:g}"
        elif baseline is not None:
            log = baseline if isinstance(baseline, LoggedScores) else read_scores(baseline)
            self._baseline = log
            self._scorer = _the_one(
                sorted({name for one in log.samples.values() for name in one.scores}), scorer
            )
            self.question = f"a mean {self._scorer} not worse than in {log.path}, by {margin:g}"
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
        contents = {str(sample.id): sample_content(sample) for sample in samples}
        if self._baseline is not None:
            known = {
                id: one.scores[str(self._scorer)]
                for id, one in self._baseline.samples.items()
                if contents.get(id) == one.content and self._scorer in one.scores
            }
            contents = {id: content for id, content in contents.items() if id in known}
            if not contents:
                raise CapscopeError("no sample has a score in the baseline; use the same dataset")
            self._before = np.array([known[id] for id in contents])
        self._places = {id: place for place, id in enumerate(contents)}
        self._scores = np.full((len(contents), epochs), np.nan)
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
        found = dict(pair for n, one in scores.items() for pair in numbers(n, one.score.value))
        place = self._places.get(str(id))
        planned = place is not None and epoch <= self._scores.shape[1]
        if not (planned and found) or self.decision is not None:
            return
        name = _the_one(sorted(found), self._scorer)
        if not 0 <= found[name] <= 1:
            raise CapscopeError(f"{name} is {found[name]:g}, not between 0 and 1")
        self._scores[place, epoch - 1] = found[name]
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
        for used in range(1, self._scores.shape[1] + 1):
            some = self._scores[:, :used]
            seen = np.flatnonzero(~np.isnan(some[:, -1]))
            some = some[: seen[-1] + 1] if len(seen) else some[:0]
            least, most = (np.where(np.isnan(some), worst, some).mean(axis=1) for worst in (0, 1))
            if self._first_verdict(least) is True:
                self.decision = True
            elif self._first_verdict(most) is False:
                self.decision = False

    def _first_verdict(self, scores: Floats) -> bool | None:
        rate, margin = self._error_rate / self._scores.shape[1], self._margin
        if self._at_least is not None:
            test = SequentialTest(self._at_least - margin, self._at_least + margin, rate)
            return test.first_verdict(scores)
        changes = scores - self._before[: len(scores)]
        return MeanTest((1 - margin) / 2, 0.5, rate).first_verdict((1 + changes) / 2)


def _the_one(names: Sequence[str], chosen: str | None) -> str:
    """Return the score that was chosen, or the only one."""
    if chosen in names or (chosen is None and len(names) == 1):
        return chosen or names[0]
    raise CapscopeError(f"name the score to decide by with `scorer`, one of {', '.join(names)}")
