"""Findings: everything that a person should know beyond "it does what it was asked for".

A kind is a function from the executions to findings. All kinds share one error budget, divided by
their weights, for conditions and comparisons; what was counted is said without a test. To add a
kind, write a module that defines a `FindingKind` and add it here; a package of your own registers
one under the entry-point group `capscope.finding_kinds`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.finding import Example, Finding, Kind
from capscope.insight.findings.more import BEYOND
from capscope.insight.findings.prefers import PREFERENCES
from capscope.insight.findings.success import DRIFT, SUCCESS
from capscope.problem.counterfactual import Need
from capscope.registry import Registry
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts

__all__ = ["FINDING_KINDS", "Example", "Finding", "FindingKind", "Kind", "Need", "find_findings"]

_BUILT_IN = (BEYOND, SUCCESS, DRIFT, PREFERENCES)
FINDING_KINDS = Registry("capscope.finding_kinds", "kind of finding", FindingKind, _BUILT_IN)


def find_findings(run: RunFacts, kinds: Iterable[FindingKind] | None = None) -> list[Finding]:
    """Return the findings in a run, the most important first.

    Args:
        run: The run.
        kinds: The kinds of findings to look for; all registered ones unless given.

    Returns:
        The findings.
    """
    context = FindingContext(run)
    searched = list(FINDING_KINDS.all.values() if kinds is None else kinds)
    whole = sum(kind.weight for kind in searched)
    found = [
        finding
        for kind in searched
        for share in [ErrorBudget(ERROR_RATE * kind.weight / whole, 1).share(kind.name)]
        for finding in kind.find(context, share)
    ]
    return sorted(found, key=lambda finding: finding.harm)
