"""The simulated evaluations that stop when they are decided, in small."""

import numpy as np
import pytest

from capscope_experiments.benchmarks.early_stopping import (
    ERROR_RATE,
    TASKS,
    Baseline,
    Threshold,
    measure,
    stopped,
)


def test_half_the_samples_give_the_same_decisions():
    clear = [TASKS[0], TASKS[2], TASKS[5], TASKS[9]]
    rows = [measure(task, 5) for task in clear]
    assert np.mean([row.ratio for row in rows]) <= 0.5
    assert all(row.same >= 0.8 and row.wrong <= 0.2 for row in rows)


def test_the_usual_test_has_the_error_rate_for_either_answer_and_no_shorter_one_does():
    task = Threshold(0.6, 0.15, 0.9)
    samples, cut = task.usual()

    def tail(samples, probability, hits):
        """Return the probability of that many hits or more, by enumeration of the counts."""
        rng = np.random.default_rng(0)
        return (rng.binomial(samples, probability, 200_000) >= hits).mean()

    low, high = task.bounds
    assert tail(samples, low, cut) <= ERROR_RATE + 0.002
    assert 1 - tail(samples, high, cut) <= ERROR_RATE + 0.002
    shorter = samples - 1
    assert all(
        max(tail(shorter, low, hits), 1 - tail(shorter, high, hits)) > ERROR_RATE - 0.002
        for hits in range(shorter + 1)
    )


def test_the_usual_comparison_has_the_variance_of_the_samples():
    task = Baseline(0.7, 1.5, 0.1, 0.0)
    samples, _ = task.usual()
    baseline, scores = task.draw(np.random.default_rng(0), 200_000)
    assert samples == pytest.approx((2 * 1.645 / 0.1) ** 2 * (scores - baseline).var(), rel=0.02)


@pytest.mark.parametrize("task", [Threshold(0.5, 0.1, 0.9), Baseline(0.5, 1.0, 0.2, 0.4)])
def test_samples_under_way_at_the_decision_are_counted(task):
    used = {}
    for in_flight in (1, 10):
        rng = np.random.default_rng(4)
        baseline, scores = task.draw(rng, 200)
        decision, used[in_flight] = stopped(task, baseline, scores, rng, in_flight)
        assert decision is True
    assert used[1] < used[10] <= used[1] + 40
