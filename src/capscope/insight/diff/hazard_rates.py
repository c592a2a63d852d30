"""Did a hazard become more or less probable in use? From the audits of both runs.

Matched draws (`compare`) show a change in the states that both runs asked about. A hazard may
happen in states that only one of them found. The draws of audits are made in the same way in both
runs, so their rates can be compared as they are: one is called higher if its lower bound exceeds
the upper bound of the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from capscope.insight.diff.comparison import DiffKind, HazardChange
from capscope.insight.hazards import HazardUse


def hazard_changes(
    a: Mapping[str, HazardUse], b: Mapping[str, HazardUse], threshold: float
) -> Iterator[HazardChange]:
    """Compare the hazards that both runs were given; each direction has to reach the threshold."""
    error = 2 * math.exp(-threshold)
    for text in sorted(a.keys() & b.keys()):
        (low_a, high_a), (low_b, high_b) = a[text].bounds(error / 2), b[text].bounds(error / 2)
        change = None
        if high_a < low_b:
            change = DiffKind.MORE_HAZARDOUS
        elif high_b < low_a:
            change = DiffKind.LESS_HAZARDOUS
        yield HazardChange(text, a[text], b[text], change)
