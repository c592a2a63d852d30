"""How many samples does an evaluation need that stops when it is decided?

Ten simulated tasks of inspect_ai: five ask whether a score reaches a threshold, five whether an
agent is not worse than a baseline. The real early stopping is told of samples as inspect tells it:
several run at a time, and right answers take half as long as wrong ones. Beside it stands the
usual test with the fewest samples that keep the same error rate of 5 % for either answer; of
comparisons it is told the true variance. No constant was chosen on these tasks.

    python -m capscope_experiments.benchmarks.early_stopping
"""

import asyncio
import heapq
import math
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator

from capscope.adapters.inspect.early_stopping import StopWhenDecided
from capscope.adapters.inspect.logs import LoggedSample, LoggedScores, sample_content
from capscope.stats.arrays import Floats

T = TypeVar("T")
ERROR_RATE = 0.05
IN_FLIGHT = 10
_Z = NormalDist().inv_cdf(1 - ERROR_RATE)
_DATASETS = 2
"""The datasets have that many times the samples of the usual test."""


@dataclass(frozen=True)
class Threshold:
    """Is the accuracy at least this, to within a margin?"""

    at_least: float
    margin: float
    accuracy: float

    @property
    def bounds(self) -> tuple[float, float]:
        return self.at_least - self.margin, self.at_least + self.margin

    @property
    def answer(self) -> bool:
        return self.accuracy >= self.at_least

    def usual(self) -> tuple[int, float]:
        """Return the samples of the exact test, and the hits from which the answer is yes."""
        low, high = self.bounds
        for samples in range(5, 10_000):
            tails = 1 - _cumulated(samples, low), _cumulated(samples, high)
            hits = int(np.argmax(tails[0] <= ERROR_RATE)) + 1
            if tails[1][hits - 1] <= ERROR_RATE:
                return samples, hits
        raise ValueError(self)

    def draw(self, rng: Generator, size: int) -> tuple[None, Floats]:
        return None, (rng.random(size) < self.accuracy).astype(float)


def _cumulated(samples: int, probability: float) -> Floats:
    """Return the probability of at most k hits, for k = 0, 1, …"""
    k = np.arange(samples + 1)
    logs = np.cumsum(np.log(np.maximum(k, 1)))
    chosen = logs[-1] - logs - logs[::-1]
    each = chosen + k * math.log(probability) + (samples - k) * math.log(1 - probability)
    total: Floats = np.cumsum(np.exp(each))
    return total


@dataclass(frozen=True)
class Baseline:
    """Is the agent not worse than a baseline, to within a margin?

    The difficulties of samples have a beta distribution; a change moves all of them alike.
    """

    accuracy: float
    spread: float
    margin: float
    change: float

    @property
    def answer(self) -> bool:
        return self.change >= 0

    def usual(self) -> tuple[int, float]:
        """Return the samples of a paired z test, and the mean from which the answer is yes."""
        again = self.accuracy + (1 - self.accuracy) / (1 + self.spread)
        variance = 2 * self.accuracy * (1 - again)
        return math.ceil((2 * _Z / self.margin) ** 2 * variance), -self.margin / 2

    def draw(self, rng: Generator, size: int) -> tuple[Floats, Floats]:
        right = self.accuracy * self.spread, (1 - self.accuracy) * self.spread
        before = rng.beta(*right, size)
        if self.change >= 0:
            after = before + (1 - before) * self.change / (1 - self.accuracy)
        else:
            after = before * (1 + self.change / self.accuracy)
        baseline, scores = (rng.random(size) < p for p in (before, after))
        return baseline.astype(float), scores.astype(float)


TASKS: list[Threshold | Baseline] = [
    Threshold(0.7, 0.05, 0.85),
    Threshold(0.6, 0.05, 0.66),
    Threshold(0.9, 0.04, 0.8),
    Threshold(0.5, 0.05, 0.44),
    Threshold(0.8, 0.05, 0.75),
    Baseline(0.75, 1.0, 0.05, 0.04),
    Baseline(0.55, 1.5, 0.06, -0.12),
    Baseline(0.85, 2.0, 0.04, -0.08),
    Baseline(0.65, 1.0, 0.05, 0.0),
    Baseline(0.4, 0.7, 0.06, 0.1),
]


