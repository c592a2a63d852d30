"""What two runs differ in: two agents, or two versions of one.

Only what both runs tried in the same state can be compared; the rest is unknown, which is never a
difference. `matching` finds what can be compared, `strata` counts it, and `compare` asks all
questions under one error rate. `table` does that for several runs.
"""

from capscope.insight.diff.compare import compare_data, compare_runs
from capscope.insight.diff.comparison import Comparison, Difference, DiffKind, Unknown
from capscope.insight.diff.run_data import RunData
from capscope.insight.diff.table import RunTable, TableRow, table_of

__all__ = [
    "Comparison",
    "DiffKind",
    "Difference",
    "RunData",
    "RunTable",
    "TableRow",
    "Unknown",
    "compare_data",
    "compare_runs",
    "table_of",
]
