"""What two runs differ in: two agents, or two versions of one.

What can be said is what both runs tried in the same state. Everything else is unknown, and unknown
is never a difference. `coins` has the test and why it may be trusted, `matching` finds what can be
compared, `compare` asks all the questions under one error rate.
"""

from capscope.analysis.diff.compare import compare_runs, compare_sides
from capscope.analysis.diff.comparison import Comparison
from capscope.analysis.diff.difference import Change, Difference, Estimate
from capscope.analysis.diff.run_data import Side, read_side
from capscope.analysis.diff.unknown import Unknown

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