def stopped(
    task: Threshold | Baseline,
    baseline: Floats | None,
    scores: Floats,
    rng: Generator,
    in_flight: int,
) -> tuple[bool | None, int]:
    """Return the decision of the early stopping, and how many samples were started."""
    samples = [
        SimpleNamespace(id=n, input=f"question {n}", target="yes") for n in range(len(scores))
    ]
    given: dict[str, Any] = {"error_rate": ERROR_RATE, "margin": task.margin, "scorer": "right"}
    if isinstance(task, Threshold):
        hook = StopWhenDecided(at_least=task.at_least, **given)
    else:
        assert baseline is not None
        logged = {
            str(s.id): LoggedSample(sample_content(s), {}, {"right": float(value)})
            for s, value in zip(samples, baseline, strict=True)
        }
        hook = StopWhenDecided(baseline=LoggedScores("v1", logged, 0), **given)
    shuffled = SimpleNamespace(dataset=SimpleNamespace(shuffled=True), config=None)
    durations = rng.exponential(np.where(scores > 0, 1.0, 2.0))

    async def evaluation() -> tuple[bool | None, int]:
        await hook.start_task(shuffled, samples, 1)
        running: list[tuple[float, int]] = []
        started, clock = 0, 0.0
        while True:
            if len(running) == in_flight or (started == len(scores) and running):
                clock, place = heapq.heappop(running)
                score = SimpleNamespace(score=SimpleNamespace(value=float(scores[place])))
                await hook.complete_sample(place, 1, {"right": score})
            if started < len(scores) and hook.decision is None:
                heapq.heappush(running, (clock + durations[started], started))
                started += 1
            elif hook.decision is not None or not running:
                return hook.decision, started

    return in_own_loop(evaluation())


def in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread of its own: the caller's may have an event loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@dataclass(frozen=True)
class Row:
    """What became of a task, over all repetitions."""

    task: Threshold | Baseline
    usual_samples: int
    samples: float
    wrong: float
    usual_wrong: float
    undecided: float
    same: float

    @property
    def ratio(self) -> float:
        return self.samples / self.usual_samples


def measure(
    task: Threshold | Baseline, repetitions: int, seed: int = 0, in_flight: int = IN_FLIGHT
) -> Row:
    """Evaluate a task again and again."""
    rng = np.random.default_rng([seed, TASKS.index(task) if task in TASKS else 0])
    usual_samples, cut = task.usual()
    decisions, usual, used = [], [], []
    for _ in range(repetitions):
        baseline, scores = task.draw(rng, _DATASETS * usual_samples)
        decision, started = stopped(task, baseline, scores, rng, in_flight)
        first = scores[:usual_samples]
        seen = float(first.sum())
        if baseline is not None:
            seen = float((first - baseline[:usual_samples]).mean())
        decisions.append(decision)
        usual.append(seen >= cut)
        used.append(started)
    return Row(
        task, usual_samples, float(np.mean(used)),
        np.mean([d is (not task.answer) for d in decisions]).item(),
        np.mean([d is not task.answer for d in usual]).item(),
        decisions.count(None) / repetitions,
        np.mean([a is b for a, b in zip(decisions, usual, strict=True)]).item(),
    )  # fmt: skip


def main(repetitions: int = 200) -> None:
    print("task\tusual samples\tsamples\tratio\twrong\tusual wrong\tundecided\tsame decision")
    rows = [measure(task, repetitions) for task in TASKS]
    for row in rows:
        print(
            f"{row.task}\t{row.usual_samples}\t{row.samples:.0f}\t{row.ratio:.2f}\t{row.wrong:.3f}"
            f"\t{row.usual_wrong:.3f}\t{row.undecided:.3f}\t{row.same:.3f}"
        )
    means = [np.mean([getattr(row, name) for row in rows]) for name in ("ratio", "wrong", "same")]
    print("mean ratio {:.2f}, wrong {:.3f}, same decision {:.3f}".format(*means))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
