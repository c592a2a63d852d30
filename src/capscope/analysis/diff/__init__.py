"""What two runs differ in: two agents, or two versions of one.

Only what both runs tried in the same state can be compared. Everything else is unknown, and unknown
is never a difference. `matching` finds what can be compared, `strata` counts it, `subsets` says in
which states to look, and `compare` asks all questions under one error rate. The tests are those of
`statistics.stratified_test`.
"""

from capscope.analysis.diff.compare import compare_data, compare_runs
from capscope.analysis.diff.comparison import Comparison, Unknown
from capscope.analysis.diff.difference import Difference, DiffKind, Estimate
from capscope.analysis.diff.run_data import RunData

__all__ = [
    "Comparison",
    "DiffKind",
    "Difference",
    "Estimate",
    "RunData",
    "Unknown",
    "compare_data",
    "compare_runs",
]
