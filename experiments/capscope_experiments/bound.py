"""The least number of executions with which any learner of this model class could get by.

One for each reachable pair, since a pair never tried has no rule. And for each block of stochastic
pairs, whose counts are pooled, what is still missing to know its largest probability p to a
standard error of 0.05: p(1 − p)/0.05² draws in all, of which each pair has contributed one.
"""

from __future__ import annotations

from capscope.analysis.evaluation.truth import TrueModel
from capscope.symbolic import Effect, Intent

STANDARD_ERROR = 0.05


def least_executions(truth: TrueModel) -> int:
    """Count the executions that an exact model needs at least."""
    blocks: dict[tuple[Intent, frozenset[Effect]], tuple[int, float]] = {}
    for (state, intent), outcomes in truth.table.items():
        if len(outcomes) > 1:
            effects = frozenset(Effect.between(state, after) for after in outcomes)
            pairs, largest = blocks.get((intent, effects), (0, 0.0))
            blocks[intent, effects] = pairs + 1, max(largest, *outcomes.values())
    missing = (
        max(0.0, largest * (1 - largest) / STANDARD_ERROR**2 - pairs)
        for pairs, largest in blocks.values()
    )
    return len(truth.table) + round(sum(missing))
