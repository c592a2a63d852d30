"""What is said about two eval logs is true where the truth is known; inspect_ai is not needed."""

import numpy as np
import pytest

from capscope.adapters.inspect import compare_logs
from capscope.adapters.inspect.logs import LoggedSample, LoggedScores

MARGIN = 0.08


def logs(rng, size, rates):
    """Draw two logs of samples in three groups; `rates` has those of a group before and after."""
    kinds = rng.integers(0, len(rates), size)
    drawn = []
    for side in (0, 1):
        chance = np.array([rate[side] for rate in rates])[kinds]
        scores = {
            "right": rng.random(size) < chance,
            "twice": (rng.random((2, size)) < chance).mean(axis=0),
        }
        samples = {
            str(n): LoggedSample(
                "", {"kind": int(kinds[n])}, {name: float(all_[n]) for name, all_ in scores.items()}
            )
            for n in range(size)
        }
        drawn.append(LoggedScores("ab"[side], samples, 0))
    return drawn


@pytest.mark.parametrize(
    "rates",
    [
        [(0.8, 0.8)] * 3,
        [(0.9, 0.9), (0.7, 0.62), (0.5, 0.5)],  # by the margin in one group
        [(0.95, 0.6), (0.6, 0.95), (0.5, 0.5)],  # the losses and gains nearly cancel
    ],
)
def test_at_most_one_of_twenty_comparisons_says_anything_false(rates):
    rng, false, said = np.random.default_rng(7), 0, 0
    true = {f"kind={n}": after - before for n, (before, after) in enumerate(rates)}
    true[""] = sum(true.values()) / len(rates)
    for _ in range(80):
        found = compare_logs(*logs(rng, 1200, rates), margin=MARGIN)
        assert len(found.changes) == 2 * len(true)
        wrong = [
            one
            for one in found.changes
            if not one.low <= true[one.group] <= one.high
            or (one.verdict == "changed" and true[one.group] == 0)
            or (one.verdict == "unchanged" and abs(true[one.group]) >= MARGIN)
        ]
        false += bool(wrong)
        said += sum(one.verdict != "undecided" for one in found.changes)
    assert false <= 4
    assert said >= 80


def test_changes_of_groups_that_cancel_are_changes():
    rng = np.random.default_rng(1)
    found = compare_logs(*logs(rng, 1200, [(0.95, 0.6), (0.6, 0.95), (0.5, 0.5)]))
    verdicts = {one.group: one.verdict for one in found.changes if one.scorer == "right"}
    assert verdicts["kind=0"] == verdicts["kind=1"] == found.verdict == "changed"
    assert "kind=2" in verdicts and verdicts[""] != "changed"
