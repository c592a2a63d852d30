"""Shares of an error budget, as a kind of finding gets them."""

from capscope.insight.findings import FINDING_KINDS
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget


def share():
    """Return a share as large as that of each registered kind."""
    return ErrorBudget(ERROR_RATE, len(FINDING_KINDS.all)).share("test")
