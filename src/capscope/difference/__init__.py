"""What two runs differ in: two agents, or two versions of one.

What can be said is what both runs tried in the same state. Everything else is unknown, and unknown
is never a difference. `coins` has the test and why it may be trusted, `matching` finds what can be
compared, `compare` asks all the questions under one error rate.
"""

from capscope.difference.compare import compare_runs, compare_sides
from capscope.difference.comparison import Comparison
from capscope.difference.difference import Change, Difference, Estimate
from capscope.difference.side import Side, read_side
from capscope.difference.unknown import Unknown

__all__ = [
    "Change",
    "Comparison",
    "Difference",
    "Estimate",
    "Side",
    "Unknown",
    "compare_runs",
    "compare_sides",
    "read_side",
]
